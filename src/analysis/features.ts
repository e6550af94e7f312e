import { groupBy } from "../core/group-by.ts";
import type { Horizon } from "../core/units.ts";
import { isCounted, METRIC } from "../telemetry/recording/metrics.ts";
import type { CutSeries, Recording } from "../telemetry/recording/model.ts";
import { shapeOf } from "./findings/data-findings.ts";
import { type DeviceEvidence, deviceEvidence, jobPeaks, locationKey } from "./findings/device-evidence.ts";
import { tenantFindings } from "./findings/device-tenants.ts";
import type { ProgramKind } from "./findings/findings.ts";
import { type MeasuredGap, measuredGaps } from "./findings/gap-series.ts";
import { gapSamples } from "./findings/gap-source.ts";
import { rankCurves } from "./findings/growth-suspects.ts";
import { healthFindings } from "./findings/health-findings.ts";
import { leftBehindFindings } from "./findings/left-behind.ts";
import { oomFindings } from "./findings/oom-findings.ts";
import { analysePhases, phaseGrowthFindings } from "./findings/phase-growth.ts";
import { unreadDeviceFindings } from "./findings/unread-devices.ts";
import { familyHeaps } from "./growth/family-heaps.ts";
import { processGrowth } from "./growth/process-growth.ts";
import { type AnalysedSeries, analyseSeries, type SeriesContext, seriesKey } from "./growth/series-analysis.ts";
import { type RanksEvidence, ranksEvidence } from "./ranks.ts";
import type { PhaseAnalysis } from "./series/document.ts";
import type { StoredFeatures } from "./series/features-schema.ts";
import { collectSeries, compareKeys, type MetricSeries } from "./series/series.ts";
import { stepPeakEvidence } from "./step-peaks.ts";
import { fragmentationRule, gapFindings } from "./stormlog/gap.ts";

/** {@link StoredFeatures}, with what only the recording of a judged run, or telemetry of Stormlog, has. */
export interface RecordingFeatures extends Omit<StoredFeatures, "judgedPhases" | "ranks"> {
  readonly judgedPhases: readonly PhaseAnalysis[];
  readonly ranks: RanksEvidence;
}

export interface AnalysisOptions {
  /** Production length at which growth is judged; null = the observed length. */
  readonly horizon: Horizon | null;
  /** Phases whose series the document has, for a policy that judges them. */
  readonly phases: readonly string[];
}

/** Limits for the parts that grow with the length of a recording; absent = no limit. */
export interface FeatureLimits {
  readonly intervals: number;
  readonly steps: number;
}

export function extractFeatures(
  recording: Recording,
  { horizon, phases: judged }: AnalysisOptions,
  limits?: FeatureLimits,
): RecordingFeatures {
  const service = recording.info?.service;
  const context: SeriesContext = { peaks: groupBy(recording.peaks, seriesKey), horizon, service };
  const devices = deviceEvidence(recording);
  const recorded = collectSeries(recording);
  const outside = measuredGaps(recording, recorded, devices);
  const collected = [...recorded, ...outsideAllocator(outside, devices)].sort(compareKeys);
  const agreed = agreeingSources(collected.map((one) => analyseSeries(one, context)));
  const series = markCut(agreed, recording.cut ?? []);
  const measured = collected.flatMap((one, i) => {
    const entry = series[i];
    const isLeft = METRIC[one.metric].isOnRequest || isCounted(one.metric);
    return entry === undefined || isLeft ? [] : [{ series: one, analysis: entry.analysis }];
  });
  const gaps = gapSamples(recording, devices);
  const processes = processGrowth(recording, recorded);
  return {
    series,
    shapes: collected.map(shapeOf),
    gaps: outside.map(({ series: gap, shares, lateBytes }) => ({
      ...analyseSeries(gap, { ...context, peaks: new Map() }),
      shares,
      lateBytes,
    })),
    oom: oomFindings(recording),
    health: [
      ...healthFindings(recording),
      ...tenantFindings(devices),
      ...unreadDeviceFindings(recording),
      ...leftBehindFindings(recording),
    ],
    phases: phaseGrowthFindings(recording),
    judgedPhases: analysePhases(recording, judged),
    devices,
    jobPeaks: jobPeaks(recording),
    gapFindings: gaps.flatMap(gapFindings),
    fragmentationRules: [...new Set(gaps.map(fragmentationRule))],
    curves: rankCurves(measured, recording.epochNs ?? 0n),
    stepPeaks: stepPeakEvidence(recording, limits?.steps),
    ranks: ranksEvidence(recording, limits?.intervals),
    program: programKind(recording),
    missing: recording.missing,
    processes,
    heaps: processes.length === 0 ? [] : familyHeaps(recording.tables),
  };
}

/** The gaps of devices that were measured here: a policy judges no other telemetry. */
function outsideAllocator(gaps: readonly MeasuredGap[], devices: readonly DeviceEvidence[]): readonly MetricSeries[] {
  return devices.length === 0 ? [] : gaps.map(({ series }) => ({ ...series, metric: "outside_allocator" }));
}

function programKind({ info }: Recording): ProgramKind {
  const processes = info?.probe?.processes;
  if (processes === undefined || processes.some(({ framework }) => framework !== null)) return "framework";
  return processes.some(({ python }) => python !== null) ? "python" : "other";
}

/** Reserved or device-used memory that rises while the allocator's own level leaks is the same leak. */
function agreeingSources(all: readonly AnalysedSeries[]): AnalysedSeries[] {
  const leaking = new Set(
    all.flatMap(({ analysis: a }) => (a.metric === "allocated" && a.class === "leak" ? [locationKey(a)] : [])),
  );
  return all.map((entry) => {
    const { analysis } = entry;
    const agrees = analysis.highwater && analysis.class === "rising" && leaking.has(locationKey(analysis));
    return agrees ? { ...entry, analysis: { ...analysis, class: "leak" as const } } : entry;
  });
}

function markCut(all: readonly AnalysedSeries[], cut: readonly CutSeries[]): readonly AnalysedSeries[] {
  if (cut.length === 0) return all;
  const short = new Set(cut.map(seriesKey));
  return all.map((entry) =>
    short.has(seriesKey(entry.analysis)) ? { ...entry, analysis: { ...entry.analysis, cut: true } } : entry,
  );
}
