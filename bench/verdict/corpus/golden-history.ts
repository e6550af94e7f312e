import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A peak that a project accepted in place of the one before, bytes. */
export interface AcceptedChange {
  readonly before: number;
  readonly after: number;
}

/** Columns from the end of a row: the subject of a commit, before them, may hold commas. */
const PEAK_FROM_END = 3;

/**
 * Every replaced golden value of `megatron-lm/golden_peak_history.csv` below the data directory, in the order of the
 * commits.
 */
export function readAcceptedChanges(data: string): readonly AcceptedChange[] {
  const [, ...lines] = readFileSync(join(data, "megatron-lm", "golden_peak_history.csv"), "utf8")
    .trim()
    .split("\n");
  const last = new Map<string, number>();
  return lines.flatMap((line) => {
    const fields = line.split(",");
    const name = fields.slice(0, 2).join(" ");
    const text = fields.at(-PEAK_FROM_END) ?? "";
    if (text === "" || !Number.isFinite(Number(text))) return [];
    const [before, after] = [last.get(name), Number(text)];
    last.set(name, after);
    return before === undefined ? [] : [{ before, after }];
  });
}
