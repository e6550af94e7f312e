import type { ScenarioReport } from "../documents/model.ts";

/**
 * How the baseline was made, where that differs from what was measured: "the baseline was made by: python3 train.py
 * --steps 200". Null when it does not differ or is not known. Not escaped: the command is outside text.
 */
export function comparisonNote({ judgement }: ScenarioReport): string | null {
  const differences = judgement?.fingerprint ?? [];
  const command = differences.find(({ field }) => field === "command");
  const steps = differences.find(({ field }) => field === "steps");
  const made = steps === undefined ? "" : `${steps.baseline} steps, here ${steps.candidate}`;
  if (command !== undefined) return `the baseline was made by: ${command.baseline}${made === "" ? "" : ` (${made})`}`;
  return steps === undefined ? null : `the baseline was made by runs of another length: ${made}`;
}
