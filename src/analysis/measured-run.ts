import { locationKey } from "./findings/device-evidence.ts";
import { unreliableDevices } from "./findings/device-tenants.ts";
import { OOM, OOM_SUSPECTED } from "./findings/oom-findings.ts";
import type { MeasuredRun, MeasuredSeries } from "./measurements.ts";
import type { AnalysisDocument, PhaseAnalysis, SeriesAnalysis } from "./series/document.ts";

/** Used memory that other processes changed is not judged. */
const NO_EVIDENCE = {
  peak_bytes: null,
  growth_bytes: null,
  slope_bytes_per_step: null,
  slope_bytes_per_s: null,
  class: "unavailable",
} as const;

const evidenceOf = (series: SeriesAnalysis) => ({
  rank: series.rank,
  device: series.device,
  metric: series.metric,
  peak_bytes: series.peak_bytes,
  growth_bytes: series.growth_bytes,
  slope_bytes_per_step: series.slope_bytes_per_step,
  slope_bytes_per_s: series.slope_bytes_per_s,
  class: series.class,
});

const phaseEvidence = ({ occurrences: _, ...phase }: PhaseAnalysis): MeasuredSeries => phase;

/** The fields of an analysis that are judged and stored. */
export function measuredRun(
  document: AnalysisDocument,
  origin: { readonly session: string; readonly commit: string | null },
): MeasuredRun {
  const found = (name: string) => document.findings.some(({ classification }) => classification === name);
  const unreliable = unreliableDevices(document.findings);
  const steps = document.series.reduce((most, series) => Math.max(most, series.steps ?? 0), 0);
  return {
    session: origin.session,
    commit: origin.commit,
    ...(document.analysis_version === undefined ? {} : { analysis_version: document.analysis_version }),
    series: [
      ...document.series.map((series) => ({
        ...evidenceOf(series),
        ...(series.metric === "used" && unreliable.has(locationKey(series)) ? NO_EVIDENCE : {}),
        ...(series.cut === true ? { cut: true } : {}),
      })),
      ...(document.phases ?? []).map(phaseEvidence),
    ],
    ...(document.heaps === undefined ? {} : { heaps: document.heaps.map(evidenceOf) }),
    ...(steps > 0 ? { steps } : {}),
    ...(found(OOM) ? { oom: true } : {}),
    ...(found(OOM_SUSPECTED) ? { oom_suspected: true } : {}),
  };
}
