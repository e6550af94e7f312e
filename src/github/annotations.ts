import type { GateReport, ScenarioReport } from "../report/model.ts";

/** GitHub keeps 10 errors and 10 warnings of a step and cuts a message at 4,096 characters. */
const MAX_PER_LEVEL = 10;
const MAX_MESSAGE = 4000;

export interface Annotation {
  readonly level: "error" | "warning";
  readonly title: string;
  readonly message: string;
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
    all.push({ level: "warning", title: `${name}: ${finding.classification}`, message: finding.description });
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
    message: annotation.message.slice(0, MAX_MESSAGE),
  }));
}
