import { plural } from "../../core/text.ts";
import { median } from "../../stats/order-statistics.ts";
import { formatSize, isCounted, METRIC, metricNoun } from "../../telemetry/recording/metrics.ts";
import type { AnalysedSeries, SlowGrowth } from "../growth/series-analysis.ts";
import { type Finding, type SeriesAnalysis, stepNoun } from "../series/document.ts";
import type { StoredFeatures } from "../series/features-schema.ts";
import { grownAfter, rateAtEnd } from "../trend/slowdown.ts";
import { type HighestOfJob, locationKey } from "./device-evidence.ts";

/** Shares of the device from which on a run is near its end. The values are TraceML's. */
const PRESSURE = { warning: 0.92, critical: 0.97 } as const;
/** Excess of a rank's peak over the median rank's that is reported, and the minimum use of its device. */
const SKEW = { excess: 0.2, pressure: 0.3 } as const;

/** What kind of program grows, by what the probe saw of it; a recording without a probe is one of a framework. */
export type ProgramKind = StoredFeatures["program"];

const KEPT: Readonly<Record<ProgramKind, string>> = {
  framework:
    "Look for values kept across iterations: lists of losses or outputs, tensors with their graph, hooks, unbounded caches.",
  python: "Look for values kept across iterations: lists, unbounded caches, callbacks that are never removed.",
  other:
    "Look for memory that is kept across iterations: unbounded caches, listeners, allocations that are never freed.",
};

const REMEDIATION = {
  leak: [
    "Run once with attribution on. The finding then names the source line whose memory grows.",
    "If the growth is intended, state a horizon or accept the new level as a baseline.",
  ],
  counted: [
    "Look for files, sockets and pipes that are not closed, also after an error, and for threads that are never joined.",
    "If the growth is intended, accept the new level as a baseline.",
  ],
  highwater: ["Look at `allocated` of the same device: where that leaks, this is a leak as well."],
  rising: [
    "Run longer: late or uneven growth needs more samples to be classified as a leak.",
    "Compare with a run of the base commit in the same session.",
  ],
  pressure: [
    "Leave headroom: a smaller batch, activation checkpointing, or a larger device.",
    "Peaks between samples may be even higher.",
  ],
  rank_skew: [
    "Check how work is distributed: pipeline stages, expert placement, uneven sequence lengths, work on one rank only.",
  ],
} as const;

/** Growth of a series, as evidence. */
export function growthEvidence(series: SeriesAnalysis): Finding["evidence"] {
  return {
    growth_bytes: series.growth_bytes,
    slope_bytes_per_step: series.slope_bytes_per_step,
    slope_bytes_per_s: series.slope_bytes_per_s,
    interval_low: series.slope_interval?.[0] ?? null,
    interval_high: series.slope_interval?.[1] ?? null,
    samples: series.samples,
    steps_to_oom: series.steps_to_oom,
    seconds_to_oom: series.seconds_to_oom,
  };
}

/** Span of the growth. There may be more steps than were sampled. */
export function span(series: SeriesAnalysis): string {
  const { growth_bytes: growth, slope_bytes_per_step: perStep, slope_bytes_per_s: perSecond } = series;
  if (growth && perStep) return plural(Math.round(growth / perStep), "step");
  if (growth && perSecond && series.steps === null) return `${(growth / perSecond).toFixed(1)} s`;
  if (series.steps !== null) return plural(series.steps, "step");
  return series.duration_s === null ? `${series.samples} samples` : `${series.duration_s.toFixed(1)} s`;
}

/** The series of a finding. */
export const where = ({ rank, device, metric }: Pick<SeriesAnalysis, "rank" | "device" | "metric">) => ({
  rank,
  device,
  metric,
});

/** Speed of the growth from the first steady sample on. Its product with the span would include the start-up. */
function rate(analysis: SeriesAnalysis): string {
  if (analysis.slope_bytes_per_step !== null)
    return `${formatSize(analysis.metric, analysis.slope_bytes_per_step)} per ${stepNoun(analysis)}`;
  return analysis.slope_bytes_per_s === null
    ? "an unknown amount"
    : `${formatSize(analysis.metric, analysis.slope_bytes_per_s)}/s`;
}

/** How many times as long a run is projected to whose growth slows down. */
const TIMES_AS_LONG = 10;

/** Growth that a logarithm describes better than a line: its projection is the logarithm's. */
function slowingFinding(entry: AnalysedSeries, slowdown: SlowGrowth, evidence: Finding["evidence"]): Finding {
  const { analysis, growthAtHorizon } = entry;
  const { steps, seconds } = slowdown;
  const size = (bytes: number): string => formatSize(analysis.metric, bytes);
  const observed = grownAfter(slowdown, 1);
  const longer = grownAfter(slowdown, TIMES_AS_LONG);
  const projected =
    growthAtHorizon === null
      ? `A run ${TIMES_AS_LONG} times as long would grow by ${size(longer)} in all.`
      : `At the stated horizon it has grown by ${size(growthAtHorizon)}.`;
  const atEnd = rateAtEnd(slowdown);
  const [during, rate] =
    steps !== null
      ? [plural(Math.round(steps), "step"), `, at the end by ${size(atEnd / steps)} per step`]
      : seconds !== null
        ? [`${seconds.toFixed(1)} s`, `, at the end by ${size(atEnd / seconds)}/s`]
        : [`${analysis.samples} samples`, ""];
  return {
    classification: "rising",
    severity: "warning",
    confidence: 0.8,
    ...where(analysis),
    evidence: { ...evidence, slows_down: true, growth_ten_times_as_long_bytes: Math.round(longer) },
    description: `${metricNoun(analysis.metric)} grows ever more slowly: by ${size(observed)} over ${during}${rate}. ${projected}`,
    remediation: REMEDIATION.rising,
  };
}

/** Leak, rising, and growth above the floor that is too uneven for either. */
export function growthFindings(all: readonly AnalysedSeries[], program: ProgramKind): Finding[] {
  // What is left behind has a finding with its names.
  const series = all.filter(({ analysis }) => !METRIC[analysis.metric].isLeftBehind);
  return series.flatMap((entry): Finding[] => {
    const { analysis, growthAtHorizon, significant, slowdown, material } = entry;
    const growth = analysis.growth_bytes ?? 0;
    const amount = `${formatSize(analysis.metric, growth)} over ${span(analysis)}`;
    const evidence = { ...growthEvidence(analysis), growth_at_horizon_bytes: growthAtHorizon };
    if (analysis.class === "leak") {
      return [
        {
          classification: "leak",
          severity: growth >= (METRIC[analysis.metric].failsFromBytes ?? 0) ? "critical" : "warning",
          confidence: 0.99,
          ...where(analysis),
          evidence,
          description: `${metricNoun(analysis.metric)} grows steadily, by ${rate(analysis)}, and does not level off.`,
          remediation: isCounted(analysis.metric) ? REMEDIATION.counted : [KEPT[program], ...REMEDIATION.leak],
        },
      ];
    }
    if (analysis.class === "rising" && slowdown !== null) return [slowingFinding(entry, slowdown, evidence)];
    if (analysis.class === "rising") {
      const { metric, highwater } = analysis;
      return [
        {
          classification: "rising",
          severity: "warning",
          confidence: 0.8,
          ...where(analysis),
          evidence,
          description: `${metricNoun(metric)} rises (${amount})${highwater ? ", as a leak and a cache do" : ", but not as steadily as a leak"}.`,
          remediation: highwater ? REMEDIATION.highwater : REMEDIATION.rising,
        },
      ];
    }
    const low = analysis.slope_interval?.[0] ?? 0;
    const bounded = analysis.class === "step" || analysis.class === "plateau";
    if (!significant || !material || !(low > 0) || bounded) return [];
    return [
      {
        classification: "slow_growth",
        severity: "info",
        confidence: 0.9,
        ...where(analysis),
        evidence,
        description: `${metricNoun(analysis.metric)} grows (${amount}${growthAtHorizon === null ? "" : `, at this rate by ${formatSize(analysis.metric, growthAtHorizon)} at the stated horizon`}), but too unevenly for a leak.`,
        remediation: REMEDIATION.rising,
      },
    ];
  });
}

/** One finding per rank and device: the highest of used, reserved and allocated against the capacity. */
export function pressureFindings(all: readonly AnalysedSeries[]): Finding[] {
  const fullest = new Map<string, { series: SeriesAnalysis; share: number; total: number }>();
  for (const { analysis, totalBytes } of all) {
    if (analysis.device === "host" || totalBytes === null || !(totalBytes > 0) || analysis.peak_bytes === null)
      continue;
    const key = locationKey(analysis);
    const share = analysis.peak_bytes / totalBytes;
    const known = fullest.get(key);
    if (!known || share > known.share) fullest.set(key, { series: analysis, share, total: totalBytes });
  }
  return [...fullest.values()].flatMap(({ series, share, total }): Finding[] => {
    if (share < PRESSURE.warning) return [];
    return [
      {
        classification: "pressure",
        severity: share >= PRESSURE.critical ? "critical" : "warning",
        confidence: 1,
        ...where(series),
        evidence: { peak_bytes: series.peak_bytes, device_total_bytes: total, share: Number(share.toFixed(4)) },
        description: `Peak ${metricNoun(series.metric)} fills ${(share * 100).toFixed(1)} % of the device.`,
        remediation: REMEDIATION.pressure,
      },
    ];
  });
}

/** The highest peak of each rank. */
function highestPerRank(peaks: readonly HighestOfJob[]): HighestOfJob[] {
  const perRank = new Map<number, HighestOfJob>();
  for (const peak of peaks) if (!(peak.bytes <= (perRank.get(peak.rank)?.bytes ?? -1))) perRank.set(peak.rank, peak);
  return [...perRank.values()];
}

const peaksOf = (all: readonly AnalysedSeries[], metric: "allocated" | "used"): HighestOfJob[] =>
  all.flatMap(({ analysis: { rank, device, metric: own, peak_bytes: bytes }, totalBytes }) =>
    own === metric && device !== "host" && bytes !== null ? [{ rank, device, bytes, totalBytes }] : [],
  );

/**
 * A rank that needs clearly more than the median rank: by its peak allocated memory, else by the memory that drivers
 * report for it, else by the used memory of its devices.
 */
export function rankSkewFindings(all: readonly AnalysedSeries[], jobPeaks: readonly HighestOfJob[] = []): Finding[] {
  const sources = [
    { metric: "allocated", source: "allocated", peaks: peaksOf(all, "allocated") },
    { metric: "used", source: "job", peaks: jobPeaks },
    { metric: "used", source: "used", peaks: peaksOf(all, "used") },
  ] as const;
  for (const { metric, source, peaks } of sources) {
    const perRank = highestPerRank(peaks);
    if (perRank.length < 2) continue;
    const worst = perRank.reduce((a, b) => (b.bytes > a.bytes ? b : a));
    const middle = median(perRank.map(({ bytes }) => bytes));
    const skew = middle > 0 ? (worst.bytes - middle) / middle : 0;
    const pressure = worst.totalBytes ? worst.bytes / worst.totalBytes : null;
    if (skew < SKEW.excess || pressure === null || pressure < SKEW.pressure) return [];
    return [
      {
        classification: "rank_skew",
        severity: "warning",
        confidence: 1,
        rank: worst.rank,
        device: worst.device,
        metric,
        evidence: {
          peak_bytes: worst.bytes,
          median_peak_bytes: middle,
          skew: Number(skew.toFixed(4)),
          pressure: Number(pressure.toFixed(4)),
          ...(source === "job" ? { told_by: "the driver's account of each process" } : {}),
        },
        description: `Rank ${worst.rank} peaks ${(skew * 100).toFixed(0)} % above the median rank.`,
        remediation: REMEDIATION.rank_skew,
      },
    ];
  }
  return [];
}
