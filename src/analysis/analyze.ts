import type { Recording } from "../telemetry/model.ts";
import { slackFindings } from "./capacity.ts";
import type { AnalysisDocument, Finding } from "./document.ts";
import { growthFindings, hiddenGapFindings, oomFindings, pressureFindings, rankSkewFindings } from "./findings.ts";
import { gapSamples } from "./gap-source.ts";
import { type AnalysisOptions, resolveOptions } from "./options.ts";
import { analyseRanks } from "./ranks.ts";
import { collectSeries, type MetricSeries } from "./series.ts";
import { type AnalysedSeries, analyseSeries, type SeriesContext } from "./series-analysis.ts";
import { diagnoseRecording } from "./step-peaks.ts";
import { attributeCollectives, type CollectiveAttribution } from "./stormlog/collective.ts";
import { gapFindings } from "./stormlog/gap.ts";

/**
 * Everything one recording says: peak, growth, class and detectable minimum of each series, and what is worth a word
 * beyond them. Pure and deterministic: the same recording gives the same bytes, whatever the order of its tables.
 */
export function analyze(recording: Recording, options: AnalysisOptions = {}): AnalysisDocument {
  const { horizon, gapThresholds, deviceCapacityBytes } = resolveOptions(options);
  const context: SeriesContext = { peaks: recording.peaks, horizon, deviceCapacityBytes };
  const collected = collectSeries(recording);
  const series = agreeingSources(collected.map((one) => analyseSeries(one, context)));
  const gaps = collected.flatMap((one) => {
    const gap = hiddenGapSeries(one, collected);
    return gap ? [analyseSeries(gap, { ...context, peaks: [] })] : [];
  });
  const findings: Finding[] = [
    ...oomFindings(recording),
    ...growthFindings(series),
    ...hiddenGapFindings(gaps, series),
    ...gapSamples(recording).flatMap((samples) => gapFindings(samples, gapThresholds)),
    ...collectiveFindings(attributeCollectives(recording.events ?? [])),
    ...pressureFindings(series),
    ...rankSkewFindings(series),
    ...slackFindings(series),
  ];
  return {
    schema: "stormlog.analysis/1",
    series: series.map(({ analysis }) => analysis),
    findings,
    diagnosis: diagnoseRecording(recording, deviceCapacityBytes),
    ranks: analyseRanks(recording),
    missing: Object.fromEntries(Object.entries(recording.missing).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))),
  };
}

/** Reserved or device-used memory that rises while the allocator's own level leaks is the same leak, seen from outside. */
function agreeingSources(all: readonly AnalysedSeries[]): AnalysedSeries[] {
  const leaking = new Set(
    all.flatMap(({ analysis: a }) => (a.metric === "allocated" && a.class === "leak" ? [`${a.rank} ${a.device}`] : [])),
  );
  return all.map((entry) => {
    const { analysis } = entry;
    const agrees =
      analysis.highwater && analysis.class === "rising" && leaking.has(`${analysis.rank} ${analysis.device}`);
    return agrees ? { ...entry, analysis: { ...analysis, class: "leak" as const } } : entry;
  });
}

/** Used minus reserved of one rank and device, where both were sampled together: unlike each of the two, it can fall. */
function hiddenGapSeries(used: MetricSeries, collected: readonly MetricSeries[]): MetricSeries | null {
  if (used.metric !== "used" || used.device === "host") return null;
  const reserved = collected.find(
    (other) => other.metric === "reserved" && other.rank === used.rank && other.device === used.device,
  );
  if (!reserved) return null;
  const bytes = new Float64Array(used.bytes.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = used.bytes[i]! - reserved.bytes[i]!;
  return { ...used, highwater: false, bytes };
}

function collectiveFindings(attributions: readonly CollectiveAttribution[]): Finding[] {
  return attributions.map((attribution) => ({
    classification: attribution.classification,
    severity: "info",
    confidence: attribution.confidence,
    rank: attribution.rank,
    device: null,
    metric: "used",
    evidence: {
      ...attribution.evidence,
      interval_start_ns: String(attribution.startNs),
      interval_end_ns: String(attribution.endNs),
      reason_codes: attribution.reasonCodes.join(","),
    },
    description: `A spike outside the allocator on rank ${attribution.rank} coincides with communication.`,
    remediation: ["Treat it as a buffer of the collective library unless it grows from one operation to the next."],
  }));
}
