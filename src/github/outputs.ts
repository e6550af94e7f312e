import { type SeriesAnalysis, withCounts } from "../analysis/series/document.ts";
import { type GateReport, type ScenarioReport, verdictUrgency } from "../report/model/gate-report.ts";
import type { Check } from "../verdict/model/judgement.ts";
import { checkDocument } from "../verdict/model/judgement-document.ts";
import { sameSeries } from "../verdict/model/series-index.ts";

/** Every output of `action.yml` by name. Unknown is an empty text, never 0. */
export type Outputs = Readonly<ReturnType<typeof outputsOf>>;

/** What publishing adds to the report's own outputs. */
export interface Published {
  readonly bundlePath: string;
  readonly reportPath: string;
  readonly artifactId: number | null;
  readonly artifactUrl: string | null;
  readonly timelineUrl: string | null;
  readonly commentUrl: string | null;
}

/** What of a step that publishes nothing is known. */
export const NOT_PUBLISHED: Published = {
  bundlePath: "",
  reportPath: "",
  artifactId: null,
  artifactUrl: null,
  timelineUrl: null,
  commentUrl: null,
};

/** How far over (or near) its limit a check is; unknown limits come last. */
function load(check: Check): number {
  if (check.candidate_bytes === null || check.threshold_bytes === null || check.threshold_bytes <= 0) return 0;
  return check.candidate_bytes / check.threshold_bytes;
}

function seriesOf(scenario: ScenarioReport): readonly SeriesAnalysis[] {
  return scenario.runs.filter(({ role }) => role === "candidate").flatMap(({ analysis }) => analysis?.series ?? []);
}

/** The series the scalar outputs speak of: that of the worst gating check, else the first that has a peak. */
export function worstGatingSeries(report: Pick<GateReport, "scenarios">): SeriesAnalysis | null {
  const gating = report.scenarios
    .flatMap((scenario) => (scenario.judgement?.checks ?? []).map((check) => ({ scenario, check })))
    .filter(({ check }) => check.gating)
    .sort((a, b) => verdictUrgency(a.check.verdict) - verdictUrgency(b.check.verdict) || load(b.check) - load(a.check));
  for (const { scenario, check } of gating) {
    const series = seriesOf(scenario).find((one) => sameSeries(one, { ...check, phase: undefined }));
    if (series !== undefined) return series;
  }
  const all = report.scenarios.flatMap(seriesOf).filter(({ peak_bytes }) => peak_bytes !== null);
  return all.find(({ metric }) => metric === "allocated") ?? all[0] ?? null;
}

function numberText(value: number | null | undefined): string {
  return value === null || value === undefined || !Number.isFinite(value) ? "" : String(value);
}

function resultsOf(report: Pick<GateReport, "scenarios">): string {
  const results = report.scenarios.map(({ scenario, verdict, error, judgement }) => ({
    scenario,
    verdict,
    confirmed: judgement?.confirmed ?? false,
    error: error === null ? null : { code: error.code, message: error.message },
    checks: (judgement?.checks ?? []).map(checkDocument),
  }));
  const text = JSON.stringify(results);
  // An output may have 1 MiB; `results` keeps well below it and is marked when it was cut.
  if (text.length <= 400_000) return text;
  return JSON.stringify(results.map((result) => ({ ...result, checks: [], truncated: true })));
}

/** The outputs of a gate with a report. */
export function outputsOf(
  report: Pick<GateReport, "verdict" | "exit_code" | "confirmed" | "scenarios">,
  published: Published = NOT_PUBLISHED,
) {
  const worst = worstGatingSeries(report);
  // A number of descriptors or threads has no bytes.
  const sizes = worst === null || withCounts(worst).peak_count !== undefined ? null : worst;
  return {
    verdict: report.verdict,
    "exit-code": String(report.exit_code),
    confirmed: String(report.confirmed),
    results: resultsOf(report),
    class: worst?.class ?? "",
    "peak-bytes": numberText(sizes?.peak_bytes),
    "slope-bytes-per-step": numberText(sizes?.slope_bytes_per_step),
    "slope-bytes-per-s": numberText(sizes?.slope_bytes_per_s),
    "bundle-path": published.bundlePath,
    "report-path": published.reportPath,
    "artifact-id": numberText(published.artifactId),
    "artifact-url": published.artifactUrl ?? "",
    "timeline-url": published.timelineUrl ?? "",
    "comment-url": published.commentUrl ?? "",
  };
}

/** The outputs of a gate that could not do its work at all. */
export function errorOutputs(exitCode: number, published: Published): Outputs {
  return outputsOf({ verdict: "error", exit_code: exitCode, confirmed: false, scenarios: [] }, published);
}
