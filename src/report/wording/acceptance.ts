import type { GateReport, ScenarioReport } from "../model/gate-report.ts";

/** Settings listed in a terminal; the rest is in the bundle. */
const MAX_CHANGES = 8;
/** The beginning of a command identifies it. */
const MAX_VALUE = 60;

/** Who accepted a difference, and why; not escaped. Null where it was not accepted. */
export function acceptedNote({ accepted }: ScenarioReport): string | null {
  return accepted === undefined ? null : `Accepted by ${accepted.by} (${accepted.via}): ${accepted.reason}`;
}

/** The known leaks that explain a growth, one sentence each, not escaped. */
export function knownLeakNotes({ known_leaks: known = [] }: ScenarioReport): readonly string[] {
  return known.map(
    ({ package: name, version, at, until, reason }) =>
      `Known leak of ${name} ${version} at ${at} until ${until}: ${reason}`,
  );
}

/** The changes to the gate's own settings, one line each, not escaped. */
export function policyNotes(report: GateReport): readonly string[] {
  const { policy_changes: changes = [], policy_accepted: accepted } = report;
  if (changes.length === 0) return [];
  const value = (text: string | null): string => (text === null ? "not set" : text.slice(0, MAX_VALUE));
  const left = changes.length - MAX_CHANGES;
  return [
    accepted === undefined
      ? "This change alters the gate's own settings. Those of the base commit are in force:"
      : `This change alters the gate's own settings, accepted by ${accepted.by} (${accepted.via}): ${accepted.reason}`,
    ...changes.slice(0, MAX_CHANGES).map(({ path, base, head }) => `  ${path}: ${value(base)} → ${value(head)}`),
    ...(left > 0 ? [`  and ${left} more in the bundle`] : []),
  ];
}
