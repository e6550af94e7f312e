import { METRIC } from "../telemetry/recording/metrics.ts";
import type { Recording } from "../telemetry/recording/model.ts";
import { type AnalysisOptions, extractFeatures, type RecordingFeatures } from "./features.ts";
import { slackFindings } from "./findings/capacity.ts";
import { dataFindings } from "./findings/data-findings.ts";
import { withoutUnknownTenants } from "./findings/device-tenants.ts";
import { growthFindings, type ProgramKind, pressureFindings, rankSkewFindings } from "./findings/findings.ts";
import { hiddenGapFindings } from "./findings/gap-findings.ts";
import { rankSuspects, suspectFindings } from "./findings/growth-suspects.ts";
import { combineEvidence } from "./ranks.ts";
import { ANALYSIS_VERSION, type AnalysisDocument, type Finding, type PhaseAnalysis } from "./series/document.ts";
import { compareKeys } from "./series/series.ts";
import { serviceAnalysis } from "./service/service-analysis.ts";
import { diagnoseEvidence } from "./step-peaks.ts";
import type { FragmentationRule } from "./stormlog/gap.ts";

/** Peak, growth, class and detectable minimum of each series, and findings. The same for any order of the tables. */
export function analyze(recording: Recording, options: Partial<AnalysisOptions> = {}): AnalysisDocument {
  const resolved = { horizon: null, phases: [], ...options };
  const features = combineFeatures([extractFeatures(recording, resolved)], resolved);
  const document = { ...features, ...serviceAnalysis(recording, features) };
  // Without a started command, the samples are of the launcher.
  return recording.info?.exit.kind === "not-started" ? { ...document, findings: [] } : document;
}

/** The releases of Stormlog whose rules were applied; nothing without samples for them. */
function rulesOf(fragmentation: readonly FragmentationRule[]): Pick<AnalysisDocument, "rules"> {
  const releases = [...new Set(fragmentation)].sort();
  return releases.length === 0 ? {} : { rules: { fragmentation_like: releases } };
}

/** The kind of program that a job is taken for comes first. */
const PROGRAMS: readonly ProgramKind[] = ["framework", "python", "other"];

/** Findings of several recordings in the order of their ranks. Those of one keep their order. */
const byRank = (parts: readonly (readonly Finding[])[]): readonly Finding[] =>
  parts.length === 1 ? (parts[0] ?? []) : parts.flat().sort((a, b) => compareKeys(keyOf(a), keyOf(b)));

const judgedPhases = (phases: readonly PhaseAnalysis[]): readonly PhaseAnalysis[] =>
  [...phases].sort((a, b) => compareKeys(a, b) || (a.phase < b.phase ? -1 : 1));

const keyOf = ({ rank, device, metric }: Finding) => ({ rank: rank ?? -1, device: device ?? "", metric });

/**
 * The document of all ranks together, from the features of each recording of the same job. The order of the recordings
 * does not change a byte of it. Every rank and device must be in one of them only.
 */
export function combineFeatures(parts: readonly RecordingFeatures[], options: AnalysisOptions): AnalysisDocument {
  const measured = parts
    .flatMap(({ series, shapes }) =>
      series.flatMap((entry, i) => {
        const shape = shapes[i];
        return shape === undefined ? [] : [{ entry, shape }];
      }),
    )
    .sort((a, b) => compareKeys(a.shape, b.shape));
  // Metrics that count on request repeat what other metrics contain, so they cause no findings.
  const usual = measured.filter(({ shape }) => !METRIC[shape.metric].isOnRequest);
  const series = usual.map(({ entry }) => entry);
  const all = <T>(pick: (part: RecordingFeatures) => readonly T[]): T[] => parts.flatMap(pick);
  const gaps = all((part) => part.gaps).sort((a, b) => compareKeys(a.analysis, b.analysis));
  const own = withoutUnknownTenants(
    series,
    all((part) => part.devices),
  );
  const ranks = combineEvidence(parts.map(({ ranks }) => ranks));
  const suspects = rankSuspects(
    ranks,
    all((part) => part.curves),
  );
  const findings: Finding[] = [
    ...byRank(parts.map(({ oom }) => oom)),
    ...byRank(parts.map(({ health }) => health)),
    ...growthFindings(own, PROGRAMS.find((kind) => parts.some(({ program }) => program === kind)) ?? "framework"),
    ...byRank(parts.map(({ phases }) => phases)),
    ...hiddenGapFindings(gaps, series),
    ...byRank(parts.map((part) => part.gapFindings)),
    ...pressureFindings(own),
    ...rankSkewFindings(
      own,
      all((part) => part.jobPeaks),
    ),
    ...suspectFindings(suspects),
    ...slackFindings(series),
    ...dataFindings(
      usual.map(({ shape }) => shape),
      series,
      options.horizon,
    ),
  ];
  const missing: Record<string, number> = {};
  for (const part of parts) {
    for (const [column, count] of Object.entries(part.missing)) missing[column] = (missing[column] ?? 0) + count;
  }
  const processes = all((part) => part.processes).sort((a, b) => a.rank - b.rank);
  const heaps = all((part) => part.heaps).sort(compareKeys);
  return {
    schema: "stormlog.analysis/1",
    analysis_version: ANALYSIS_VERSION,
    series: measured.map(({ entry }) => entry.analysis),
    findings,
    diagnosis: diagnoseEvidence(parts.map(({ stepPeaks }) => stepPeaks)),
    ranks: { ...ranks, suspects },
    ...rulesOf(all((part) => part.fragmentationRules)),
    ...(options.phases.length === 0 ? {} : { phases: judgedPhases(all((part) => part.judgedPhases)) }),
    ...(processes.length === 0 ? {} : { processes }),
    ...(heaps.length === 0 ? {} : { heaps }),
    missing: Object.fromEntries(Object.entries(missing).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))),
  };
}
