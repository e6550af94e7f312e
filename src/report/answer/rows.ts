import { formatShort } from "../../core/units.ts";
import type { Check } from "../../verdict/judgement.ts";
import { checkName } from "../wording.ts";
import type { Cause } from "./causes.ts";

const MAX_ROWS = 3;

/** The decisive checks, at most {@link MAX_ROWS}: of the first cause the peak too, of the others the deciding one. */
export function shownRows(causes: readonly Cause[]): readonly Check[] {
  const [first, ...others] = causes;
  if (first === undefined) return [];
  const { decisive } = first;
  const peak = first.explained.find(
    ({ aspect, rank, device, metric }) =>
      aspect === "peak" && rank === decisive.rank && device === decisive.device && metric === decisive.metric,
  );
  return [decisive, ...(peak === undefined ? [] : [peak]), ...others.map((cause) => cause.decisive)].slice(0, MAX_ROWS);
}

/** A size of a row; growth has a sign. */
export function rowSize(check: Check, bytes: number | null): string {
  if (bytes === null) return "–";
  return check.aspect === "peak" || bytes <= 0 ? formatShort(bytes) : `+${formatShort(bytes)}`;
}

/** The name of a row: a class check is about growth. */
export function rowName(check: Check, all: readonly Check[]): string {
  const name = checkName(check, all).replace(/ class\b/, " growth");
  return check.horizon === undefined ? name : `${name} ${check.horizon}`;
}
