import type { Envelope } from "../baseline/envelope.ts";
import {
  acceptRuns,
  addRuns,
  type BaselineRecord,
  emptyRecord,
  type NewRun,
  withEnvelopes,
} from "../baseline/record.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";

/** What one session measured of one scenario, on its way into the store. */
export interface SessionRuns {
  readonly scenario: string;
  readonly fingerprint: Fingerprint;
  readonly session: string;
  readonly runs: readonly NewRun[];
  readonly envelopes: readonly Envelope[];
}

/** The record without what a session stored in its current epoch; an epoch it opened and that is empty now goes too. */
function withoutSession(record: BaselineRecord, session: string): BaselineRecord {
  const current = record.epochs.at(-1);
  if (current === undefined) return record;
  const runs = current.runs.filter((run) => run.session !== session);
  if (runs.length === current.runs.length) return record;
  const earlier = record.epochs.slice(0, -1);
  return { ...record, epochs: runs.length === 0 ? earlier : [...earlier, { ...current, runs }] };
}

/** Sessions that may wait for approval in a record. Their levels stand in the nights' history; a record has a size to keep. */
const MAX_HELD_SESSIONS = 3;

/** The record with only the newest of the sessions that nobody approved: a month of red nights must not push the baseline out. */
function withFewHeld(record: BaselineRecord): BaselineRecord {
  const current = record.epochs.at(-1);
  if (current === undefined) return record;
  const held = [...new Set(current.runs.filter(({ approved }) => !approved).map(({ session }) => session))];
  const dropped = new Set(held.slice(0, -MAX_HELD_SESSIONS));
  if (dropped.size === 0) return record;
  const runs = current.runs.filter(({ approved, session }) => approved || !dropped.has(session));
  return { ...record, epochs: [...record.epochs.slice(0, -1), { ...current, runs }] };
}

/**
 * Put a session's runs into the current epoch, not yet approved: recorded, and compared with by nobody. A session that is there
 * already (of this very job, before it was cut off or ran more) is replaced, so that saving again changes nothing.
 */
export function recordSession(current: BaselineRecord | null, session: SessionRuns): BaselineRecord {
  const before = withoutSession(current ?? emptyRecord(session.scenario, { ...session.fingerprint }), session.session);
  const held = session.runs.map((run) => ({ ...run, approved: false }));
  return withFewHeld(addRuns(before, held));
}

/** Approve a session: from now on it is compared with, and its picture is the baseline's. */
export function acceptSession(current: BaselineRecord | null, session: SessionRuns): BaselineRecord {
  const before = withoutSession(current ?? emptyRecord(session.scenario, { ...session.fingerprint }), session.session);
  const approved = session.runs.map((run) => ({ ...run, approved: true }));
  return withEnvelopes(addRuns(before, approved), session.envelopes);
}

/** Take a session as the new normal: it opens an epoch, and nothing older is compared with any more. */
export function openEpoch(current: BaselineRecord | null, session: SessionRuns, reason: string): BaselineRecord {
  const before = withoutSession(current ?? emptyRecord(session.scenario, { ...session.fingerprint }), session.session);
  return withEnvelopes(acceptRuns(before, session.runs, reason), session.envelopes);
}
