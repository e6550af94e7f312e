import { isCounted, isMetric, METRIC } from "../telemetry/recording/metrics.ts";
import { type BaselineEpoch, type BaselineRecord, type BaselineRun, comparedEpochs } from "./record.ts";

/** Size limits of a record file, bytes of its JSON. */
export const MAX_RECORD_BYTES = 20_000;
export const MAX_RUN_BYTES = 400;

/** The record as stored: stable key order, one line per run, so that reviews and merges are readable. */
export function serializeRecord(record: BaselineRecord): string {
  const epoch = ({ opened, reason, series, phases, runs }: BaselineEpoch): string =>
    `{"opened":${JSON.stringify(opened)},"reason":${JSON.stringify(reason)},"series":${JSON.stringify(series)},${phases === undefined ? "" : `"phases":${JSON.stringify(phases)},`}"runs":[\n${runs
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

/** Every second point of each band, with both ends. */
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
      ...(envelope.steps === undefined ? {} : { steps: thin(envelope.steps) }),
    })),
  };
}

/** Old epochs are dropped whole, because they are history. Those that are compared with lose their oldest runs. */
function shortened(record: BaselineRecord): BaselineRecord {
  const compared = comparedEpochs(record);
  const history = record.epochs.find((epoch) => !compared.includes(epoch));
  if (history !== undefined) return { ...record, epochs: record.epochs.filter((epoch) => epoch !== history) };
  const [first, ...later] = record.epochs;
  return first === undefined ? record : { ...record, epochs: [{ ...first, runs: first.runs.slice(1) }, ...later] };
}

type SeriesValue = BaselineRun["values"][number];

/** Fields that are dropped from a run that is too large, in this order: descriptive ones first, never gating ones. */
const SLIMMER: readonly ((value: NonNullable<SeriesValue>, metric: string, counted: boolean) => SeriesValue)[] = [
  ([peak, growth, , , drift]) => [peak, growth, null, null, drift],
  (value, metric) => (isMetric(metric) && METRIC[metric].isOnRequest ? null : value),
  (value, metric) => (metric === "reserved" || metric === "used" ? null : value),
  (value, metric, counted) =>
    counted && isMetric(metric) && (metric === "host" || METRIC[metric].isInterpreter) ? null : value,
  (value, metric) => (isCounted(metric) ? null : value),
];

/**
 * A run of at most {@link MAX_RUN_BYTES}: slopes are dropped first, then metrics that are judged only on request, then
 * reserved and device-used memory, then host memory and that of interpreters if the allocator of a device was
 * recorded, then what is counted beside memory, whose leaks fail without a baseline too. A run of more ranks keeps
 * peak, growth and class of each, at any size.
 */
function fitRun(run: BaselineRun, series: BaselineEpoch["series"]): BaselineRun {
  // As gating is decided: an allocator of the host does not replace host memory.
  const counted = series.some(
    ([, device, metric], index) => metric === "allocated" && device !== "host" && run.values[index] != null,
  );
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

/** The minimum number of runs to keep when a record is too large: fewer could not fail a run. */
const KEEP_RUNS = 10;

/**
 * Reduces a record to its size limit: large runs are reduced, bands are thinned first (they are only drawn), then old
 * epochs and the oldest runs are dropped. At least {@link KEEP_RUNS} runs to compare with stay, even if many ranks make
 * them large.
 */
export function pruneRecord(record: BaselineRecord): BaselineRecord {
  let pruned: BaselineRecord = {
    ...record,
    epochs: record.epochs.map((epoch) => ({ ...epoch, runs: epoch.runs.map((run) => fitRun(run, epoch.series)) })),
  };
  for (;;) {
    if (Buffer.byteLength(serializeRecord(pruned)) <= MAX_RECORD_BYTES) return pruned;
    const points = Math.max(0, ...pruned.envelopes.map(({ time_s }) => time_s.length));
    const compared = comparedEpochs(pruned);
    const runs = compared[0]?.runs.length ?? 0;
    if (points > 50) pruned = coarser(pruned);
    else if (pruned.epochs.length > compared.length || runs > KEEP_RUNS) pruned = shortened(pruned);
    else if (pruned.envelopes.length > 1) pruned = { ...pruned, envelopes: pruned.envelopes.slice(0, 1) };
    else return pruned;
  }
}
