import { readFileSync, writeFileSync } from "node:fs";
import { DEFAULTS } from "../config/options.ts";
import { GateError, usageError } from "../core/errors.ts";
import { escapeTerminal } from "../core/escape.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { EXPORT_FORMATS, type ExportFormat, exportBundle } from "../inputs/export-bundle.ts";
import type { CommandSpec } from "./command.ts";
import { writeAll } from "./console.ts";

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

export const exportCommand: CommandSpec = {
  name: "export",
  description: "Write a bundle in another format",
  positionals: { "[BUNDLE]": `The bundle (default ${DEFAULTS.bundle})` },
  example: "stormlog-gate export stormlog-bundle --format junit --output gate.xml",
  exits: ["pass", "error", "invalidInput"],
  options: {
    format: { type: "string", description: "What to write", valueHint: EXPORT_FORMATS.join("|") },
    output: { type: "string", description: "File to write (default stdout)", valueHint: "FILE" },
  },
  run: async ({ positionals, text, console }) => {
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
    try {
      writeFileSync(text.output, bytes);
    } catch (error) {
      throw new GateError("WRITE_FAILED", `${text.output} cannot be written: ${(error as Error).message}`, {
        kind: "error",
        where: text.output,
      });
    }
    console.print(`wrote ${text.output} (${readFileSync(text.output).length} bytes)`);
    console.document({ output: text.output, format: text.format, bytes: bytes.length });
    return ExitCode.pass;
  },
};
