import path from "node:path";
import { usageError } from "../../core/errors.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { readRounds, writeLabReport } from "../../lab/files.ts";
import { labTerminal } from "../../lab/report/terminal.ts";
import type { Invocation } from "../console/command.ts";
import { shownPath } from "../console/shown-path.ts";
import { LAB_DIRECTORY } from "./options.ts";

/** `lab report`: rounds and recordings side by side. */
export async function reportRounds({ console, positionals, text }: Invocation): Promise<number> {
  const places = positionals.slice(1);
  if (places.length === 0)
    throw usageError(
      "ARGUMENT_MISSING",
      "`lab report` needs a directory of `lab run`, or one with recordings",
      `The default of \`lab run\` is ${LAB_DIRECTORY}; recordings are in PATTERN/leaky and PATTERN/fixed.`,
    );
  const rounds = await readRounds(places.map((place) => path.resolve(place)));
  const documents = rounds.map(({ document }) => document);
  for (const line of labTerminal(documents, console.width)) console.print(line);
  const files = text.output === undefined ? [] : await writeLabReport(path.resolve(text.output), rounds);
  if (files.length > 0) console.print("");
  for (const file of files) console.print(`wrote ${escapeTerminal(shownPath(file))}`);
  console.document({ rounds: documents, files: files.map(shownPath) });
  return ExitCode.pass;
}
