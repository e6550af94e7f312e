import { analyze } from "../../analysis/analyze.ts";
import { type AnalysisDocument, analysisDocument } from "../../analysis/series/document.ts";
import { parseHorizon } from "../../config/options.ts";
import { GateError } from "../../core/errors.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import type { Horizon } from "../../core/units.ts";
import { analysisInput } from "../../inputs/analysis-input.ts";
import { renderAnalysisTerminal } from "../../report/terminal/analysis.ts";
import type { Invocation } from "../console/command.ts";
import { type Console, writeAll } from "../console/console.ts";

async function documentOf(
  files: readonly string[],
  horizon: Horizon | null,
  console: Console,
): Promise<AnalysisDocument> {
  const input = await analysisInput(files);
  for (const note of input.notes) console.print(`note: ${escapeTerminal(note)}`);
  const document = input.kind === "document" ? input.document : analyze(input.recording, { horizon });
  return { ...document, notes: input.notes };
}

/** NDJSON, one document per input in input order; a bad file becomes `{file, error}` and does not stop the rest. */
async function batch(
  files: readonly string[],
  horizon: Horizon | null,
  console: Console,
): Promise<{ failed: boolean; findings: boolean }> {
  let failed = false;
  let findings = false;
  for (const file of files) {
    let line: unknown;
    try {
      const document = await documentOf([file], horizon, console);
      findings ||= document.findings.some(({ severity }) => severity !== "info");
      line = { file, ...analysisDocument(document) };
    } catch (error) {
      if (!(error instanceof GateError)) throw error;
      failed = true;
      line = { file, error: { code: error.code, message: error.message } };
    }
    writeAll(1, new TextEncoder().encode(`${JSON.stringify(line)}\n`));
  }
  return { failed, findings };
}

export async function analyzeInputs({ positionals, text, flags, console }: Invocation): Promise<number> {
  const horizon = text.horizon === undefined ? null : parseHorizon(text.horizon);
  if (flags.batch === true) {
    const { failed, findings } = await batch(positionals, horizon, { ...console, print: () => {} });
    if (failed) return ExitCode.invalidInput;
    return flags["exit-code"] === true && findings ? ExitCode.findings : ExitCode.pass;
  }
  const document = await documentOf(positionals, horizon, console);
  if (!console.json) console.print(renderAnalysisTerminal(document, console));
  console.document(analysisDocument(document));
  const serious = document.findings.some(({ severity }) => severity !== "info");
  return flags["exit-code"] === true && serious ? ExitCode.findings : ExitCode.pass;
}
