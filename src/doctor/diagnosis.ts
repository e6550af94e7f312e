/** One thing that was looked at. `limited` works with less; `missing` does not work at all. */
export interface Diagnosis {
  readonly name: string;
  readonly status: "ok" | "limited" | "missing";
  readonly detail: string;
  /** What to do about it, a line for each thing; null when there is nothing to do. */
  readonly hint: string | null;
}

/** Lines of advice as a hint. */
export function hintOf(lines: readonly (string | null)[]): string | null {
  const said = lines.filter((line): line is string => line !== null);
  return said.length === 0 ? null : said.join("\n");
}
