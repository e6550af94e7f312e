import type { Horizon } from "../../core/units.ts";
import { mean } from "../../stats/moments.ts";
import { median } from "../../stats/order-statistics.ts";
import { isCounted, METRIC } from "../../telemetry/recording/metrics.ts";
import type { KnownPeak } from "../../telemetry/recording/model.ts";
import type { RecordedService } from "../../telemetry/recording/service.ts";
import type { SeriesAnalysis } from "../series/document.ts";
import type { StoredFeatures } from "../series/features-schema.ts";
import { type OrderedSeries, orderSeries } from "../series/ordered.ts";
import { largest, type MetricSeries } from "../series/series.ts";
import { classifyCycles } from "../service/classify-cycles.ts";
import { restLevels } from "../service/rest-levels.ts";
import { type Bins, toBins } from "../trend/bins.ts";
import { classifyDrift } from "../trend/classify-drift.ts";
import type { Drift } from "../trend/drift.ts";
import { classifyHighwater } from "../trend/highwater.ts";
import { horizonFactor, materialChange, materialGrowth } from "../trend/materiality.ts";
import { grownAfter, lengthsUntil, type Slowdown } from "../trend/slowdown.ts";
import { teardownStart } from "../trend/teardown.ts";

/** Minimum number of usable points that is judged. Shorter series are `insufficient`. */
export const MIN_SAMPLES = 24;

/** Processes load code and grow their heaps for about this long before their actual work. */
export const STARTUP_NS = 1e9;
/** Steps or seconds from which on the time to out of memory counts as never: a logarithm reaches any size. */
const MAX_PROJECTED = 1e12;
/** A recording contains the start of the process if it began below this share of its usual level. */
const STARTED_SHARE = 0.25;

/** End of the process's start on the time axis; null for a series without one. */
export function startupEnd(device: string, ordered: OrderedSeries, bins: Bins, level: number): number | null {
  if (device !== "host" || ordered.axis !== "time" || !(bins.low[0]! < STARTED_SHARE * level)) return null;
  return ordered.x[0]! + STARTUP_NS;
}

export interface SeriesContext {
  /** Peaks that a source reports, by {@link seriesKey}. */
  readonly peaks: ReadonlyMap<string, readonly KnownPeak[]>;
  readonly horizon: Horizon | null;
  /** Present for a service, whose series are judged by what they hold at rest. */
  readonly service?: RecordedService | undefined;
}

/** Analysis of a series with values that the document does not contain. */
export type AnalysedSeries = StoredFeatures["series"][number];
export type SlowGrowth = NonNullable<AnalysedSeries["slowdown"]>;

/** Rank, device and metric as a map key. */
export const seriesKey = ({ rank, device, metric }: Pick<KnownPeak, "rank" | "device" | "metric">): string =>
  `${rank} ${metric} ${device}`;

type Peak = Pick<SeriesAnalysis, "peak_bytes" | "peak_kind">;

/** The best known peak: an exact one, else the largest. A sampled value above it wins. */
function peakOf(sampled: number | null, known: readonly KnownPeak[]): Peak {
  const own = [...known].sort(
    (a, b) => Number(b.kind === "exact") - Number(a.kind === "exact") || b.bytes - a.bytes,
  )[0];
  if (!own) return { peak_bytes: sampled, peak_kind: "sampled" };
  if (sampled !== null && sampled > own.bytes) return { peak_bytes: sampled, peak_kind: "sampled" };
  return { peak_bytes: own.bytes, peak_kind: own.kind };
}

function seriesHeader(series: MetricSeries, peak: Peak, ordered: OrderedSeries | null) {
  const { rank, device, metric, highwater } = series;
  return {
    rank,
    device,
    metric,
    highwater,
    samples: ordered?.bytes.length ?? 0,
    duration_s: ordered?.durationS ?? null,
    steps: ordered?.steps ?? null,
    ...peak,
  };
}

/** Share of a run whose highest value is what it had reached at its end. */
const AT_END = 1 / 12;

/** The highest value at the end, before memory is freed because the program ends. */
function levelAtEnd(bins: Bins, change: number): number {
  const { high, count } = bins;
  const end = teardownStart(bins, change);
  return high.subarray(Math.max(0, end - Math.ceil(AT_END * count)), end).reduce((most, one) => Math.max(most, one));
}

const positive = (value: number | null): value is number => value !== null && value > 0;

function slowGrowth(slowdown: Slowdown, { x, durationS, stepSpan }: OrderedSeries, startup: number | null): SlowGrowth {
  const [first, last] = [x[0]!, x[x.length - 1]!];
  const share = startup === null ? 1 : (last - startup) / (last - first);
  const part = (whole: number | null) => (positive(whole) ? share * whole : null);
  return { ...slowdown, steps: part(stepSpan), seconds: part(durationS) };
}

/** Analyses one series. */
export function analyseSeries(series: MetricSeries, context: SeriesContext): AnalysedSeries {
  const sampled = largest(series.bytes);
  const peak = peakOf(sampled, context.peaks.get(seriesKey(series)) ?? []);
  const totalBytes = isCounted(series.metric) ? null : series.totalBytes;
  const plain = (klass: "insufficient" | "unavailable", ordered: OrderedSeries | null): AnalysedSeries => ({
    analysis: {
      ...seriesHeader(series, peak, ordered),
      slope_bytes_per_s: null,
      slope_bytes_per_step: null,
      slope_interval: null,
      growth_bytes: null,
      mde_bytes: null,
      steps_to_oom: null,
      seconds_to_oom: null,
      class: klass,
    },
    totalBytes,
    lastBytes: ordered?.bytes.at(-1) ?? null,
    growthAtHorizon: null,
    significant: false,
    slowdown: null,
    material: false,
  });
  if (sampled === null) return plain("unavailable", null);
  if (METRIC[series.metric].isLeftBehind) {
    const { analysis, ...rest } = plain("insufficient", null);
    const floor = materialChange(0, series);
    const label = sampled > floor ? "leak" : "flat";
    const left = { ...analysis, samples: 1, class: label, growth_bytes: sampled, mde_bytes: floor } as const;
    return { ...rest, analysis: left, lastBytes: sampled, significant: sampled > floor, material: sampled > floor };
  }
  const ordered = orderSeries(series);
  if (context.service !== undefined)
    return analyseAtRest(series, context.service, context.horizon, plain("insufficient", ordered));
  const { x, bytes, durationS, stepSpan } = ordered;
  const span = bytes.length > 0 ? x[x.length - 1]! - x[0]! : 0;
  if (bytes.length < MIN_SAMPLES || !(span > 0)) return plain("insufficient", ordered);
  const bins = toBins(ordered);
  if (bins.count < MIN_SAMPLES) return plain("insufficient", ordered);

  const level = median(bins.middle);
  const factor = horizonFactor(context.horizon, stepSpan, durationS);
  const change = materialChange(level, series);
  const floor = materialGrowth(level, series, factor);
  const startup = startupEnd(series.device, ordered, bins, level);
  const drift = series.highwater
    ? { ...classifyHighwater(bins, change), interval: null, significant: false, slowdown: null }
    : classifyDrift({
        bins,
        metric: series.metric,
        change,
        growth: floor,
        startupEnd: startup,
        perStep: ordered.axis === "step",
      });
  if (drift.class === "insufficient") return plain("insufficient", ordered);

  // A run that ends while its process is still starting shows the start, whatever its shape. The numbers stay
  // comparable.
  const startupOnly =
    startup !== null && span < 2 * STARTUP_NS && ["leak", "rising", "step", "shrink"].includes(drift.class);
  const fewSteps = ordered.axis === "time" && ordered.steps !== null;
  const notStepwise = drift.class === "leak" && fewSteps && !growsBetweenSteps(series, drift.growth);
  const lowest = bins.low.reduce((least, one) => Math.min(least, one));
  const end = bins.high[teardownStart(bins, change) - 1]! - lowest;
  const returned = METRIC[series.metric].isCounted && hasReturned(drift, end, change);
  const driftClass = startupOnly ? "insufficient" : returned ? "spike" : notStepwise ? "rising" : drift.class;
  // A slope over the whole span may promise more than the series ever rose.
  const growth = Math.min(drift.growth, returned ? end : sampled - lowest);
  // The axis may be time although steps exist (too few of them), so both slopes come from a growth over the whole span.
  const whole = drift.slope * span;
  const perSecond = positive(durationS) ? whole / durationS : null;
  const perStep = positive(stepSpan) ? whole / stepSpan : null;
  const unit = positive(stepSpan) ? stepSpan : positive(durationS) ? durationS : span;
  const scale = span / unit;
  const growing = growth > 0 && (driftClass === "leak" || driftClass === "rising");
  const reached = levelAtEnd(bins, change);
  const room = totalBytes === null ? null : Math.max(0, totalBytes - reached);
  const { slowdown } = drift;
  const fitted = slowdown === null || startupOnly ? null : slowGrowth(slowdown, ordered, startup);
  const until = (slope: number | null, length: number | null | undefined): number | null => {
    if (!growing || room === null) return null;
    if (fitted === null) return slope ? room / slope : null;
    const left = length == null ? Number.POSITIVE_INFINITY : length * lengthsUntil(fitted, room);
    return left < MAX_PROJECTED ? left : null;
  };
  const steps = until(perStep, fitted?.steps);
  return {
    analysis: {
      ...seriesHeader(series, peak, ordered),
      slope_bytes_per_s: perSecond,
      slope_bytes_per_step: perStep,
      slope_interval: drift.interval ? [drift.interval[0] * scale, drift.interval[1] * scale] : null,
      growth_bytes: Math.round(growth),
      class: driftClass,
      mde_bytes: drift.mde === null ? null : Math.ceil(drift.mde),
      steps_to_oom: steps === null ? null : Math.floor(steps),
      seconds_to_oom: until(perSecond, fitted?.seconds),
    },
    totalBytes,
    lastBytes: reached,
    growthAtHorizon: factor === null ? null : fitted === null ? whole * factor : grownAfter(fitted, factor),
    significant: drift.significant && !startupOnly,
    slowdown: fitted,
    material: (floor < change ? whole : growth) > floor,
  };
}

/** A series of a service: what its cycles leave. @param plain the series without a class */
function analyseAtRest(
  series: MetricSeries,
  service: RecordedService,
  horizon: Horizon | null,
  plain: AnalysedSeries,
): AnalysedSeries {
  const { levels, requests, atS } = restLevels(series, service);
  const level = levels.length === 0 ? 0 : median(levels);
  const change = materialChange(level, series);
  const trend = classifyCycles(levels, change, isCounted(series.metric));
  const cycles = levels.length - 1 - trend.from;
  if (trend.class === "insufficient") return plain;
  const spanOf = (values: readonly number[] | null): number | null =>
    values === null ? null : (values.at(-1) ?? 0) - (values[trend.from] ?? 0);
  const [stepSpan, durationS] = [spanOf(requests), spanOf(atS)];
  const growth = cycles * trend.perCycle;
  const per = (span: number | null, of = growth): number | null => (positive(span) ? of / span : null);
  const [perStep, perSecond] = [per(stepSpan), per(durationS)];
  const unit = positive(stepSpan) ? stepSpan : positive(durationS) ? durationS : 1;
  const reached = levels.at(-1) ?? 0;
  const room = plain.totalBytes === null ? null : Math.max(0, plain.totalBytes - reached);
  const growing = growth > 0 && (trend.class === "leak" || trend.class === "rising");
  const until = (slope: number | null) => (growing && room !== null && positive(slope) ? room / slope : null);
  const factor = horizonFactor(horizon, stepSpan, durationS);
  const steps = until(perStep);
  return {
    ...plain,
    analysis: {
      ...plain.analysis,
      steps: requests === null ? null : (requests.at(-1) ?? null),
      slope_bytes_per_s: perSecond,
      slope_bytes_per_step: perStep,
      growth_bytes_per_request: perStep,
      slope_interval: [(cycles * trend.interval[0]) / unit, (cycles * trend.interval[1]) / unit],
      growth_bytes: Math.round(growth),
      class: trend.class,
      mde_bytes: Math.ceil(trend.mde),
      mde_bytes_per_request: per(stepSpan, trend.mde),
      steps_to_oom: steps === null ? null : Math.floor(steps),
      seconds_to_oom: until(perSecond),
    },
    lastBytes: reached,
    growthAtHorizon: factor === null ? null : growth * factor,
    significant: trend.significant,
    material: growth > materialGrowth(level, series, factor),
  };
}

const GREW: ReadonlySet<SeriesAnalysis["class"]> = new Set(["leak", "rising", "step", "plateau"]);

/** Whether nothing is kept at the end of what grew, as of a queue that drains when the load ends. */
const hasReturned = (drift: Pick<Drift, "class" | "growth">, end: number, change: number): boolean =>
  GREW.has(drift.class) && drift.growth > change && 2 * end < Math.min(change, drift.growth);

/** Quantile of the normal distribution at the level of any leak, 0.3 %, one-sided. */
const SIGNIFICANT = 2.75;
/** Growth from step to step must be this share of the growth over time, else that is the working memory of a step. */
const MIN_SHARE = 0.5;

/** The first value of each step: all at the same phase. */
function atStepBegin({ bytes, steps }: Pick<MetricSeries, "bytes" | "steps">): number[] {
  const values: number[] = [];
  let current = Number.NaN;
  for (let i = 0; i < bytes.length; i++) {
    const [step, value] = [steps?.[i] ?? Number.NaN, bytes[i]!];
    if (!Number.isFinite(step) || !Number.isFinite(value) || step === current) continue;
    values.push(value);
    current = step;
  }
  return values;
}

/**
 * Whether a series of few steps, whose growth over time is known, also grows from step to step. Within a step memory
 * rises and falls by the step's working memory: the host memory of a training with two steps of 2.5 s rose by 140 MiB
 * that were no leak. The order of the values is tested (Mann 1945; Kendall 1975, "Rank correlation methods"), by its
 * normal approximation with the correction for continuity, so that fewer than seven steps show nothing.
 */
function growsBetweenSteps(series: Pick<MetricSeries, "bytes" | "steps">, growth: number): boolean {
  const values = atStepBegin(series);
  const n = values.length;
  let order = 0;
  for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) order += Math.sign(values[j]! - values[i]!);
  const deviation = Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18);
  if (!(order - 1 > SIGNIFICANT * deviation)) return false;
  const third = Math.ceil(n / 3);
  const risen = mean(values.slice(-third)) - mean(values.slice(0, third));
  // From the middle of the first third to that of the last.
  return (risen * (n - 1)) / (n - third) >= MIN_SHARE * growth;
}
