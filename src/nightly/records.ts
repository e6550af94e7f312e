import type { MeasuredRun } from "../analysis/measurements.ts";
import type { Band } from "../baseline/band.ts";
import { type BaselineRecord, toMeasurements } from "../baseline/record.ts";
import { acceptRuns, addRuns, emptyRecord, type NewRun, withEnvelopes } from "../baseline/record-changes.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";

/** The runs of one scenario in one session, to be stored. */
export interface SessionRuns {
  readonly scenario: string;
  readonly fingerprint: Fingerprint;
  readonly session: string;
  readonly runs: readonly NewRun[];
  readonly envelopes: readonly Band[];
}

/** The runs of a session, with its command. */
function runsOf({ runs, fingerprint: { command } }: SessionRuns, approved: boolean): readonly NewRun[] {
  return runs.map((run) => ({ ...run, approved, command }));
}

/** The record without the runs of a session in its current epoch; an epoch that becomes empty is removed too. */
function withoutSession(
  before: BaselineRecord | null,
  { scenario, fingerprint, session }: SessionRuns,
): BaselineRecord {
  const record = before ?? emptyRecord(scenario, { ...fingerprint });
  const current = record.epochs.at(-1);
  if (current === undefined) return record;
  const runs = current.runs.filter((run) => run.session !== session);
  if (runs.length === current.runs.length) return record;
  const earlier = record.epochs.slice(0, -1);
  return { ...record, epochs: runs.length === 0 ? earlier : [...earlier, { ...current, runs }] };
}

/** The record with only the newest unapproved sessions: a month of failing nights must not push the baseline out. */
function withFewHeld(record: BaselineRecord): BaselineRecord {
  const current = record.epochs.at(-1);
  if (current === undefined) return record;
  const held = [...new Set(current.runs.filter(({ approved }) => !approved).map(({ session }) => session))];
  // Maximum number of sessions that wait for approval in a record, whose size is limited.
  const dropped = new Set(held.slice(0, -3));
  if (dropped.size === 0) return record;
  const runs = current.runs.filter(({ approved, session }) => approved || !dropped.has(session));
  return { ...record, epochs: [...record.epochs.slice(0, -1), { ...current, runs }] };
}

/**
 * Put a session's runs into the current epoch without approval: recorded, but not used for comparisons. A session that
 * is there already (of this very job, before it was cut off or ran more) is replaced, so that saving again changes
 * nothing.
 */
export function recordSession(current: BaselineRecord | null, session: SessionRuns): BaselineRecord {
  return withFewHeld(addRuns(withoutSession(current, session), runsOf(session, false)));
}

/** Accept a session: it is used for comparisons, and its curve becomes the band of the baseline. */
export function acceptSession(current: BaselineRecord | null, session: SessionRuns): BaselineRecord {
  return withEnvelopes(addRuns(withoutSession(current, session), runsOf(session, true)), session.envelopes);
}

/** Accept a session as the new baseline: it opens an epoch, and older runs are no longer used for comparisons. */
export function openEpoch(current: BaselineRecord | null, session: SessionRuns, reason: string): BaselineRecord {
  return withEnvelopes(acceptRuns(withoutSession(current, session), runsOf(session, true), reason), session.envelopes);
}

/**
 * Whether a session has the name of stored runs that it does not contain. Saving a session again replaces its runs, so
 * such a name would take those of another session out of the comparison. @param stored approved runs of its record
 */
export function takesName(session: SessionRuns, stored: readonly MeasuredRun[]): boolean {
  const named = stored.filter((run) => run.session === session.session);
  if (named.length === 0) return false;
  // The values as a record has them, whatever the order of its series.
  const valuesOf = ({ commit, series }: MeasuredRun): string =>
    JSON.stringify([commit, series.map((one) => JSON.stringify(one)).sort()]);
  const record = acceptSession(null, session);
  const own = new Set(toMeasurements(record, record.epochs.at(-1)?.runs ?? []).runs.map(valuesOf));
  return named.some((run) => !own.has(valuesOf(run)));
}
