import { escapeTerminal } from "../../core/escape.ts";
import type { GateReport, ScenarioReport } from "../../report/documents/model.ts";
import { LEAK_LINE, type SourceLocation, sourceLocationOf } from "../../report/source-line.ts";

/** GitHub keeps 10 errors and 10 warnings of a step and cuts a message at 4,096 characters. */
const MAX_PER_LEVEL = 10;
const MAX_MESSAGE = 4000;
const MAX_TITLE = 255;

export interface Annotation {
  readonly level: "error" | "warning";
  readonly title: string;
  readonly message: string;
  /** Where it is shown beside the code; absent = beside the run only. */
  readonly place?: SourceLocation;
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

function ofScenario(scenario: ScenarioReport): readonly Annotation[] {
  const name = scenario.scenario;
  const all: Annotation[] = [];
  if (scenario.error !== null) {
    const { code, message, hint } = scenario.error;
    all.push({
      level: "error",
      title: `${name}: ${code}`,
      message: hint === null ? message : `${sentence(message)} ${hint}`,
    });
  }
  for (const check of scenario.judgement?.checks ?? []) {
    const where = `rank ${check.rank}, ${check.device}, ${check.metric}`;
    if (check.verdict === "fail") {
      all.push({
        level: "error",
        title: `${name}: ${check.aspect} of ${check.metric}`,
        message: `${check.reason} (${where})`,
      });
    } else if (check.verdict === "warn") {
      all.push({
        level: "warning",
        title: `${name}: ${check.aspect} of ${check.metric}`,
        message: `${check.reason} (${where})`,
      });
    }
  }
  if (scenario.word === "unjudged") {
    const reason = scenario.judgement?.reason ?? "there is nothing comparable";
    all.push({ level: "warning", title: `${name}: unjudged`, message: reason });
  }
  for (const finding of scenario.findings) {
    if (finding.severity === "info") continue;
    const place = sourceLocationOf(finding);
    const hint = finding.remediation[0] === undefined ? "" : ` ${finding.remediation[0]}`;
    all.push({
      // A line that leaks in a failing scenario is what has to be mended: it is shown as the error it is.
      level: finding.classification === LEAK_LINE && scenario.word === "fail" ? "error" : "warning",
      title: `${name}: ${finding.classification.replaceAll("_", " ")}`,
      message: place === null ? finding.description : `${sentence(finding.description)}${hint}`,
      ...(place === null ? {} : { place }),
    });
  }
  return all;
}

function bounded(all: readonly Annotation[], level: Annotation["level"]): readonly Annotation[] {
  const chosen = all.filter((annotation) => annotation.level === level);
  if (chosen.length <= MAX_PER_LEVEL) return chosen;
  const rest = chosen.length - (MAX_PER_LEVEL - 1);
  const more = { level, title: "Stormlog Gate", message: `${rest} more are in the job summary and the bundle.` };
  return [...chosen.slice(0, MAX_PER_LEVEL - 1), more];
}

/** What of the report is shown beside the run: failures as errors, the rest as warnings, as many as GitHub keeps. */
export function annotationsOf(report: GateReport): readonly Annotation[] {
  const all = [
    ...report.scenarios.flatMap(ofScenario),
    ...report.warnings.map((message): Annotation => ({ level: "warning", title: "Stormlog Gate", message })),
  ];
  return [...bounded(all, "error"), ...bounded(all, "warning")].map((annotation) => ({
    ...annotation,
    // They are lines of a log as well.
    title: escapeTerminal(annotation.title).slice(0, MAX_TITLE),
    message: escapeTerminal(annotation.message).slice(0, MAX_MESSAGE),
  }));
}
