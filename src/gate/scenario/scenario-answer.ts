import type { AnalysisDocument } from "../../analysis/series/document.ts";
import type { Band } from "../../baseline/band.ts";
import { decidingCheck, withExplanations } from "../../report/headline/causes.ts";
import { stackedRows } from "../../report/headline/peak-answer.ts";
import { answerSentence } from "../../report/headline/sentence.ts";
import { decisiveRun } from "../../report/model/decisive-run.ts";
import type { RunReport, ScenarioReport, Timeline } from "../../report/model/gate-report.ts";
import type { Recording } from "../../telemetry/recording/model.ts";
import type { Policy } from "../../verdict/model/policy.ts";
import { buildTimeline } from "./timeline.ts";

/** Index of the run that the report shows: that of the deciding check, else the last that was measured. */
export function shownRun({ runs, judgement }: Pick<ScenarioReport, "runs" | "judgement">, candidates: number): number {
  const check = decidingCheck(judgement?.checks ?? []);
  const decisive = check === null ? null : decisiveRun(runs, check);
  if (decisive !== null) return runs.indexOf(decisive.run);
  // Without a started command, the samples are of the launcher.
  const started = ({ info, analysis }: RunReport): boolean => info.exit.kind !== "not-started" && analysis !== null;
  const last = runs.slice(0, candidates).findLastIndex(started);
  // A complete run shows more than one that was cut.
  return last >= 0 ? last : runs.findLastIndex(started);
}

interface Shown {
  readonly analysis: AnalysisDocument | null;
  /** Of the shown run; null when it could not be read. */
  readonly recording: Recording | null;
  readonly policy: Policy;
  readonly envelopes: readonly Band[];
  /** Which of the candidate's runs it is; absent when it is none of them. */
  readonly run: Timeline["run"];
}

/** The report with its picture under the answer's sentence, and what each finding and check is explained by. */
export function withAnswer(
  report: ScenarioReport,
  { recording, analysis, policy, envelopes, run }: Shown,
): ScenarioReport {
  const explained = withExplanations(report);
  const timeline =
    recording === null
      ? null
      : buildTimeline({
          scenario: report.scenario,
          verdict: report.verdict,
          subtitle: answerSentence(report),
          recording,
          analysis,
          judgement: report.judgement,
          policy,
          envelopes,
          findings: report.findings,
        });
  if (timeline === null) return { ...explained, timeline };
  const { peak } = report;
  const bars =
    peak === undefined
      ? {}
      : { peak: { rows: stackedRows(peak), bytes: peak.bytes, compared_bytes: peak.compared_bytes } };
  return { ...explained, timeline: { ...timeline, ...bars, ...(run === undefined ? {} : { run }) } };
}
