import { formatShort } from "../../core/units.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import { sameSeries } from "../../verdict/model/series-index.ts";
import type { RunReport, ScenarioReport } from "../model/gate-report.ts";
import { checkName } from "../wording/wording.ts";
import { causesOf } from "./causes.ts";
import { comparedValue, decisiveRun } from "./decisive-run.ts";

const MAX_ROWS = 3;

/**
 * The decisive checks, at most {@link MAX_ROWS}: of the first cause the peak too, of the others the deciding one. Their
 * values are those of the run that the picture shows.
 */
export function shownRows({ judgement, runs }: Pick<ScenarioReport, "judgement" | "runs">): readonly Check[] {
  const [first, ...others] = causesOf(judgement?.checks ?? []);
  if (first === undefined) return [];
  const { decisive } = first;
  const peak = first.explained.find((check) => check.aspect === "peak" && sameSeries(check, decisive));
  const shown = decisiveRun(runs, decisive)?.run ?? null;
  const rows = [decisive, ...(peak === undefined ? [] : [peak]), ...others.map((cause) => cause.decisive)];
  return rows.slice(0, MAX_ROWS).map((check) => withValue(check, shown));
}

/** The check with the value of one run; unchanged where the run does not have it, and for a projected growth. */
function withValue(check: Check, run: RunReport | null): Check {
  const found = run === null || check.horizon !== undefined ? null : decisiveRun([run], check);
  const value = found === null ? null : comparedValue(found.series, check);
  return value === null ? check : { ...check, candidate_bytes: Math.round(value) };
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
