import { readFileSync } from "node:fs";
import * as v from "valibot";
import { parse, YAMLParseError } from "yaml";
import { GateError, invalidInput } from "../core/errors.ts";
import { type ConfigFile, ConfigSchema } from "./schema.ts";

/** Larger files are not configuration; the cap keeps a wrong path from being read whole. */
const MAX_CONFIG_BYTES = 1024 * 1024;

const EXAMPLE_HINT = "`stormlog-gate init` in an empty directory writes a commented example.";

/** One problem with what to correct; the validator's own messages name types and lengths only. */
function problemText(issue: v.BaseIssue<unknown>): string {
  const place = v.getDotPath(issue);
  if (place === null) return issue.input === null ? "it is empty" : "it has no keys such as scenarios";
  // A strict object expects "never" for a key that it does not know.
  if (issue.expected === "never") return `${place} is an unknown key`;
  if (issue.input === undefined) return `${place} is missing`;
  const [, expected, received] = /^Invalid \w+: Expected (.+) but received (.+)$/.exec(issue.message) ?? [];
  if (expected === undefined) return `${place} ${issue.message}`;
  return `${place} must be ${expected.replace(/^\((.*)\)$/, "$1").replaceAll(" | ", " or ")}, not ${received}`;
}

/** Check a configuration. @throws GateError CONFIG_SYNTAX, CONFIG_INVALID, CONFIG_DUPLICATE_SCENARIO (exit 5) */
export function parseConfig(text: string, where: string): ConfigFile {
  let document: unknown;
  try {
    // maxAliasCount bounds alias expansion ("billion laughs"); uniqueKeys is on by default and must stay so.
    document = parse(text, { maxAliasCount: 100 });
  } catch (error) {
    const message = error instanceof YAMLParseError ? error.message.split("\n")[0] : String(error);
    throw invalidInput("CONFIG_SYNTAX", `${where} is not valid YAML: ${message}`, where);
  }
  const result = v.safeParse(ConfigSchema, document);
  if (!result.success) {
    const problems = result.issues.map(problemText).join("; ");
    throw invalidInput("CONFIG_INVALID", `${where} is not a configuration: ${problems}`, where, EXAMPLE_HINT);
  }
  const seen = new Set<string>();
  for (const { name } of result.output.scenarios) {
    if (seen.has(name))
      throw invalidInput("CONFIG_DUPLICATE_SCENARIO", `${where} names scenario "${name}" twice`, where);
    seen.add(name);
  }
  return result.output;
}

/** @throws GateError CONFIG_NOT_FOUND, CONFIG_UNREADABLE, CONFIG_TOO_LARGE, those of {@link parseConfig} (exit 5) */
export function loadConfig(file: string): ConfigFile {
  let text: string;
  try {
    const bytes = readFileSync(file);
    if (bytes.length > MAX_CONFIG_BYTES) {
      throw invalidInput("CONFIG_TOO_LARGE", `${file} is larger than 1 MiB and cannot be a configuration file`, file);
    }
    text = bytes.toString("utf8");
  } catch (error) {
    if (error instanceof GateError) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT") {
      throw invalidInput(
        "CONFIG_NOT_FOUND",
        `the configuration file ${file} does not exist`,
        file,
        "Run `stormlog-gate init` to write one.",
      );
    }
    if (code === "EISDIR")
      throw invalidInput("CONFIG_UNREADABLE", `${file} is a directory`, file, "Name the file in it.");
    throw invalidInput("CONFIG_UNREADABLE", `${file} cannot be read: ${(error as Error).message}`, file);
  }
  return parseConfig(text, file);
}
