import path from "node:path";
import { GateError } from "../../core/errors.ts";
import { escapeTerminal, shellWord } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { CATALOGUE, selectPatterns } from "../../lab/catalogue.ts";
import { LAB_OUTCOMES, type LabDocument, type LabPattern } from "../../lab/report/document.ts";
import { CATALOGUE_COLUMNS, catalogueRow, OUTCOME_TEXT, outcomeText, roundTitle } from "../../lab/report/table.ts";
import { outsideRows, terminalLine } from "../../lab/report/terminal.ts";
import { LAB_FILE, runLab, surprises } from "../../lab/round.ts";
import type { Invocation } from "../console/command.ts";
import type { Console } from "../console/console.ts";
import { consolePorts, interruptSignal } from "../console/ports.ts";
import { shownPath } from "../console/program.ts";
import { baselineRuns, choice, DEVICES, LAB_DIRECTORY, SCALES, whole } from "./options.ts";

/** Print a table of outside text, each column as wide as it needs. */
export function printRows(
  console: Console,
  head: readonly string[],
  right: readonly boolean[],
  rows: readonly (readonly string[])[],
): void {
  for (const line of outsideRows([head, ...rows], right)) console.print(line);
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

/** The pattern and its outcome, with the reason where it was not judged. */
function surpriseText(pattern: LabPattern): string {
  return `${pattern.name}: ${outcomeText(pattern)}`.replace(/\s+/g, " ");
}

/** `lab run`: a round. */
export async function runRound(invocation: Invocation): Promise<number> {
  const { console, text, positionals, argv } = invocation;
  const named = positionals.slice(1);
  const patterns = selectPatterns(named);
  const directory = path.resolve(text.output ?? LAB_DIRECTORY);
  const interrupt = interruptSignal();
  const document = await runLab(
    {
      patterns,
      directory,
      root: process.cwd(),
      device: choice("device", text.device, DEVICES, "auto"),
      scale: choice("scale", text.scale, SCALES, "tiny"),
      steps: text.steps === undefined ? null : whole("steps", text.steps, 10_000_000),
      // Patterns run in the lab's directory, while a given path is relative to this one.
      python: text.python?.includes("/") ? path.resolve(text.python) : (text.python ?? "python3"),
      runs: baselineRuns(text.runs),
      baseline: invocation.lists.baseline?.[0] ?? null,
      argv,
      env: process.env,
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
  console.print(`\n${terminalLine(roundTitle(document))}\n`);
  if (document.patterns.length > 0)
    printRows(
      console,
      CATALOGUE_COLUMNS.map(([name]) => name),
      CATALOGUE_COLUMNS.map(([, align]) => align === "r"),
      document.patterns.map(catalogueRow),
    );
  const shown = shownPath(directory);
  const report = `stormlog-gate lab report ${shellWord(shown)} --output lab-report`;
  console.print(
    `\n${summary(document)}. Evidence: ${escapeTerminal(shown)}; \`${escapeTerminal(report)}\` writes it as a page.`,
  );
  console.document(document);
  if (interrupt.aborted) return ExitCode.interrupted;
  const odd = surprises(document, CATALOGUE, named);
  if (odd.length > 0) {
    throw new GateError("LAB_SURPRISE", `results differ from the catalogue: ${odd.map(surpriseText).join("; ")}`, {
      kind: "error",
      where: path.join(shown, LAB_FILE),
      hint: surpriseHint(odd),
    });
  }
  return ExitCode.pass;
}
