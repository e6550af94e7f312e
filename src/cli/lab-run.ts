import path from "node:path";
import { GateError } from "../core/errors.ts";
import { escapeTerminal } from "../core/escape.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { CATALOGUE, selectPatterns } from "../gate/lab-catalogue.ts";
import { LAB_FILE, runLab, surprises } from "../gate/lab-run.ts";
import { LAB_OUTCOMES, type LabDocument } from "../report/lab-document.ts";
import { CATALOGUE_COLUMNS, catalogueRow, outcomeText, roundTitle } from "../report/lab-table.ts";
import type { Invocation } from "./command.ts";
import { interruptSignal } from "./interrupt.ts";
import { baselineRuns, choice, DEVICES, LAB_FOLDER, SCALES, whole } from "./lab-options.ts";
import { printRows } from "./lab-rows.ts";
import { consolePorts } from "./ports.ts";
import { shownPath } from "./shown-path.ts";

function summary(document: LabDocument): string {
  const counts = LAB_OUTCOMES.map(
    (outcome) => [outcome, document.patterns.filter((one) => one.outcome === outcome).length] as const,
  );
  return counts.flatMap(([outcome, count]) => (count === 0 ? [] : [`${count} ${outcome}`])).join(", ");
}

/** `lab run`: a round. */
export async function runRound(invocation: Invocation): Promise<number> {
  const { console, text, positionals, argv } = invocation;
  const patterns = selectPatterns(positionals.slice(1));
  const folder = path.resolve(text.output ?? LAB_FOLDER);
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
