/** Result of one check of the machine. `limited` works in part; `missing` does not work. */
export interface Diagnosis {
  readonly name: string;
  readonly status: "ok" | "limited" | "missing";
  readonly detail: string;
  /** Remedies, one per line; null when none is needed. */
  readonly hint: string | null;
}

/** Lines of advice as a hint. */
export function hintOf(lines: readonly (string | null)[]): string | null {
  const given = lines.filter((line): line is string => line !== null);
  return given.length === 0 ? null : given.join("\n");
}
