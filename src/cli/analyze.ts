import { analyze } from "../analysis/analyze.ts";
import type { AnalysisDocument } from "../analysis/document.ts";
import { parseHorizon } from "../config/options.ts";
import { GateError } from "../core/errors.ts";
import { escapeTerminal } from "../core/escape.ts";
import { ExitCode } from "../core/exit-codes.ts";
import type { Horizon } from "../core/horizon.ts";
import { analysisInput } from "../inputs/analysis-input.ts";
import { renderAnalysisTerminal } from "../report/terminal/analysis.ts";
import type { CommandSpec } from "./command.ts";
import type { Console } from "./console.ts";
import { writeAll } from "./console.ts";

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
      line = { file, ...document };
    } catch (error) {
      if (!(error instanceof GateError)) throw error;
      failed = true;
      line = { file, error: { code: error.code, message: error.message } };
    }
    writeAll(1, new TextEncoder().encode(`${JSON.stringify(line)}\n`));
  }
  return { failed, findings };
}

export const analyzeCommand: CommandSpec = {
  name: "analyze",
  description: "Features, drift class and findings of recordings, bundles, Stormlog events, CSV or nvidia-smi logs",
  positionals: { "FILE…": "Recordings, bundles or telemetry files; several are shards of one run, unless --batch" },
  example: "stormlog-gate analyze stormlog-recording",
  exits: ["pass", "error", "findings", "invalidInput"],
  options: {
    batch: { type: "boolean", description: "One JSON document per input, one line each" },
    horizon: { type: "string", description: "Production length at which growth is judged", valueHint: "STEPS|HOURSh" },
    "exit-code": { type: "boolean", description: "Exit 3 when there are findings of warning or worse" },
  },
  run: async ({ positionals, text, flags, console }) => {
    const horizon = text.horizon === undefined ? null : parseHorizon(text.horizon);
    if (flags.batch === true) {
      const { failed, findings } = await batch(positionals, horizon, { ...console, print: () => {} });
      if (failed) return ExitCode.invalidInput;
      return flags["exit-code"] === true && findings ? ExitCode.findings : ExitCode.pass;
    }
    const document = await documentOf(positionals, horizon, console);
    if (!console.json) console.print(renderAnalysisTerminal(document, { color: console.color, width: console.width }));
    console.document(document);
    const serious = document.findings.some(({ severity }) => severity !== "info");
    return flags["exit-code"] === true && serious ? ExitCode.findings : ExitCode.pass;
  },
};
