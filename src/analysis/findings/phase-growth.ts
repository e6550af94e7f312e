import { groupBy } from "../../core/group-by.ts";
import { formatBytes } from "../../core/units.ts";
import { mean } from "../../stats/moments.ts";
import { median } from "../../stats/order-statistics.ts";
import { slopePValue } from "../../stats/slope-p-value.ts";
import { studentQuantile } from "../../stats/student-t.ts";
import { firstAfter } from "../../telemetry/recording/common-clock.ts";
import { metricNoun } from "../../telemetry/recording/metrics.ts";
import type { Recording } from "../../telemetry/recording/model.ts";
import { firstFrom, leadingSeries, phaseEntries, processEnds } from "../growth/phases.ts";
import { analyseSeries, MIN_SAMPLES } from "../growth/series-analysis.ts";
import type { Finding, PhaseAnalysis, SeriesAnalysis } from "../series/document.ts";
import type { ChartSeries } from "../series/series.ts";
import { where } from "./findings.ts";

/** Minimum number of occurrences of a phase: with fewer, a rise by chance is not improbable enough to share alpha. */
const MIN_OCCURRENCES = 8;
/** False alarm rate of all phases of a recording together, one-sided. That of a leak in a series. */
const ALPHA = 0.003;
/** Share of a phase's growth that must be its own, and the share that may come from outside it. */
const OWN_SHARE = { min: 0.6, max: 1.6, outside: 0.3 } as const;
/**
 * At the boundaries of a phase, the samples on both sides must agree to this share of its growth per occurrence: what
 * is held across a boundary (a batch, a buffer) would otherwise be counted as kept by one side and freed by the other.
 */
const MAX_STRADDLE_SHARE = 0.25;
/** Share of its mean rate at which a phase must still grow at the end, over the last two sixths of its occurrences. */
const STILL_GROWING = 0.5;
/** Another phase "did not grow" when it kept at most this share. */
const STILL_SHARE = 0.1;
/** Share of the changes dropped at each end before their mean is taken: a warm-up or a clean-up says nothing. */
const TRIMMED = 0.1;

const KEPT = [
  "Look at what this phase keeps after its end: lists of outputs or metrics, caches, state that is not reset.",
];
const NEEDED = ["Look at what this phase collects and releases at its end: its input, or a list that is filled again."];

/** Samples from `from` up to, not including, `to`, in one occurrence of a phase. */
interface Occurrence {
  readonly began: number;
  readonly ended: number;
  readonly from: number;
  readonly to: number;
}

/** A phase in the series of its rank. */
interface PhaseSeries {
  readonly name: string;
  readonly occurrences: readonly Occurrence[];
  readonly analysis: SeriesAnalysis;
  /** Bytes kept by an occurrence, and between two occurrences: trimmed means. */
  readonly own: KeptBytes;
  readonly outside: KeptBytes;
  /** Level at the end of each occurrence. */
  readonly ends: Float64Array;
  /** Median difference of the two samples beside a boundary, bytes. */
  readonly straddle: number;
}

/** Change of the level over some intervals. */
interface KeptBytes {
  readonly mean: number;
  /** Standard error of the mean. */
  readonly error: number;
  readonly count: number;
}

/** Occurrences with samples. Those that overlap (nested, of other processes) are one. */
function occurrencesOf(
  entries: readonly { readonly began: number; readonly ended: number }[],
  { timeS }: ChartSeries,
): Occurrence[] {
  const merged: { began: number; ended: number }[] = [];
  for (const { began, ended } of entries) {
    const last = merged.at(-1);
    if (last !== undefined && began <= last.ended) last.ended = Math.max(last.ended, ended);
    else merged.push({ began, ended });
  }
  return merged
    .map((one) => ({ ...one, from: firstFrom(timeS, one.began), to: firstAfter(timeS, one.ended) }))
    .filter(({ from, to }) => to > from);
}

/**
 * The samples of some ranges one after the other, over the number of the range: the phase's own steps. A clock would
 * count the time between them, and take the first second in a phase for the start of the process.
 * @param floors lowest sample that counts in each range, bytes; absent = all count
 */
function spliced(
  { rank, device, metric, timeS, bytes }: ChartSeries,
  ranges: readonly { readonly from: number; readonly to: number }[],
  floors?: Float64Array,
): SeriesAnalysis {
  const steps: number[] = [];
  const values: number[] = [];
  for (const [r, { from, to }] of ranges.entries()) {
    const floor = floors?.[r] ?? Number.NEGATIVE_INFINITY;
    // Just under one, so that ranges do not touch.
    const perSecond = 0.999 / Math.max(timeS[to - 1]! - timeS[from]!, Number.MIN_VALUE);
    for (let i = from; i < to; i++) {
      if (bytes[i]! < floor) continue;
      steps.push(r + Math.min(0.999, (timeS[i]! - timeS[from]!) * perSecond));
      values.push(bytes[i]!);
    }
  }
  const columns = { timeNs: null, steps: Float64Array.from(steps), bytes: Float64Array.from(values) };
  const series = { rank, device, metric, highwater: false, thinned: false, ...columns, totalBytes: null };
  return analyseSeries(series, { peaks: new Map(), horizon: null }).analysis;
}

/** The samples before and after a boundary, of which the second has index `after`. */
function beside(bytes: Float64Array, after: number): readonly [number, number] {
  return [bytes[Math.max(0, after - 1)]!, bytes[Math.min(bytes.length - 1, after)]!];
}

function trimmed(changes: number[]): KeptBytes {
  const ordered = [...changes].sort((a, b) => a - b);
  const cut = Math.ceil(TRIMMED * ordered.length);
  const kept = ordered.slice(cut, ordered.length - cut);
  const centre = mean(kept);
  const variance = kept.reduce((sum, one) => sum + (one - centre) ** 2, 0) / (kept.length - 1);
  return { mean: centre, error: Math.sqrt(variance / kept.length), count: kept.length };
}

const grows = ({ class: drift }: SeriesAnalysis): boolean => drift === "leak" || drift === "rising";

function phaseSeries(name: string, occurrences: readonly Occurrence[], series: ChartSeries): PhaseSeries {
  const { bytes } = series;
  const boundaries = [
    occurrences.map(({ from }) => beside(bytes, from)),
    occurrences.map(({ to }) => beside(bytes, to)),
  ];
  const straddles = boundaries.map((sides) => median(sides.map(([before, after]) => Math.abs(after - before))));
  // The lower of the two is without what is held only up to the boundary.
  const [starts = [], ends = []] = boundaries.map((sides) => sides.map(([before, after]) => Math.min(before, after)));
  return {
    name,
    occurrences,
    analysis: spliced(series, occurrences),
    own: trimmed(ends.map((end, j) => end - starts[j]!)),
    outside: trimmed(starts.slice(1).map((start, j) => start - ends[j]!)),
    ends: Float64Array.from(ends),
    straddle: Math.max(...straddles),
  };
}

/** The ranges of samples between the occurrences of a phase. */
function gapsOf(occurrences: readonly Occurrence[]): { from: number; to: number }[] {
  return occurrences
    .slice(1)
    .map(({ from }, j) => ({ from: occurrences[j]!.to, to: from }))
    .filter(({ from, to }) => to > from);
}

/** Whether the level still rises over the last two sixths, compared with its growth over all. */
function stillGrows(levels: Float64Array, growth: number): boolean {
  const n = levels.length;
  const width = Math.ceil(n / 6);
  return mean(levels, n - width) - mean(levels, n - 2 * width, n - width) >= (STILL_GROWING * growth * width) / n;
}

/** Lowest and highest sample of a range. */
function extent({ bytes }: ChartSeries, { from, to }: { readonly from: number; readonly to: number }) {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = from; i < to; i++) {
    low = Math.min(low, bytes[i]!);
    high = Math.max(high, bytes[i]!);
  }
  return { low, high };
}

/** How a phase grows, with the series that shows it. */
interface PhaseGrowth {
  /**
   * Kept: the whole program's level rises, by what this phase keeps. Needed: each occurrence needs more than the one
   * before it, and releases it.
   */
  readonly kind: "kept" | "needed";
  readonly phase: PhaseSeries;
  readonly analysis: SeriesAnalysis;
  readonly growth: number;
}

function rises(analysis: SeriesAnalysis, levels: Float64Array, alpha: number): boolean {
  const growth = analysis.growth_bytes ?? 0;
  return grows(analysis) && growth > 0 && slopePValue(levels, 1) < alpha && stillGrows(levels, growth);
}

/** Growth that a phase keeps and the rest of the program does not; null = none is known. */
function keptBy(phase: PhaseSeries, { timeS }: ChartSeries, alpha: number): PhaseGrowth | null {
  const { occurrences, analysis, own, outside, straddle, ends } = phase;
  const growth = analysis.growth_bytes ?? 0;
  const n = occurrences.length;
  if (straddle > (MAX_STRADDLE_SHARE * growth) / n || !rises(analysis, ends, alpha)) return null;
  const [kept, elsewhere] = [own.mean * n, outside.mean * n];
  const certain = own.mean > studentQuantile(1 - alpha, own.count - 1) * own.error;
  const accounts = kept >= OWN_SHARE.min * growth && kept <= OWN_SHARE.max * growth;
  // Growth that goes on all the time does not belong to a phase, however much of the time the phase takes.
  const total = timeS[occurrences[n - 1]!.to - 1]! - timeS[occurrences[0]!.from]!;
  const within = Math.max(lengthOf(phase), Number.EPSILON);
  const allowed = OWN_SHARE.outside * growth * Math.min(1, Math.max(0, total - within) / within);
  return certain && accounts && Math.abs(elsewhere) <= allowed ? { kind: "kept", phase, analysis, growth } : null;
}

/** What a phase needs: the highest sample of each occurrence, and the trend of the upper half of its samples. */
function upperHalf(occurrences: readonly Occurrence[], series: ChartSeries) {
  const extents = occurrences.map((one) => extent(series, one));
  // A phase begins and ends without what it needs in between.
  const floors = Float64Array.from(extents, ({ low, high }) => (low + high) / 2);
  return {
    levels: Float64Array.from(extents, ({ high }) => high),
    analysis: spliced(series, occurrences, floors),
  };
}

/** Growth of what a phase holds only while it lasts; null = none is known. */
function neededBy(phase: PhaseSeries, series: ChartSeries, alpha: number): PhaseGrowth | null {
  const { occurrences } = phase;
  const { levels, analysis } = upperHalf(occurrences, series);
  const growth = analysis.growth_bytes ?? 0;
  const gaps = gapsOf(occurrences);
  if (gaps.length < occurrences.length - 1 || !rises(analysis, levels, alpha)) return null;
  const rest = spliced(series, gaps);
  if (grows(rest) || !(Math.abs(rest.growth_bytes ?? Number.POSITIVE_INFINITY) <= OWN_SHARE.outside * growth)) {
    return null;
  }
  // Each occurrence is compared with the gap after it, so that what rises in both is not the phase's.
  const above = levels.subarray(0, gaps.length).map((level, j) => level - extent(series, gaps[j]!).high);
  return slopePValue(above, 1) < alpha ? { kind: "needed", phase, analysis, growth } : null;
}

function growthOf(phase: PhaseSeries, series: ChartSeries, alpha: number): PhaseGrowth | null {
  return keptBy(phase, series, alpha / 2) ?? neededBy(phase, series, alpha / 2);
}

const overlap = (a: PhaseSeries, b: PhaseSeries): boolean =>
  a.occurrences.some((one) => b.occurrences.some(({ from, to }) => from < one.to && one.from < to));

const lengthOf = ({ occurrences }: PhaseSeries): number =>
  occurrences.reduce((sum, { began, ended }) => sum + ended - began, 0);

/** "training and test did not": the phases that are known not to have grown. */
function stillText(names: readonly string[]): string {
  const [first, ...more] = names;
  if (first === undefined) return "";
  if (more.length === 0) return `; ${first} did not`;
  return `; ${[first, ...more.slice(0, -1)].join(", ")} and ${more.at(-1)} did not`;
}

function findingOf({ kind, phase, analysis, growth }: PhaseGrowth, others: readonly PhaseSeries[]): Finding {
  const { metric, samples, class: drift } = analysis;
  const still = others
    .filter((other) => !overlap(phase, other))
    .filter(({ own, analysis: one, occurrences: { length } }) =>
      kind === "kept"
        ? Math.abs(own.mean * length) <= STILL_SHARE * growth
        : !grows(one) && Math.abs(one.growth_bytes ?? growth) <= STILL_SHARE * growth,
    )
    .slice(0, 3);
  const n = phase.occurrences.length;
  const each = `${formatBytes(growth / n)} a time${kind === "needed" ? ", released after each" : ""}`;
  return {
    classification: "phase_growth",
    severity: "warning",
    confidence: drift === "leak" ? 0.9 : 0.8,
    ...where(analysis),
    evidence: {
      phase: phase.name,
      kind,
      growth_bytes: growth,
      growth_per_occurrence_bytes: Math.round(growth / n),
      occurrences: n,
      samples,
      class: drift,
    },
    description:
      `${metricNoun(metric)} of the phase ${phase.name} grew by ${formatBytes(growth)} over ${n} occurrences (${each})` +
      `${stillText(still.map(({ name }) => name))}.`,
    remediation: kind === "kept" ? KEPT : NEEDED,
  };
}

interface NamedOccurrences {
  readonly name: string;
  readonly occurrences: readonly Occurrence[];
}

/** The phases of each rank in the series by which phases are measured, in the order of the ranks. */
function phasesByRank(
  recording: Recording,
): readonly { readonly series: ChartSeries; readonly phases: readonly NamedOccurrences[] }[] {
  const entries = phaseEntries(recording);
  if (entries.length === 0) return [];
  const { byRank } = leadingSeries(recording, new Set(entries.map(({ rank }) => rank)));
  const endOf = processEnds(recording);
  const ranks = [...groupBy(entries, ({ rank }) => rank)].sort(([a], [b]) => a - b);
  return ranks.flatMap(([rank, own]) => {
    const series = byRank.get(rank);
    if (series === undefined) return [];
    const phases = [...groupBy(own, ({ name }) => name)].map(([name, group]) => {
      const times = group.flatMap(({ began_ns, ended_ns, pid }) => {
        const ended = (ended_ns ?? endOf(pid)) / 1e9;
        return ended >= began_ns / 1e9 ? [{ began: began_ns / 1e9, ended }] : [];
      });
      return { name, occurrences: occurrencesOf(times, series) };
    });
    return [{ series, phases }];
  });
}

/** The series of the phases that a policy judges. Those that a rank does not have are missing. */
export function analysePhases(recording: Recording, names: readonly string[]): PhaseAnalysis[] {
  if (names.length === 0) return [];
  return phasesByRank(recording).flatMap(({ series, phases }) =>
    phases
      .filter(({ name, occurrences }) => names.includes(name) && occurrences.length > 0)
      .map(({ name, occurrences }) => {
        const { peak_bytes, growth_bytes, class: drift } = upperHalf(occurrences, series).analysis;
        const own = { phase: name, occurrences: occurrences.length, peak_bytes, growth_bytes, class: drift };
        return { ...where(series), ...own };
      }),
  );
}

/**
 * Growth that one phase of a program causes and the rest does not, by the series in which phases are measured. Growth
 * that all phases share is the series' own finding. Empty without phases, or where they occur too seldom.
 */
export function phaseGrowthFindings(recording: Recording): Finding[] {
  const measured = phasesByRank(recording).map(({ series, phases }) => ({
    series,
    phases: phases.flatMap(({ name, occurrences }) => {
      const inside = occurrences.reduce((sum, { from, to }) => sum + to - from, 0);
      const usable = occurrences.length >= MIN_OCCURRENCES && inside >= MIN_SAMPLES;
      return usable ? [phaseSeries(name, occurrences, series)] : [];
    }),
  }));
  const tested = measured.reduce((sum, { phases }) => sum + phases.length, 0);
  return measured.flatMap(({ series, phases }) => {
    const found = phases.flatMap((phase) => growthOf(phase, series, ALPHA / tested) ?? []);
    // Of phases within each other the innermost is named.
    const innermost = found.filter(
      ({ phase }) => !found.some(({ phase: other }) => lengthOf(other) < lengthOf(phase) && overlap(phase, other)),
    );
    return innermost.map((growth) => findingOf(growth, phases));
  });
}
