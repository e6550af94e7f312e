import { readFileSync } from "node:fs";
import { DEFAULTS } from "../../config/run-options.ts";
import { usageError } from "../../core/errors.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { exportBundle } from "../../inputs/export-bundle.ts";
import { EXPORT_FORMATS, type ExportFormat } from "../../inputs/export-format.ts";
import type { Invocation } from "../console/command.ts";
import { writeAll, writeOutputFile } from "../console/console.ts";

/** Formats that are one JSON document themselves, to which `--json` adds nothing. */
const JSON_FORMATS: ReadonlySet<ExportFormat> = new Set<ExportFormat>(["json", "sarif"]);

function formatOf(text: string | undefined): ExportFormat {
  const format = EXPORT_FORMATS.find((one) => one === text);
  if (format === undefined) {
    throw usageError(
      "FORMAT_UNKNOWN",
      text === undefined ? "`export` needs --format" : `unknown format "${text}"`,
      `Formats: ${EXPORT_FORMATS.join(", ")}.`,
    );
  }
  return format;
}

export async function exportInto({ positionals, text, console }: Invocation): Promise<number> {
  const format = formatOf(text.format);
  if (console.json && text.output === undefined && !JSON_FORMATS.has(format)) {
    throw usageError(
      "OUTPUT_MISSING",
      `\`--json\` and a ${format} file cannot both go to stdout`,
      "Name the file with --output FILE, or leave --json out.",
    );
  }
  const { bytes, note } = await exportBundle(positionals[0] ?? DEFAULTS.bundle, format);
  if (note !== null) process.stderr.write(`note: ${escapeTerminal(note)}\n`);
  if (text.output === undefined) {
    writeAll(1, bytes);
    return ExitCode.pass;
  }
  writeOutputFile(text.output, bytes);
  console.print(`wrote ${text.output} (${readFileSync(text.output).length} bytes)`);
  console.document({ output: text.output, format: text.format, bytes: bytes.length });
  return ExitCode.pass;
}
