import type { BaselineEpoch, BaselineRecord, BaselineRun } from "./record.ts";

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

type SeriesValue = BaselineRun["values"][number];

/** What is left out of a run that is too large, in this order: first what only explains, never what gates. */
const SLIMMER: readonly ((value: NonNullable<SeriesValue>, metric: string, counted: boolean) => SeriesValue)[] = [
  ([peak, growth, , , drift]) => [peak, growth, null, null, drift],
  (value, metric) => (metric === "reserved" || metric === "used" ? null : value),
  (value, metric, counted) => (metric === "host" && counted ? null : value),
];

/**
 * A run of at most {@link MAX_RUN_BYTES}: slopes go first, then reserved and device-used memory, then host memory where an
 * allocator was counted. A run of more ranks than that keeps peak, growth and class of each, whatever it takes.
 */
function fitRun(run: BaselineRun, series: BaselineEpoch["series"]): BaselineRun {
  const counted = series.some(([, , metric], index) => metric === "allocated" && run.values[index] != null);
  let fitted = run;
  for (const slimmer of SLIMMER) {
    if (Buffer.byteLength(JSON.stringify(fitted)) <= MAX_RUN_BYTES) return fitted;
    fitted = {
      ...fitted,
      values: fitted.values.map((value, index) =>
        value == null ? null : slimmer(value, series[index]?.[2] ?? "", counted),
      ),
    };
  }
  return fitted;
}

/** The smallest number of runs worth keeping when a record is over its size: fewer could not block. */
const KEEP_RUNS = 10;

/**
 * Cut a record to its size: large runs get slimmer, envelopes get coarser first (they are only drawn), then old epochs and the oldest runs go.
 * At least {@link KEEP_RUNS} runs of the current epoch stay, also where many ranks make them large.
 */
export function pruneRecord(record: BaselineRecord): BaselineRecord {
  let pruned: BaselineRecord = {
    ...record,
    epochs: record.epochs.map((epoch) => ({ ...epoch, runs: epoch.runs.map((run) => fitRun(run, epoch.series)) })),
  };
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
