import type { GateReport, ScenarioReport } from "../documents/model.ts";

/** Settings named one by one in a terminal; the rest is in the bundle. */
const MAX_CHANGES = 8;
/** A command is told by its beginning. */
const MAX_VALUE = 60;

/** Who took a difference on purpose, and why, not escaped; null when nobody did. */
export function acceptedNote({ accepted }: ScenarioReport): string | null {
  return accepted === undefined ? null : `Accepted by ${accepted.by} (${accepted.via}): ${accepted.reason}`;
}

/** What a change alters of the gate's own settings, one line each, not escaped; empty when nothing. */
export function policyNotes(report: GateReport): readonly string[] {
  const { policy_changes: changes = [], policy_accepted: accepted } = report;
  if (changes.length === 0) return [];
  const value = (text: string | null): string => (text === null ? "nothing" : text.slice(0, MAX_VALUE));
  const left = changes.length - MAX_CHANGES;
  return [
    accepted === undefined
      ? "This change alters settings of its own gate; those of the base commit are in force:"
      : `This change alters settings of its own gate, accepted by ${accepted.by} (${accepted.via}): ${accepted.reason}`,
    ...changes.slice(0, MAX_CHANGES).map(({ path, base, head }) => `  ${path}: ${value(base)} → ${value(head)}`),
    ...(left > 0 ? [`  and ${left} more in the bundle`] : []),
  ];
}
