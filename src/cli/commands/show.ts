import { DEFAULTS } from "../../config/run-options.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { streamedReport } from "../../gate/streamed-report.ts";
import { readBundle } from "../../report/bundle/read-bundle.ts";
import { stormlogReport } from "../../report/documents/envelope.ts";
import type { Invocation } from "../console/command.ts";
import { printReport } from "./report-commands.ts";

export async function show({ positionals, flags, console }: Invocation): Promise<number> {
  const bundle = positionals[0] ?? DEFAULTS.bundle;
  const streamed = await streamedReport(bundle, new Date());
  const read = streamed === null ? await readBundle(bundle) : null;
  const report = streamed ?? read!.report;
  if (read?.note) process.stderr.write(`note: ${escapeTerminal(read.note)}\n`);
  // A stream has no page, and what it is accepted from is on the machine that measured.
  if (!console.json)
    printReport(report, { console, flags }, read ? bundle : DEFAULTS.bundle, read ? bundle : undefined);
  console.document(read?.envelope ?? stormlogReport(report));
  return flags["exit-code"] === true ? report.exit_code : ExitCode.pass;
}
