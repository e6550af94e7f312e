import type { MeasuredRun } from "../analysis/measurements.ts";
import { fingerprintHash } from "../baseline/identity.ts";
import { type BaselineRecord, toMeasurements } from "../baseline/record.ts";
import { groupBy } from "../core/group-by.ts";

/** The runs of one session of a scenario in one environment, on one commit. */
export interface RunSession {
  readonly scenario: string;
  /** Hash of the environment. */
  readonly environment: string;
  readonly session: string;
  readonly commit: string | null;
  /** ISO 8601, UTC. */
  readonly time: string;
  /** False = recorded, but not yet accepted as a baseline. */
  readonly approved: boolean;
  /** Reason of the level that it opened; null = it opened none. */
  readonly accepted: string | null;
  readonly runs: readonly MeasuredRun[];
}

/** The sessions of a record, all epochs, oldest first. */
export function sessionsOf(record: BaselineRecord): readonly RunSession[] {
  const { scenario } = record;
  const environment = fingerprintHash(record.fingerprint);
  return record.epochs.flatMap((epoch): RunSession[] => {
    const { runs } = toMeasurements({ ...record, epochs: [epoch], envelopes: [] }, epoch.runs);
    const groups = groupBy(epoch.runs.keys(), (i) => JSON.stringify([runs[i]!.session, runs[i]!.commit]));
    return [...groups.values()].map((own) => {
      const { session, commit, time, approved } = epoch.runs[own[0]!]!;
      // The oldest runs of an epoch may have been dropped, and with them the accepted ones.
      const isAccepted = own[0] === 0 && epoch.reason !== "refresh" && time === epoch.opened;
      const accepted = isAccepted ? epoch.reason : null;
      return { scenario, environment, session, commit, time, approved, accepted, runs: own.map((i) => runs[i]!) };
    });
  });
}

/** Each session once: as the newest version of its record has it, with the runs of the version that has the most. */
export function distinctSessions(newestFirst: Iterable<RunSession>): readonly RunSession[] {
  const groups = groupBy(newestFirst, ({ scenario, environment, session, commit }) =>
    JSON.stringify([scenario, environment, session, commit]),
  );
  return [...groups.values()].map((versions) => {
    const most = versions.reduce((a, b) => (b.runs.length > a.runs.length ? b : a));
    return { ...versions[0]!, runs: most.runs };
  });
}
