import path from "node:path";
import { choice, integer } from "../../config/options.ts";
import { GateError, usageError } from "../../core/errors.ts";
import { escapeTerminal, shellWord } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { CATALOGUE, selectPatterns } from "../../lab/catalogue.ts";
import { readRounds, writeLabReport } from "../../lab/files.ts";
import { LAB_OUTCOMES, type LabDocument, type LabPattern } from "../../lab/report/document.ts";
import { answerText, formatSize, probeText } from "../../lab/report/scale-text.ts";
import { OUTCOME_TEXT, outcomeText } from "../../lab/report/table.ts";
import { labTerminal, outsideRows, terminalLine } from "../../lab/report/terminal.ts";
import { LAB_FILE, runLab, surprises } from "../../lab/round.ts";
import { searchScale } from "../../lab/scale.ts";
import { SCALE_FILE } from "../../lab/scale-files.ts";
import { checkSetting, type ScaleSetting, usualBounds } from "../../lab/scale-size.ts";
import { wrapText } from "../../report/terminal/terminal-table.ts";
import { DEFAULT_POLICY } from "../../verdict/model/defaults.ts";
import { actionOf, GLOBAL_OPTIONS, type Invocation } from "../console/command.ts";
import { consolePorts, interruptSignal } from "../console/ports.ts";
import { shownPath } from "../console/program.ts";
import { DEVICES, LAB_DIRECTORY, SCALE_DIRECTORY, SCALES } from "../lab/options.ts";

/** `lab report`: rounds side by side. */
async function reportRounds({ console, positionals, text }: Invocation): Promise<number> {
  const places = positionals.slice(1);
  if (places.length === 0)
    throw usageError(
      "ARGUMENT_MISSING",
      "`lab report` needs a directory of `lab run`",
      `The default of \`lab run\` is ${LAB_DIRECTORY}.`,
    );
  const rounds = await readRounds(places.map((place) => path.resolve(place)));
  const documents = rounds.map(({ document }) => document);
  for (const line of labTerminal(documents)) console.print(line);
  const files = text.output === undefined ? [] : await writeLabReport(path.resolve(text.output), rounds);
  if (files.length > 0) console.print("");
  for (const file of files) console.print(`wrote ${escapeTerminal(shownPath(file))}`);
  console.document({ rounds: documents, files: files.map(shownPath) });
  return ExitCode.pass;
}

function list({ console, positionals }: Invocation): number {
  const entries = selectPatterns(positionals.slice(1));
  const rows = entries.map(({ name, framework, ranks, title }) => [name, framework, String(ranks), title]);
  const head = ["pattern", "needs", "processes", "what leaks"];
  for (const line of outsideRows([head, ...rows], [false, false, true, false])) console.print(line);
  console.print("\n`stormlog-gate lab run PATTERN…` judges the leaky state of each against its fixed one.");
  console.document({ patterns: entries });
  return ExitCode.pass;
}

/** What each action takes. */
const ACTIONS = {
  list: { options: [], run: async (invocation: Invocation) => list(invocation) },
  run: {
    options: ["device", "scale", "steps", "python", "runs", "baseline", "output"],
    run: runRound,
  },
  report: { options: ["output"], run: reportRounds },
  scale: {
    options: ["device", "scale", "batch", "from", "to", "python", "runs", "output"],
    run: scalePattern,
  },
} as const satisfies Readonly<
  Record<string, { readonly options: readonly string[]; readonly run: (invocation: Invocation) => Promise<number> }>
>;

export type LabAction = keyof typeof ACTIONS;

/** Refuse an option that the action does not use. @throws GateError OPTION_INVALID (usage) */
function rejectUnknownKeys(action: LabAction, { text, lists }: Invocation): void {
  const taken: readonly string[] = ACTIONS[action].options;
  const given = Object.entries({ ...text, ...lists }).filter(([, value]) => value !== undefined);
  const unused = given.map(([name]) => name).find((name) => !taken.includes(name) && !(name in GLOBAL_OPTIONS));
  if (unused !== undefined) throw usageError("OPTION_INVALID", `\`lab ${action}\` takes no --${unused}`);
  if ((lists.baseline?.length ?? 0) > 1)
    throw usageError("OPTION_INVALID", "`lab run` judges by one --baseline", "Leave all but one out.");
}

export async function lab(invocation: Invocation): Promise<number> {
  const action = actionOf("lab", ACTIONS, invocation.positionals[0]);
  rejectUnknownKeys(action, invocation);
  return ACTIONS[action].run(invocation);
}

function summary(document: LabDocument): string {
  const counts = LAB_OUTCOMES.map(
    (outcome) => [outcome, document.patterns.filter((one) => one.outcome === outcome).length] as const,
  );
  const words = counts.flatMap(([outcome, count]) => (count === 0 ? [] : [`${count} ${OUTCOME_TEXT[outcome]}`]));
  return words.length === 0 ? "No pattern was finished" : words.join(", ");
}

/** What to do about unjudged rows and unexpected verdicts. */
function surpriseHint(odd: readonly LabPattern[]): string {
  const unjudged = odd.filter(({ outcome }) => outcome === "broken" || outcome === "skipped");
  const hints = [
    ...(unjudged.length === 0
      ? []
      : ["The reason for an unjudged pattern is behind its name. Fix it, or leave the pattern out."]),
    ...(unjudged.length === odd.length
      ? []
      : ["A leak can be too small for few steps, and a very busy machine can hide or cause growth. See the bundles."]),
  ];
  return hints.join(" ");
}

/** Runs of the fixed state for a baseline. @throws GateError OPTION_INVALID (usage) for fewer than a verdict needs */
function baselineRuns(text: string | undefined): number {
  const least = DEFAULT_POLICY.minBaselineRuns;
  const runs = text === undefined ? least : integer("runs", text, 1, 100);
  if (runs < least) throw usageError("OPTION_INVALID", `--runs ${runs}: a verdict needs at least ${least} fixed runs`);
  return runs;
}

/** What `lab run` and `lab scale` take alike. */
function commonOptions({ text, argv }: Invocation) {
  return {
    device: choice("device", text.device ?? "auto", DEVICES),
    // Patterns run in the lab's directory, while a given path is relative to this one.
    python: text.python?.includes("/") ? path.resolve(text.python) : (text.python ?? "python3"),
    runs: baselineRuns(text.runs),
    argv,
    env: process.env,
  };
}

/** `lab run`: a round. */
async function runRound(invocation: Invocation): Promise<number> {
  const { console, text, positionals } = invocation;
  const named = positionals.slice(1);
  const patterns = selectPatterns(named);
  const directory = path.resolve(text.output ?? LAB_DIRECTORY);
  const interrupt = interruptSignal();
  const document = await runLab(
    {
      patterns,
      directory,
      root: process.cwd(),
      scale: choice("scale", text.scale ?? "tiny", SCALES),
      steps: text.steps === undefined ? null : integer("steps", text.steps, 1, MAX),
      baseline: invocation.lists.baseline?.[0] ?? null,
      ...commonOptions(invocation),
    },
    {
      begins: ({ name, title }, number, of) => console.print(`\n${number} of ${of}  ${name}: ${title}`),
      baseline: (_, runs, lacks) => {
        const why = lacks === null ? "" : `${escapeTerminal(lacks)}: `;
        console.print(`  ${why}${runs} runs of the fixed state become the baseline`);
      },
      judging: (_, state) => console.print(`  judging the ${state} state`),
      ended: (pattern) => console.print(`  ${terminalLine(outcomeText(pattern))}`),
    },
    consolePorts(console, interrupt, true),
  );
  for (const line of ["", ...labTerminal([document])]) console.print(line);
  const shown = shownPath(directory);
  const report = `stormlog-gate lab report ${shellWord(shown)} --output lab-report`;
  console.print(
    `\n${summary(document)}. Evidence: ${escapeTerminal(shown)}; \`${escapeTerminal(report)}\` writes it as markdown.`,
  );
  console.document(document);
  if (interrupt.aborted) return ExitCode.interrupted;
  const odd = surprises(document, CATALOGUE, named);
  if (odd.length > 0) {
    const listed = odd.map((pattern) => `${pattern.name}: ${outcomeText(pattern)}`.replace(/\s+/g, " "));
    throw new GateError("LAB_SURPRISE", `results differ from the catalogue: ${listed.join("; ")}`, {
      where: path.join(shown, LAB_FILE),
      hint: surpriseHint(odd),
    });
  }
  return ExitCode.pass;
}

/** Maximum ratio of the smallest visible to the largest invisible size: other days may differ by over a quarter. */
const FACTOR = 1.25;
const MAX = 10_000_000;

function settingOf({ text }: Invocation): ScaleSetting {
  return {
    scale: choice("scale", text.scale ?? "tiny", SCALES),
    batch: text.batch === undefined ? null : integer("batch", text.batch, 1, MAX),
  };
}

/** A sentence in lines, the later ones indented further. */
function sentence(words: string, width: number, indent: string, later: string): string {
  return wrapText(escapeTerminal(words), Math.max(40, width - indent.length), later)
    .map((line) => indent + line)
    .join("\n");
}

/** `lab scale`: from which size on the gate sees a pattern's leak. */
async function scalePattern(invocation: Invocation): Promise<number> {
  const { console, text, positionals } = invocation;
  const [, name, ...more] = positionals;
  if (name === undefined || more.length > 0)
    throw usageError("ARGUMENT_MISSING", "`lab scale` needs one pattern", "`stormlog-gate lab list` names them.");
  const [entry] = selectPatterns([name]);
  if (entry === undefined) throw new Error("a known pattern has no entry");
  const setting = settingOf(invocation);
  checkSetting(entry, setting);
  const usual = usualBounds(setting);
  const to = text.to === undefined ? null : integer("to", text.to, 1, MAX);
  const from = text.from === undefined ? Math.min(usual.from, to ?? usual.from) : integer("from", text.from, 1, MAX);
  const bounds = { from, to: to ?? Math.max(usual.to, from), factor: FACTOR };
  if (bounds.to < from) throw usageError("OPTION_INVALID", `--from ${from} is above --to ${bounds.to}`);
  const common = commonOptions(invocation);
  const directory = path.resolve(text.output ?? path.join(SCALE_DIRECTORY, entry.name));
  const interrupt = interruptSignal();
  const note = (words: string): void => console.print(sentence(words, console.width, "  ", "   "));
  console.print(`${entry.name}: ${entry.title}`);
  const document = await searchScale(
    {
      entry,
      setting,
      directory,
      bounds,
      ...common,
    },
    {
      baseline: (value, count) => note(`${count} fixed runs of ${formatSize(value)} become a baseline`),
      probed: (probe, number) => note(`${number}. ${probeText(probe)}`),
    },
    consolePorts(console, interrupt, true),
  );
  const shown = (file: string): string => escapeTerminal(shownPath(path.join(directory, file)));
  console.print(`\n${sentence(answerText(document), console.width, "", "")}`);
  console.print(`${shown(SCALE_FILE)} and the evidence beside it have the details.`);
  console.document(document);
  if (interrupt.aborted) return ExitCode.interrupted;
  if (document.answer.kind === "broken") {
    throw new GateError("LAB_SCALE_BROKEN", document.answer.reason, {
      where: shown(SCALE_FILE),
      hint: "Fix that first: until then the size cannot be judged.",
    });
  }
  return ExitCode.pass;
}
