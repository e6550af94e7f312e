import { DEFAULTS } from "../../config/run-options.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { readBundle } from "../../report/bundle/read-bundle.ts";
import type { Invocation } from "../console/command.ts";
import { printReport } from "./report-commands.ts";

export async function show({ positionals, flags, console }: Invocation): Promise<number> {
  const bundle = positionals[0] ?? DEFAULTS.bundle;
  const { report, envelope, note } = await readBundle(bundle);
  if (note !== null) process.stderr.write(`note: ${escapeTerminal(note)}\n`);
  if (!console.json) printReport(report, { console, flags }, bundle);
  console.document(envelope);
  return flags["exit-code"] === true ? report.exit_code : ExitCode.pass;
}
