import type { BaselineEpoch, BaselineRecord } from "./record.ts";

/** Size caps of a record file, bytes of its JSON text. */
export const MAX_RECORD_BYTES = 20_000;
export const MAX_RUN_BYTES = 400;

/** The record as it stands in a store: stable key order, one line a run, so that reviews and merges are readable. */
export function serializeRecord(record: BaselineRecord): string {
  const epoch = ({ opened, reason, series, runs }: BaselineEpoch): string =>
    `{"opened":${JSON.stringify(opened)},"reason":${JSON.stringify(reason)},"series":${JSON.stringify(series)},"runs":[\n${runs
      .map((run) => JSON.stringify(run))
      .join(",\n")}\n]}`;
  return [
    `{"schema":${JSON.stringify(record.schema)},`,
    `"scenario":${JSON.stringify(record.scenario)},`,
    `"fingerprint":${JSON.stringify(record.fingerprint)},`,
    `"epochs":[\n${record.epochs.map(epoch).join(",\n")}\n],`,
    `"envelopes":${JSON.stringify(record.envelopes)}}\n`,
  ].join("\n");
}

/** Every second point of each envelope, ends kept. */
function coarser(record: BaselineRecord): BaselineRecord {
  const thin = (values: readonly number[]): number[] =>
    values.filter((_, index) => index % 2 === 0 || index === values.length - 1);
  return {
    ...record,
    envelopes: record.envelopes.map((envelope) => ({
      ...envelope,
      time_s: thin(envelope.time_s),
      low_bytes: thin(envelope.low_bytes),
      mid_bytes: thin(envelope.mid_bytes),
      high_bytes: thin(envelope.high_bytes),
    })),
  };
}

function withoutOldestRun(record: BaselineRecord): BaselineRecord {
  const [first, ...later] = record.epochs;
  if (first === undefined) return record;
  // Old epochs go whole: they are history, not comparison.
  if (later.length > 0) return { ...record, epochs: later };
  return { ...record, epochs: [{ ...first, runs: first.runs.slice(1) }] };
}

/** The smallest number of runs worth keeping when a record is over its size: fewer could not block. */
const KEEP_RUNS = 10;

/**
 * Cut a record to its size: envelopes get coarser first (they are only drawn), then old epochs and the oldest runs go.
 * At least {@link KEEP_RUNS} runs of the current epoch stay, also where many ranks make them large.
 */
export function pruneRecord(record: BaselineRecord): BaselineRecord {
  let pruned = record;
  for (;;) {
    if (Buffer.byteLength(serializeRecord(pruned)) <= MAX_RECORD_BYTES) return pruned;
    const points = Math.max(0, ...pruned.envelopes.map(({ time_s }) => time_s.length));
    const runs = pruned.epochs.at(-1)?.runs.length ?? 0;
    if (points > 50) pruned = coarser(pruned);
    else if (pruned.epochs.length > 1 || runs > KEEP_RUNS) pruned = withoutOldestRun(pruned);
    else if (pruned.envelopes.length > 1) pruned = { ...pruned, envelopes: pruned.envelopes.slice(0, 1) };
    else return pruned;
  }
}
