import { escapeTerminal } from "../../core/escape.ts";
import { cutText } from "../../core/text.ts";
import { type Cause, causesOf } from "../../report/headline/causes.ts";
import { leakLine, lineNote, namedLine } from "../../report/headline/line-answer.ts";
import { answerSentence } from "../../report/headline/sentence.ts";
import type { GateReport, ScenarioReport } from "../../report/model/gate-report.ts";
import type { Scaling } from "../../report/model/report-schema.ts";
import { scalingBreach } from "../../report/wording/scaling-text.ts";
import { type SourceLocation, sourceLocationOf } from "../../report/wording/source-line.ts";
import { capital, checkName } from "../../report/wording/wording.ts";

/** GitHub keeps 10 errors and 10 warnings of a step and cuts a message at 4,096 characters. */
const MAX_PER_LEVEL = 10;

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

/** Notes on the runs of a scenario that explain its verdict: why it is not confirmed, or what its budget lacks. */
const EXPLAINING =
  /(?:so the breach stays unconfirmed|so a breach stays unconfirmed|runs were made|inside the noise .*)$/;

function explanations({ scenario }: ScenarioReport, notes: readonly string[]): readonly string[] {
  const own = notes.filter((note) => note.startsWith(`${scenario}: `)).map((note) => note.slice(scenario.length + 2));
  return [...new Set(own)].filter((note) => EXPLAINING.test(note));
}

/** The annotations of a scenario, the first of them with the notes that explain its verdict. */
function explained(scenario: ScenarioReport, notes: readonly string[]): readonly Annotation[] {
  const [first, ...others] = ofScenario(scenario);
  if (first === undefined) return [];
  const added = explanations(scenario, notes).map((note) => ` ${sentence(capital(note))}`);
  return [{ ...first, message: `${first.message}${added.join("")}` }, ...others];
}

/** One annotation for each cause of a failure, on its line where that is known; one for what could not be judged. */
function ofScenario(scenario: ScenarioReport): readonly Annotation[] {
  const { scenario: name, verdict, error, judgement } = scenario;
  const all: Annotation[] = [];
  if (error !== null) {
    const { code, message, hint } = error;
    all.push({
      level: "error",
      title: `${name}: ${code}`,
      message: hint === null ? message : `${sentence(message)} ${hint}`,
    });
  }
  const causes = causesOf(judgement?.checks ?? []).filter(({ decisive }) => decisive.verdict === verdict);
  all.push(...causes.map((cause, index) => ofCause(scenario, cause, index === 0)));
  if (verdict === "unjudged" && error === null) {
    all.push({ level: "warning", title: `${name}: unjudged`, message: sentence(answerSentence(scenario)) });
  }
  return all;
}

/** The annotation of a limit on how a peak grows that is breached or not judged. */
function ofScaling(scaling: Scaling): readonly Annotation[] {
  const breach = scalingBreach(scaling);
  if (breach === null) return [];
  const level = scaling.verdict === "fail" ? "error" : "warning";
  return [{ level, title: `${scaling.scenario} over ${scaling.name}`, message: sentence(breach) }];
}

/** Where the memory was requested that a run lacked; null where that line's text could not be read. */
function requestPlace({ findings }: ScenarioReport): SourceLocation | null {
  const request = findings.find(({ classification, evidence }) => classification === "oom" && evidence.code);
  return request === undefined ? null : sourceLocationOf(request);
}

/** The cause of a failure as an error, that of a warning as a warning. Only the first cause has a line. */
function ofCause(scenario: ScenarioReport, { kind, decisive }: Cause, first: boolean): Annotation {
  const level = decisive.verdict === "fail" ? "error" : "warning";
  const title = `${scenario.scenario}: memory ${kind === "oom" ? "ran out" : kind}`;
  const ofPeak = kind === "peak" || kind === "budget";
  const line = first ? (ofPeak ? namedLine : leakLine)(scenario.findings) : null;
  const request = kind === "oom" && line === null ? requestPlace(scenario) : null;
  // A line whose text was read is in a file that exists.
  const place = line === null || line.code === null ? request : line.source;
  const checks = scenario.judgement?.checks ?? [];
  if (!first) return { level, title, message: sentence(`${checkName(decisive, checks)}: ${decisive.reason}`) };
  const held = line === null ? "" : ` ${sentence(`${line.location}: ${lineNote(line)}`)}`;
  const fix = line?.fix == null ? "" : ` ${line.fix}`;
  const message = `${sentence(answerSentence(scenario))}${held}${fix}`;
  return { level, title, message, ...(place === null ? {} : { place }) };
}

function bounded(all: readonly Annotation[], level: Annotation["level"]): readonly Annotation[] {
  const chosen = all.filter((annotation) => annotation.level === level);
  if (chosen.length <= MAX_PER_LEVEL) return chosen;
  const rest = chosen.length - (MAX_PER_LEVEL - 1);
  const more = { level, title: "Stormlog Gate", message: `${rest} more are in the job summary and the bundle.` };
  return [...chosen.slice(0, MAX_PER_LEVEL - 1), more];
}

/**
 * What of the report is shown beside the run: failures as errors, the rest as warnings, as many as GitHub keeps.
 * @param notes on the runs of the scenarios; those that explain a verdict are added to it
 */
export function annotationsOf(report: GateReport, notes: readonly string[] = []): readonly Annotation[] {
  const all = [
    ...report.scenarios.flatMap((scenario) => explained(scenario, notes)),
    ...(report.scaling ?? []).flatMap(ofScaling),
    ...report.warnings.map((message): Annotation => ({ level: "warning", title: "Stormlog Gate", message })),
  ];
  return [...bounded(all, "error"), ...bounded(all, "warning")].map((annotation) => ({
    ...annotation,
    // They are lines of a log as well.
    title: cutText(escapeTerminal(annotation.title), 255),
    message: cutText(escapeTerminal(annotation.message), 4000),
  }));
}
