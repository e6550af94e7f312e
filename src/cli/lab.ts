import path from "node:path";
import { GateError, usageError } from "../core/errors.ts";
import { escapeTerminal } from "../core/escape.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { CATALOGUE, selectPatterns } from "../gate/lab-catalogue.ts";
import { readRounds, writeLabReport } from "../gate/lab-files.ts";
import { LAB_FILE, runLab, surprises } from "../gate/lab-run.ts";
import { LAB_OUTCOMES, type LabDocument } from "../report/lab-document.ts";
import { labMarkdown } from "../report/lab-report.ts";
import { CATALOGUE_COLUMNS, catalogueRow, outcomeText, roundTitle } from "../report/lab-table.ts";
import { alignRows, cell } from "../report/terminal-table.ts";
import type { CommandSpec, Invocation } from "./command.ts";
import type { Console } from "./console.ts";
import { interruptSignal } from "./interrupt.ts";
import { consolePorts } from "./ports.ts";
import { shownPath } from "./shown-path.ts";

const FOLDER = "stormlog-lab";
const SCALES = ["tiny", "small", "article"];
const DEVICES = ["auto", "cpu", "cuda", "mps", "xpu"];

function choice(name: string, text: string | undefined, allowed: readonly string[], fallback: string): string {
  const value = text ?? fallback;
  if (!allowed.includes(value))
    throw usageError("OPTION_INVALID", `--${name} "${value}" is none of ${allowed.join(", ")}`);
  return value;
}

function whole(name: string, text: string, most: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > most)
    throw usageError("OPTION_INVALID", `--${name} "${text}" is not a whole number from 1 to ${most}`);
  return value;
}

function printRows(
  console: Console,
  head: readonly string[],
  right: readonly boolean[],
  rows: readonly (readonly string[])[],
): void {
  const cells = [head, ...rows].map((row) => row.map((text) => cell(escapeTerminal(text))));
  for (const line of alignRows(cells, right)) console.print(line);
}

function list({ console, positionals }: Invocation): number {
  const entries = selectPatterns(positionals.slice(1));
  printRows(
    console,
    ["pattern", "needs", "processes", "what leaks"],
    [false, false, true, false],
    entries.map(({ name, framework, ranks, title }) => [name, framework, String(ranks), title]),
  );
  console.print("\n`stormlog-gate lab run PATTERN…` judges the leaky state of each against its fixed one.");
  console.document({ patterns: entries });
  return ExitCode.pass;
}

function summary(document: LabDocument): string {
  const counts = LAB_OUTCOMES.map(
    (outcome) => [outcome, document.patterns.filter((one) => one.outcome === outcome).length] as const,
  );
  return counts.flatMap(([outcome, count]) => (count === 0 ? [] : [`${count} ${outcome}`])).join(", ");
}

async function run(invocation: Invocation): Promise<number> {
  const { console, text, positionals, argv } = invocation;
  const patterns = selectPatterns(positionals.slice(1));
  const folder = path.resolve(text.output ?? FOLDER);
  const interrupt = interruptSignal();
  try {
    const document = await runLab(
      {
        patterns,
        folder,
        root: process.cwd(),
        device: choice("device", text.device, DEVICES, "auto"),
        scale: choice("scale", text.scale, SCALES, "tiny"),
        steps: text.steps === undefined ? null : whole("steps", text.steps, 10_000_000),
        // Patterns run in the lab's folder: a path is meant from here.
        python: text.python?.includes("/") ? path.resolve(text.python) : (text.python ?? "python3"),
        runs: whole("runs", text.runs ?? "5", 100),
        baseline: invocation.lists.baseline?.[0] ?? null,
        argv,
        env: process.env,
      },
      {
        begins: ({ name, title }, number, of) => console.print(`\n${number} of ${of}  ${name}: ${title}`),
        baseline: (_, runs) => console.print(`  ${runs} runs of the fixed state become the baseline`),
        judging: (_, state) => console.print(`  judging the ${state} state`),
        ended: (pattern) => console.print(`  ${escapeTerminal(outcomeText(pattern))}`),
      },
      consolePorts(console, interrupt.signal, true),
    );
    console.print(`\n${escapeTerminal(roundTitle(document))}\n`);
    printRows(
      console,
      CATALOGUE_COLUMNS.map(([name]) => name),
      CATALOGUE_COLUMNS.map(([, align]) => align === "r"),
      document.patterns.map(catalogueRow),
    );
    const shown = escapeTerminal(shownPath(folder));
    console.print(
      `\n${summary(document)}. Evidence: ${shown}; \`stormlog-gate lab report ${shown}\` writes it as a page.`,
    );
    console.document(document);
    if (interrupt.signal.aborted) return ExitCode.interrupted;
    const odd = surprises(document, CATALOGUE);
    if (odd.length > 0) {
      throw new GateError(
        "LAB_SURPRISE",
        `not as the catalogue says: ${odd.map(({ name, outcome }) => `${name} is ${outcome}`).join(", ")}`,
        {
          kind: "error",
          where: path.join(shownPath(folder), LAB_FILE),
          hint: "A leak can be too small for few steps, and a very busy machine can hide or make growth. The bundles tell more.",
        },
      );
    }
    return ExitCode.pass;
  } finally {
    interrupt.dispose();
  }
}

async function report({ console, positionals, text }: Invocation): Promise<number> {
  const places = positionals.slice(1);
  if (places.length === 0)
    throw usageError(
      "ARGUMENT_MISSING",
      "`lab report` needs a folder that `lab run` left",
      `Its default is ${FOLDER}.`,
    );
  const rounds = await readRounds(places.map((place) => path.resolve(place)));
  const files = text.output === undefined ? [] : await writeLabReport(path.resolve(text.output), rounds);
  const documents = rounds.map(({ document }) => document);
  if (files.length === 0) console.print(escapeTerminal(labMarkdown(documents)));
  for (const file of files) console.print(`wrote ${escapeTerminal(shownPath(file))}`);
  console.document({ rounds: documents, files: files.map(shownPath) });
  return ExitCode.pass;
}

export const lab: CommandSpec = {
  name: "lab",
  description: "The leak lab: list its patterns, judge leaky against fixed, report across backends",
  positionals: ["ACTION", "[PATTERN|FOLDER]…"],
  options: {
    device: { type: "string", description: "Device of the patterns (default auto)", valueHint: DEVICES.join("|") },
    scale: { type: "string", description: "Size of a run (default tiny)", valueHint: SCALES.join("|") },
    steps: { type: "string", description: "Steps of a run (default: the scale's)", valueHint: "N" },
    python: { type: "string", description: "Python with the frameworks (default python3)", valueHint: "PROGRAM" },
    runs: { type: "string", description: "Runs of the fixed state for the baseline (default 5)", valueHint: "N" },
    baseline: {
      type: "string",
      multiple: true,
      description: "Judge by a stored baseline instead of measuring one",
      valueHint: "SPEC",
    },
    output: {
      type: "string",
      description: `Folder of the results (run: ${FOLDER}) or of the report`,
      valueHint: "DIR",
    },
  },
  run: async (invocation) => {
    switch (invocation.positionals[0]) {
      case "list":
        return list(invocation);
      case "run":
        return run(invocation);
      case "report":
        return report(invocation);
      default:
        throw usageError(
          "ACTION_UNKNOWN",
          `\`lab ${invocation.positionals[0] ?? ""}\` is unknown`,
          "Actions: list, run, report.",
        );
    }
  },
};
