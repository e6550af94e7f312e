import { groupBy } from "../../core/group-by.ts";
import { formatBytes } from "../../core/units.ts";
import { fitLine } from "../../stats/least-squares.ts";
import { normalMad } from "../../stats/mad.ts";
import { median } from "../../stats/order-statistics.ts";
import { METRIC, type Metric, metricNoun } from "../../telemetry/recording/metrics.ts";
import { type Hinge, risingHinge } from "../growth/growth-stretch.ts";
import type { Finding, RankSuspect, RanksAnalysis, SeriesAnalysis } from "../series/document.ts";
import type { StoredFeatures } from "../series/features-schema.ts";
import { type OrderedSeries, orderSeries } from "../series/ordered.ts";
import { compareKeys, type MetricSeries } from "../series/series.ts";
import { mergeBins, toBins } from "../trend/bins.ts";
import { materialChange } from "../trend/materiality.ts";
import { where } from "./findings.ts";

/** Points of a curve: enough for an onset, and few enough for a thousand ranks. */
const MAX_POINTS = 60;
const MIN_POINTS = 12;
/** Points that are merged where cycles are slower than a point. */
const COARSER = 5;
/** Shares of the run that are left out at its start, where ranks warm up each in its own way. */
const WARM_UPS = [0, 0.25, 0.5, 0.7] as const;
/** Points that must be left after it. */
const MIN_LEFT = 6;
/** A growth that goes on has, over this share of the run at its end, ... */
const LATE_SHARE = 0.3;
/** ... at least this share of its mean slope. What levels off has less. */
const LATE_SLOPE = 0.4;
/** A growth of which this share happens at once is a jump. */
const JUMP_SHARE = 0.6;
/** Share of the variation of a departure that a growth from one onset on must explain. */
const GOOD_FIT = 0.3;
/**
 * Spreads (MAD) of all ranks' departures that a suspect exceeds. Of eight ranks the spread itself is rough: over seven
 * kinds of noise and five of warm-up, none of 180 healthy jobs of eight ranks had a suspect at 7.
 */
const SPREADS = 7;
/** Ranks that all still grow differ in proportion to it: a suspect exceeds this share of the median rank's growth. */
const COMMON_SHARE = 0.3;
/** With fewer ranks their spread is not known: a suspect's own series must leak or rise. */
const MIN_FOR_SPREAD = 5;
/** Growth over that of the ranks which are not suspects. */
const OTHERS_GROWTHS = 2;
/** Onsets closer than this share of the run do not tell which rank began. */
const LEAD_SHARE = 0.05;

/** Thinned series of one rank, for comparisons with other ranks. */
export type RankCurve = StoredFeatures["curves"][number];

/** Records of a series without growth can lie anywhere: its own class must show growth, or this many rises. */
const MIN_RISES = 4;
const COMPARED: readonly Metric[] = ["allocated", "used", "reserved", "host"];

/** The curves of the series that can make their rank a suspect. */
export function rankCurves(
  all: readonly { readonly series: MetricSeries; readonly analysis: SeriesAnalysis }[],
  epochNs: bigint,
): RankCurve[] {
  return all.flatMap(({ series, analysis }): RankCurve[] => {
    if (!COMPARED.includes(series.metric) || analysis.class === "unavailable") return [];
    const ordered = orderSeries(series);
    const bins = toBins(ordered);
    if (bins.count < MIN_POINTS) return [];
    const thin = mergeBins(bins, Math.ceil(bins.count / MAX_POINTS));
    const { axis } = ordered;
    const first = axis === "time" ? (ordered.x[0] ?? 0) : 0;
    const scale = axis === "time" ? 1e9 : 1;
    return [
      {
        ...where(series),
        axis,
        firstNs: axis === "time" ? epochNs + BigInt(Math.round(first)) : null,
        x: thin.x.map((at) => (at - first) / scale),
        bytes: smoothed(thin.low),
        grows: analysis.class === "leak" || analysis.class === "rising" ? analysis.class : null,
      },
    ];
  });
}

/** Medians of three: without lone drops. */
function smoothed(y: Float64Array): Float64Array {
  return y.map((value, i) => median([y[i - 1] ?? value, value, y[i + 1] ?? value]));
}

/** The curves of one metric at equal steps, times or samples. */
interface Compared {
  readonly metric: Metric;
  readonly axis: OrderedSeries["axis"];
  readonly x: Float64Array;
  readonly ranks: readonly { readonly curve: RankCurve; readonly y: Float64Array }[];
}

type OffsetOf = (rank: number) => bigint;

const last = (values: Float64Array): number => values[values.length - 1] ?? 0;
const rise = ({ bytes }: RankCurve): number => last(bytes) - (bytes[0] ?? 0);

/** The axis of most curves, and for each rank the curve on it that rises most: a rank may use several devices. */
function oneOfEachRank(curves: readonly RankCurve[]): readonly RankCurve[] {
  const [common = []] = [...groupBy(curves, ({ axis }) => axis).values()].sort((a, b) => b.length - a.length);
  return [...groupBy(common, ({ rank }) => rank).values()]
    .map((own) => own.reduce((best, one) => (rise(one) > rise(best) ? one : best)))
    .sort((a, b) => a.rank - b.rank);
}

/** The value at `at`, linear between the points. `x` ascends. */
function valuesAt({ x, bytes }: RankCurve, shift: number, grid: Float64Array): Float64Array {
  let k = 1;
  return grid.map((at) => {
    while (k < x.length - 1 && (x[k] ?? 0) + shift < at) k++;
    const [left, right] = [(x[k - 1] ?? 0) + shift, (x[k] ?? 0) + shift];
    const share = right > left ? Math.min(1, Math.max(0, (at - left) / (right - left))) : 1;
    return (bytes[k - 1] ?? 0) + share * ((bytes[k] ?? 0) - (bytes[k - 1] ?? 0));
  });
}

/** The curves of ranks over what all of them cover, without those that cover less than half of what is usual. */
function compared(all: readonly RankCurve[], offsetOf: OffsetOf): Compared | null {
  const curves = oneOfEachRank(all);
  const [first] = curves;
  if (first === undefined) return null;
  const originOf = ({ rank, firstNs }: RankCurve): bigint => (firstNs ?? 0n) - (firstNs === null ? 0n : offsetOf(rank));
  const origin = originOf(first);
  const shifted = curves.map((curve) => {
    const shift = Number(originOf(curve) - origin) / 1e9;
    return { curve, shift, from: (curve.x[0] ?? 0) + shift, to: last(curve.x) + shift };
  });
  const usual = median(shifted.map(({ from, to }) => to - from));
  const long = shifted.filter(({ from, to }) => 2 * (to - from) >= usual);
  const from = Math.max(...long.map((one) => one.from));
  const to = Math.min(...long.map((one) => one.to));
  if (long.length < 2 || !(to - from >= usual / 2) || !(to > from)) return null;
  const x = Float64Array.from({ length: MAX_POINTS }, (_, i) => from + ((to - from) * i) / (MAX_POINTS - 1));
  const { metric, axis } = first;
  return { metric, axis, x, ranks: long.map(({ curve, shift }) => ({ curve, y: valuesAt(curve, shift, x) })) };
}

/** The better of a rise and a fall from an onset on; a fall has negative bytes. */
function change(x: Float64Array, y: Float64Array): Hinge | null {
  const [up, down] = [
    risingHinge(x, y),
    risingHinge(
      x,
      y.map((value) => -value),
    ),
  ];
  if (down !== null && down.explained > (up?.explained ?? 0)) return { ...down, bytes: -down.bytes };
  return up;
}

/** Whether a running maximum grows by its own class, or rises so often that it does not only find rare peaks. */
function risesOften({ grows, bytes }: RankCurve, share: number): boolean {
  const tail = bytes.subarray(Math.floor(share * bytes.length));
  return grows !== null || tail.filter((value, i) => i > 0 && value > (tail[i - 1] ?? value)).length >= MIN_RISES;
}

/** Ranks are compared across their devices. */
const ofAnyDevice = (metric: Metric) => ({ metric, device: "" });

/** Whether most of the growth is one rise, between neighbouring points or across one: a jump is not growth. */
function jumps(y: Float64Array, bytes: number): boolean {
  return y.some((value, i) => (y[i + 2] ?? value) - value > JUMP_SHARE * bytes);
}

/** Whether what grew by this hinge still grows at the end. */
function goesOn(x: Float64Array, y: Float64Array, { onset, bytes }: Hinge): boolean {
  const from = Math.floor((1 - LATE_SHARE) * x.length);
  return fitLine(x, y, from).slope * (last(x) - onset) >= LATE_SLOPE * bytes;
}

interface Departure {
  readonly curve: RankCurve;
  readonly bytes: number;
  readonly onset: number;
}

/**
 * Ranks whose series departs from the median over ranks by more than the departures of the others explain, and still
 * does at the end.
 */
function departures({ metric, x, ranks }: Compared): Departure[] {
  const middle = x.map((_, i) => median(ranks.map(({ y }) => y[i] ?? 0)));
  const own = ranks.map(({ y }) => y.map((value, i) => value - (middle[i] ?? 0)));
  const material = materialChange(median(middle), ofAnyDevice(metric));
  const found = new Map<RankCurve, Departure>();
  for (const share of WARM_UPS) {
    const from = Math.floor(share * x.length);
    const at = x.subarray(from);
    if (at.length < MIN_LEFT) continue;
    const changes = own.map((y) => change(at, y.subarray(from)));
    // A rank that passes others moves the median, by which all of them seem to change alike.
    const sizes = changes.map((one) => one?.bytes ?? 0);
    const centre = median(sizes);
    const common = Math.abs(last(middle) - (middle[from] ?? 0));
    const limit = Math.max(material, COMMON_SHARE * common, SPREADS * normalMad(sizes));
    const within = sizes.filter((bytes) => bytes - centre <= limit);
    // The spread is that of the inner half, beyond which a few ranks may lie that warm up longer.
    const apart = Math.max(limit, ...within.map((bytes) => OTHERS_GROWTHS * Math.abs(bytes - centre)));
    for (const [i, one] of changes.entries()) {
      const curve = ranks[i]?.curve;
      const y = own[i];
      if (one === null || curve === undefined || y === undefined || found.has(curve)) continue;
      if (one.bytes - centre <= apart || one.explained < GOOD_FIT || !goesOn(x, y, one)) continue;
      if (jumps(y.subarray(from), one.bytes) || (METRIC[metric].isHighwater && !risesOften(curve, share))) continue;
      found.set(curve, { curve, bytes: one.bytes - centre, onset: one.onset });
    }
  }
  return [...found.values()];
}

/** The lowest of each few neighbouring points: below cycles that are slower than a point. */
function coarser(group: Compared): Compared {
  const count = Math.floor(group.x.length / COARSER);
  const points = (of: (from: number, to: number) => number) =>
    Float64Array.from({ length: count }, (_, k) => of(k * COARSER, (k + 1) * COARSER));
  return {
    ...group,
    x: points((from, to) => ((group.x[from] ?? 0) + (group.x[to - 1] ?? 0)) / 2),
    ranks: group.ranks.map(({ curve, y }) => ({ curve, y: points((from, to) => Math.min(...y.subarray(from, to))) })),
  };
}

/** Growth of ranks whose own series leak or rise, beyond that of the ranks whose series do neither. */
function growers({ metric, x, ranks }: Compared): Departure[] {
  const grown = ranks.map(({ curve, y }) => ({ curve, y, bytes: last(y) - (y[0] ?? 0) }));
  const material = materialChange(median(ranks.map(({ y }) => median(y))), ofAnyDevice(metric));
  // Among ranks that leak, those that only rise follow. Where all ranks rise, they warm up.
  const of = (name: RankCurve["grows"]) => grown.filter(({ curve }) => curve.grows === name);
  const growing = of("leak").length > 0 || of("rising").length === grown.length ? of("leak") : of("rising");
  const others = grown.filter((one) => !growing.includes(one));
  const limit = Math.max(material, ...others.map(({ bytes }) => OTHERS_GROWTHS * bytes));
  const named = growing.filter(({ bytes }) => bytes > limit);
  return named.flatMap(({ curve, y, bytes }) => {
    const fit = risingHinge(x, y);
    return fit === null || fit.explained < GOOD_FIT ? [] : [{ curve, bytes, onset: fit.onset }];
  });
}

interface Suspected extends Departure {
  readonly basis: RankSuspect["basis"];
  readonly compared: Compared;
}

function suspectsBy(group: Compared): Suspected[] {
  const { ranks, x } = group;
  if (ranks.length >= MIN_FOR_SPREAD) {
    for (const resolution of [group, coarser(group)]) {
      const departed = departures(resolution);
      if (departed.length > 0) return departed.map((one) => ({ ...one, basis: "departure", compared: group }));
    }
  }
  const own = growers(group).sort((a, b) => a.onset - b.onset || b.bytes - a.bytes);
  // One rank among many that departs from them is found above.
  if (own.length === 1 && ranks.length >= MIN_FOR_SPREAD) return [];
  // Where most ranks leak from the same point on, the program leaks, not a rank.
  if (2 * own.length > ranks.length && lead(own, x) <= 0) return [];
  return own.map((one) => ({ ...one, basis: "class", compared: group }));
}

/** How clearly the first began before the second, as a share of the run; 0 unless it is clear. */
function lead([first, second]: readonly Departure[], x: Float64Array): number {
  if (first === undefined || second === undefined) return 0;
  const share = (second.onset - first.onset) / (last(x) - (x[0] ?? 0));
  return share > LEAD_SHARE ? share : 0;
}

/** Device memory before the host's; of each the first metric that more than half of the ranks have. */
function comparedGroups(ranks: RanksAnalysis, curves: readonly RankCurve[]): Compared[] {
  const offsetOf = (rank: number) => BigInt(ranks.alignment_offsets_ns[String(rank)] ?? "0");
  return [false, true].flatMap((host) => {
    const here = curves.filter(({ device }) => (device === "host") === host);
    for (const metric of COMPARED) {
      const own = here.filter((curve) => curve.metric === metric);
      if (2 * new Set(own.map(({ rank }) => rank)).size <= ranks.participating_ranks.length) continue;
      const group = compared(own, offsetOf);
      return group === null ? [] : [group];
    }
    return [];
  });
}

/**
 * The ranks whose memory grows unlike that of the others, the first to begin before the others: by their departure from
 * the median over ranks, or with few ranks by the class of their own series. One alone is of high confidence, or of
 * medium confidence if ranks are missing. Of several, the one that clearly began first is of medium confidence.
 */
export function rankSuspects(ranks: RanksAnalysis, curves: readonly RankCurve[]): RankSuspect[] {
  if (ranks.participating_ranks.length < 2) return [];
  const all = comparedGroups(ranks, [...curves].sort(compareKeys)).flatMap((group) => {
    const own = suspectsBy(group).sort((a, b) => a.onset - b.onset || b.bytes - a.bytes || a.curve.rank - b.curve.rank);
    return own.map((one, at) => ({ ...one, leads: at === 0 && lead(own, group.x) > 0 }));
  });
  const suspects = [...groupBy(all, ({ curve }) => curve.rank).values()].flatMap(([one]) => one ?? []);
  return suspects.map(({ curve, bytes, onset, basis, compared: { axis }, leads }): RankSuspect => {
    const alone = suspects.length === 1;
    const certain = alone && ranks.missing_ranks.length === 0 && (basis === "departure" || curve.grows === "leak");
    return {
      rank: curve.rank,
      device: curve.device,
      metric: curve.metric,
      confidence: certain ? "high" : alone || leads ? "medium" : "low",
      basis,
      growth_bytes: Math.round(bytes),
      onset_step: axis === "step" ? Math.round(onset) : null,
      onset_s: axis === "time" ? Math.round(onset * 1000) / 1000 : null,
    };
  });
}

const CONFIDENCE = { high: 0.95, medium: 0.7, low: 0.4 } as const;

function onsetText({ onset_step, onset_s }: RankSuspect): string {
  if (onset_step !== null) return `, from step ${onset_step} on`;
  return onset_s === null ? "" : `, from ${onset_s} s on`;
}

/** One finding per suspect: what terminal, comment and page show about ranks that grow unlike the others. */
export function suspectFindings(suspects: readonly RankSuspect[]): Finding[] {
  return suspects.map((one) => {
    const { rank, metric, basis, confidence, growth_bytes, onset_step, onset_s } = one;
    const grows =
      basis === "departure"
        ? `grows by ${formatBytes(growth_bytes)} more than the median rank's`
        : `grows by ${formatBytes(growth_bytes)}, unlike that of other ranks`;
    return {
      classification: "rank_suspect",
      severity: "info",
      confidence: CONFIDENCE[confidence],
      ...where(one),
      evidence: { growth_bytes, onset_step, onset_s, basis, confidence },
      description: `${metricNoun(metric)} of rank ${rank} ${grows}${onsetText(one)} (${confidence} confidence).`,
      remediation: ["Compare what this rank does from there on with the others: data, validation, logging, saving."],
    };
  });
}
