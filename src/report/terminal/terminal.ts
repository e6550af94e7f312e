import { shellWord } from "../../core/escape.ts";
import { countedNotes, plural } from "../../core/text.ts";
import type { Check, Judgement } from "../../verdict/model/judgement.ts";
import { sameSeries } from "../../verdict/model/series-index.ts";
import { VERDICT_LOOK } from "../drawing/palette.ts";
import { openFindings } from "../headline/causes.ts";
import {
  fixOf,
  heldText,
  type LineAnswer,
  lineNote,
  namedLine,
  oneTimeText,
  ownLockText,
  peakLines,
  unattributed,
} from "../headline/line-answer.ts";
import { higherParts, higherText } from "../headline/peak-answer.ts";
import { answerSentence, judgementSentence, sideNotes } from "../headline/sentence.ts";
import { rowName, rowSize, shownRows } from "../headline/shown-rows.ts";
import { type GateReport, type ScenarioReport, urgency, type Verdict } from "../model/gate-report.ts";
import type { Scaling } from "../model/report-schema.ts";
import { ACCEPT, nextSteps, REFRESH, RUN } from "../wording/next-steps.ts";
import { reproduceCommand } from "../wording/reproduce.ts";
import {
  fitsTexts,
  lawText,
  pointText,
  scalingBreach,
  scalingTitle,
  withoutRepeated,
} from "../wording/scaling-text.ts";
import { sparkline } from "../wording/sparkline.ts";
import {
  capital,
  changedText,
  costText,
  excuseNotes,
  exitText,
  failedExit,
  findingName,
  policyNotes,
} from "../wording/wording.ts";
import { checkLines, detailLines, judgementNotes, processLines } from "./details.ts";
import {
  alignRows,
  cell,
  clip,
  displayWidth,
  noteLines,
  type Paint,
  painter,
  paintVerdict,
  safe,
  usableWidth,
  wrapText,
} from "./terminal-table.ts";

export interface TerminalOptions {
  readonly color: boolean;
  /** Columns of the terminal. */
  readonly width: number;
  /** Everything behind the answer: all checks, findings, phases, environment, notes. */
  readonly verbose?: boolean;
  /** What each process holds, below the answer. */
  readonly processes?: boolean;
  /** The verdicts alone. */
  readonly quiet?: boolean;
  /** The bundle as a person would write it in a command; absent without one. */
  readonly bundle?: string;
  /** How the reader starts the gate; default `stormlog-gate`. */
  readonly program?: string;
  /** The commands to copy for a scenario, where bundle, baseline or command differ from the defaults. */
  readonly commands?: (scenario: ScenarioReport) => Readonly<Record<"accept" | "refresh" | "run", string>>;
}

const MAX_WIDTH = 120;
const LABEL = 10;
/** Columns from which a row has room for its series, in few letters or in many. */
const MEDIUM = 76;
const WIDE = 92;

/** The output of `run` and `show`: a line for each scenario that passed, the answer of each other, the evidence. */
export function renderTerminal(report: GateReport, options: TerminalOptions): string {
  const paint = painter(options.color);
  const width = usableWidth(options.width, MAX_WIDTH);
  // The worst comes last because the end of the output is what a terminal shows.
  const scenarios = [...withoutRepeated(report)].sort((a, b) => urgency(b) - urgency(a));
  if (options.quiet) {
    const verdicts = scenarios.flatMap((one) => [
      ...verdictLines(one.verdict, one.scenario, answerSentence(one), paint, width),
      ...(one.interference ?? []).flatMap((note) => indented(safe(note), width)),
    ]);
    return [...verdicts, ...(report.scaling ?? []).flatMap((one) => scalingLines(one, paint, width))].join("\n");
  }
  const blocks = scenarios.map((scenario) => {
    const answer = answerLines(scenario, options, paint, width);
    if (options.verbose) return [...answer, "", ...detailLines(scenario, paint, width)];
    const processes = options.processes ? processLines(scenario, paint, width) : [];
    return processes.length > 0 ? [...answer, "", ...processes] : answer;
  });
  const lines = blocks.flatMap((block, index) => {
    // Scenarios of one line each stand close together.
    const apart = index > 0 && (block.length > 1 || (blocks[index - 1]?.length ?? 0) > 1);
    return apart ? ["", ...block] : block;
  });
  const calm = scenarios.every(({ verdict }) => verdict === "pass");
  const notes = [
    ...policyNotes(report).flatMap((note) => wrapText(safe(note), width, "    ")),
    ...(calm && !options.verbose ? [] : noteBlock(report, options, paint, width)),
  ];
  const laws = (report.scaling ?? []).flatMap((one) => ["", ...scalingLines(one, paint, width)]);
  // The first of the notes has a blank line before it already.
  notes.push(...(calm || notes.length > 0 ? laws : laws.slice(1)), ...(laws.length > 0 ? [""] : []));
  if (report.scenarios.length > 1) {
    notes.push(`${verdictMark(report.verdict, paint)}  ${report.scenarios.length} scenarios, ${costText(report.cost)}`);
  }
  return [
    ...lines,
    ...(notes.length > 0 && !calm ? [""] : []),
    ...notes,
    ...evidenceLines(options, calm ? report.warnings : null),
    ...reproduceLines(report, paint, width),
  ].join("\n");
}

/** Notes that do not affect the verdict: all when asked, else the first, with the number of others. */
function noteBlock({ warnings }: GateReport, options: TerminalOptions, paint: Paint, width: number): string[] {
  const notes = countedNotes(warnings);
  const [first] = notes;
  if (first === undefined) return [];
  if (options.verbose) return notes.flatMap((note) => wrapText(`note: ${safe(note)}`, width, "  ")).map(paint.dim);
  // The line of the evidence has the command.
  const more = notes.length > 1 ? `  (and ${plural(notes.length - 1, "more note")} in the details)` : "";
  return [paint.dim(clip(`note: ${safe(first)}`, width - more.length) + more)];
}

/** Where the evidence is; of a pass (`calm`, its notes) without a way to it, since nothing has to be done. */
function evidenceLines(
  { bundle, verbose, program = "stormlog-gate" }: TerminalOptions,
  calm: readonly string[] | null,
): string[] {
  if (bundle === undefined) return [];
  const shown = safe(bundle);
  const details = verbose ? "" : safe(`${program} show -v ${shellWord(bundle)}`);
  if (calm !== null) {
    const notes = verbose || calm.length === 0 ? "" : `      ${plural(countedNotes(calm).length, "note")}: ${details}`;
    return [`${label("Evidence")}${shown}${notes}`];
  }
  return [`${label("Evidence")}${shown}/timeline.html${details === "" ? "" : `      details: ${details}`}`];
}

/** For each failure the command that shows it again elsewhere, and what differs there. */
function reproduceLines(report: GateReport, paint: Paint, width: number): string[] {
  return report.scenarios.slice(0, 3).flatMap((scenario) => {
    const found = scenario.verdict === "fail" ? reproduceCommand(report, scenario) : null;
    if (found === null) return [];
    const command = `${label("Reproduce")}${paint.cyan(safe(found.command))}`;
    if (found.differs === null) return [command];
    return [command, ...wrapText(safe(found.differs), width - LABEL - 3, "").map((line) => below(paint.dim(line)))];
  });
}

/** The output of `judge` and `compare`. */
export function renderJudgementTerminal(judgement: Judgement, options: TerminalOptions): string {
  const paint = painter(options.color);
  const width = usableWidth(options.width, MAX_WIDTH);
  const lines = [...verdictLines(judgement.verdict, "", judgementSentence(judgement), paint, width), ""];
  lines.push(...checkLines(judgement, paint, width));
  lines.push("", ...noteLines(judgementNotes(judgement), paint, width));
  return lines.join("\n").trimEnd();
}

/** One scenario: verdict and sentence; unless it passed, its rows, its line, and what to do. */
function answerLines(scenario: ScenarioReport, options: TerminalOptions, paint: Paint, width: number): string[] {
  const { verdict } = scenario;
  const lines = verdictLines(verdict, scenario.scenario, answerSentence(scenario), paint, width);
  for (const note of scenario.interference ?? []) lines.push(...indented(safe(note), width));
  for (const note of sideNotes(scenario)) lines.push(...indented(safe(capital(note)), width));
  for (const note of excuseNotes(scenario)) lines.push(...indented(safe(note), width));
  if (verdict === "pass") return lines;
  const body = [
    ...rowLines(scenario, paint, width),
    ...errorLines(scenario, paint, width),
    ...lineLines(scenario, paint, width),
  ];
  const steps = stepLines(scenario, options, paint, width);
  return [...lines, ...(body.length > 0 ? ["", ...body] : []), ...steps];
}

function verdictMark(verdict: Verdict, paint: Paint): string {
  const look = VERDICT_LOOK[verdict];
  return paintVerdict(paint, verdict, `${look.sign} ${look.label}`);
}

function verdictLines(verdict: Verdict, name: string, sentence: string, paint: Paint, width: number): string[] {
  const { sign, label: text } = VERDICT_LOOK[verdict];
  const shown = name === "" ? "" : clip(safe(name), 40);
  const head = `${verdictMark(verdict, paint)}  ${name === "" ? "" : `${paint.bold(shown)}  `}`;
  const indent = `${sign} ${text}  `.length + (name === "" ? 0 : displayWidth(shown) + 2);
  const [first = "", ...rest] = wrapText(safe(sentence), Math.max(30, width - indent), "");
  return [`${head}${first}`, ...rest.map((line) => " ".repeat(Math.min(indent, 16)) + line)];
}

function label(name: string): string {
  return `  ${`${name}:`.padEnd(LABEL + 1)}`;
}

function rowLines(scenario: ScenarioReport, paint: Paint, width: number): string[] {
  const checks = scenario.judgement?.checks ?? [];
  const rows = shownRows(scenario).filter(({ aspect }) => aspect !== "oom");
  const letters = width < MEDIUM ? 0 : width < WIDE ? 12 : 20;
  return alignRows(
    rows.map((check) => {
      const value = rowSize(check, check.candidate_bytes);
      const baseline = check.baseline_bytes === null ? "" : `baseline ${rowSize(check, check.baseline_bytes)}`;
      const limit = check.threshold_bytes === null ? "" : `limit ${rowSize(check, check.threshold_bytes)}`;
      return [
        cell(`  ${clip(safe(rowName(check, checks)), Math.max(16, width - letters - 46))}`),
        cell(value, check.verdict === "fail" ? paint.red : paint.yellow),
        cell(limit),
        ...(letters === 0 ? [] : [cell(check.aspect === "peak" ? spark(scenario, check, letters) : "")]),
        cell(baseline, paint.dim),
      ];
    }),
    [false, true, false, ...(letters === 0 ? [] : [false]), false],
  );
}

/** The series of a check as block letters from zero, with its limit marked. */
function spark({ timeline }: ScenarioReport, check: Check, letters: number): string {
  const series = timeline?.series.find((one) => sameSeries(one, { ...check, phase: undefined }));
  return series === undefined
    ? ""
    : sparkline(series.bytes, letters, { limit: check.threshold_bytes, times: series.time_s });
}

/** The line that holds the growth, or a one-time increase, with its code; or how much no line holds. */
function lineLines(scenario: ScenarioReport, paint: Paint, width: number): string[] {
  const { findings, verdict } = scenario;
  if (verdict !== "fail" && verdict !== "warn") return [];
  const out: string[] = [];
  const line = namedLine(findings);
  const higher = higherParts(scenario.peak);
  if (higher.length > 0) out.push(...indented(safe(higherText(higher, (at) => at)), width));
  if (line !== null) {
    if (line.kind === "one-time") out.push(...indented(safe(oneTimeText(line)), width));
    out.push(...excerpt(line, paint, width));
    // The sentence has no room for a long name.
    if (line.package !== null && line.kind !== "one-time" && !answerSentence(scenario).includes(line.package)) {
      out.push(paint.dim(clip(`    ${safe(line.package)}`, width)));
    }
    const others = higher.length > 0 ? [] : peakLines(findings);
    for (const other of others.filter(({ finding }) => finding !== line.finding)) {
      out.push(paint.dim(clip(`    also ${safe(`${other.location}: ${lineNote(other)}`)}`, width)));
    }
    const change = changedText(line.finding);
    if (change !== null) out.push(paint.dim(clip(`    ${safe(change)}`, width)));
    const locked = ownLockText(scenario);
    if (locked !== null) out.push(paint.dim(clip(`    ${safe(locked)}`, width)));
  }
  const held = heldText(scenario);
  if (held !== null) out.push(...indented(safe(held), width));
  for (const finding of openFindings(scenario)) {
    out.push(...indented(safe(`${capital(findingName(finding))}: ${finding.description}`), width));
  }
  const rest = unattributed(findings);
  if (rest !== null) {
    out.push(...indented(safe(rest.text), width));
    if (rest.next !== null && line === null) out.push(...labelled("Next", rest.next, width));
  }
  if (scenario.no_line !== undefined) out.push(...labelled("No line", scenario.no_line, width));
  return out;
}

/** The line's code with what holds its memory, below each other where they do not fit side by side. */
function excerpt(line: LineAnswer, paint: Paint, width: number): string[] {
  const number = line.location.split(":").at(-1) ?? "";
  const note = safe(lineNote(line));
  if (line.code === null) return note === "" ? [] : [clip(`    ${safe(line.location)}: ${note}`, width)];
  const code = clip(`  ▶ ${safe(number)} │ ${safe(line.code)}`, width);
  if (note === "") return [code];
  const padded = code + " ".repeat(Math.max(2, 44 - displayWidth(code)));
  if (displayWidth(padded) + displayWidth(note) <= width) return [padded + paint.dim(note)];
  return [code, paint.dim(clip(`    ${note}`, width))];
}

/** Text wrapped below the verdict; later lines further in. */
function indented(text: string, width: number): string[] {
  return wrapText(text, width - 2, "  ").map((line) => `  ${line}`);
}

const below = (line: string): string => " ".repeat(LABEL + 3) + line;

function labelled(name: string, text: string, width: number): string[] {
  const [first = "", ...rest] = wrapText(safe(text), Math.max(30, width - LABEL - 3), "");
  return [label(name) + first, ...rest.map(below)];
}

/** What to do: the fix that fits the retainer, or the steps of the verdict, each with its command. */
function stepLines(scenario: ScenarioReport, options: TerminalOptions, paint: Paint, width: number): string[] {
  const fix = fixOf(scenario);
  const commands = options.commands?.(scenario);
  const exact: Readonly<Record<string, string | undefined>> = {
    [ACCEPT]: commands?.accept,
    [REFRESH]: commands?.refresh,
    [RUN]: commands?.run,
  };
  const steps = nextSteps(scenario).flatMap((step) => {
    if (step.command === undefined) return labelled(step.name, step.text, width);
    // A command is never broken: it is there to be copied.
    return [`${label(step.name)}${paint.cyan(safe(exact[step.command] ?? step.command))}`];
  });
  return [...(fix === null ? [] : labelled("Fix", fix, width)), ...steps];
}

function errorLines(scenario: ScenarioReport, paint: Paint, width: number): string[] {
  const { error } = scenario;
  if (error === null) return [];
  const exit = failedExit(scenario);
  // The headline contains why a command did not start.
  const state = exit === null || exit.kind === "not-started" ? "" : `  ${safe(exitText(exit))}`;
  const lines = [clip(`  ${safe(error.code)}${state}`, width)];
  // Lines of a failed command's output.
  const output = (error.output_tail ?? "").trimEnd().split("\n").slice(-8);
  if (output.some((line) => line.trim() !== "")) {
    lines.push(
      ...output.map((line) => paint.dim(clip(`  │ ${safe(line.replace(/\r/g, "").replaceAll("\t", "    "))}`, width))),
    );
  }
  return lines;
}

/** Peaks over the values of `--vary`, the law through them, and what fits. */
export function scalingLines(scaling: Scaling, paint: Paint, width: number): string[] {
  const { points, name } = scaling;
  const most = Math.max(1, ...points.map(({ bytes }) => bytes ?? 0));
  const rows = alignRows(
    points.map((point) => [
      cell(`  ${clip(safe(`${name}=${point.value}`), 32)}`),
      cell(pointText(point, "not measured")),
      cell("█".repeat(Math.round((24 * (point.bytes ?? 0)) / most)), paint.cyan),
    ]),
    [false, true],
  );
  const wrap = (text: string) => wrapText(safe(text), width, "  ").map((line) => `  ${line}`);
  const breach = scalingBreach(scaling);
  return [
    `${paint.bold(clip(safe(scaling.scenario), 40))}  ${safe(scalingTitle(scaling))}`,
    ...rows,
    ...wrap(lawText(scaling)),
    ...fitsTexts(scaling).flatMap(wrap),
    ...(breach === null ? [] : wrap(breach).map(scaling.verdict === "fail" ? paint.red : paint.yellow)),
  ];
}
