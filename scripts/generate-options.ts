// Writes the options of `run` into action.yml and the tables of the documentation, and the references of the config
// file, of metrics and of findings. `npm run options` writes; a test compares.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { parse, stringify } from "yaml";
import { EXIT_MEANING } from "../src/cli/help/answers.ts";
import { RUN_OPTION_ENTRIES, type RunOption } from "../src/config/run-options.ts";
import { ExitCode } from "../src/core/exit-codes.ts";
import { packageRoot } from "../src/core/package-root.ts";
import { otherCodes } from "./reference/codes.ts";
import { commandsTable } from "./reference/commands.ts";
import { configTable } from "./reference/config.ts";
import { findingsTable } from "./reference/findings.ts";
import { metricsTable } from "./reference/metrics.ts";

const cell = (text: string): string => text.replaceAll("|", "\\|");

function commandRow(name: string, { value, description, details, default: standard, multiple }: RunOption): string {
  const text = [`${description}.`, multiple && "Repeatable.", details].filter((part) => part).join(" ");
  return `| \`--${name} ${cell(value)}\` | ${standard ?? "–"} | ${cell(text)} |`;
}

function inputRow({ description, default: standard, input }: RunOption): readonly string[] {
  if (input === undefined) return [];
  return [`| \`${input.name}\` | ${input.default ?? standard ?? "–"} | ${cell(description)}. |`];
}

function inputYaml({ value, description, default: standard, input }: RunOption): string {
  if (input === undefined) return "";
  const choices = /^[a-z].*\|/.test(value) ? ` (\`${value}\`)` : "";
  const shown = input.default ?? standard;
  const text = `${description}${choices}.${shown === undefined || input.given !== undefined ? "" : ` Default is ${shown}.`}`;
  const given = input.given === undefined ? {} : { default: input.given };
  return stringify({ [input.name]: { description: text, ...given } }, { lineWidth: 0 });
}

const options = RUN_OPTION_ENTRIES.map(([, option]) => option);
const head = (first: string): string => `| ${first} | default | meaning |\n|---|---|---|\n`;

/** Sizes of the prebuilt native files, which users download. */
function nativeSizes(): string {
  const directory = path.join(packageRoot(), "dist", "prebuilds");
  const platforms = readdirSync(directory).filter((name) => name !== "SHA256SUMS");
  const files = [...new Set(platforms.flatMap((platform) => readdirSync(path.join(directory, platform))))].sort();
  const size = (platform: string, file: string): string => {
    const bytes = statSync(path.join(directory, platform, file), { throwIfNoEntry: false })?.size;
    return bytes === undefined ? "–" : `${Math.round(bytes / 1000)} kB`;
  };
  const rows = files.map(
    (file) => `| \`${file}\` | ${platforms.map((platform) => size(platform, file)).join(" | ")} |\n`,
  );
  return `| file | ${platforms.join(" | ")} |\n|---|${"---:|".repeat(platforms.length)}\n${rows.join("")}`;
}

const ActionManifest = v.object({
  inputs: v.record(v.string(), v.object({ description: v.string(), default: v.optional(v.string()) })),
  outputs: v.record(v.string(), v.object({ description: v.string() })),
});
const manifest = v.parse(ActionManifest, parse(readFileSync(path.join(packageRoot(), "action.yml"), "utf8")));

/** Inputs of the Action that are not options of `run`. */
function ownInputs(): string {
  const ofRun = new Set(options.map(({ input }) => input?.name));
  const rows = Object.entries(manifest.inputs)
    .filter(([name]) => !ofRun.has(name))
    .map(([name, input]) => `| \`${name}\` | ${input.default ?? "–"} | ${cell(input.description)} |\n`);
  return rows.join("");
}

function outputs(): string {
  const rows = Object.entries(manifest.outputs).map(
    ([name, { description }]) => `| \`${name}\` | ${cell(description)} |\n`,
  );
  return `| output | meaning |\n|---|---|\n${rows.join("")}`;
}

function exitCodes(): string {
  const names = Object.keys(ExitCode) as (keyof typeof ExitCode)[];
  const rows = names.map((name) => `| ${ExitCode[name]} | ${EXIT_MEANING[name]} |\n`);
  return `| code | meaning |\n|---|---|\n${rows.join("")}`;
}

/** The lines around a generated part, and its text. */
interface Block {
  readonly file: string;
  readonly begin: string;
  readonly end: string;
  readonly text: string;
}

function block(file: string, name: string, text: string): Block {
  return { file, begin: `<!-- ${name}: npm run options -->\n`, end: `<!-- end of ${name} -->\n`, text };
}

const codes = block("docs/troubleshooting.md", "other codes", "");

const BLOCKS: readonly Block[] = [
  {
    file: "action.yml",
    begin: "  # Options of `run`, from src/config/run-options.ts by `npm run options`.\n",
    end: "  # End of the options of `run`.\n",
    text: options
      .map(inputYaml)
      .join("")
      .replace(/^(?=.)/gm, "  "),
  },
  block("docs/commands.md", "commands", commandsTable()),
  block(
    "docs/commands.md",
    "options of run",
    `${head("option")}${RUN_OPTION_ENTRIES.map(([name, option]) => `${commandRow(name, option)}\n`).join("")}`,
  ),
  block("docs/github-action.md", "inputs", `${head("input")}${ownInputs()}${options.flatMap(inputRow).join("\n")}\n`),
  block("docs/commands.md", "exit codes", exitCodes()),
  block("docs/github-action.md", "outputs", outputs()),
  block("docs/config.md", "the reference", configTable()),
  block("docs/metrics.md", "the reference", metricsTable()),
  block("docs/findings.md", "the reference", findingsTable()),
  block("docs/evidence.md", "native files", nativeSizes()),
  { ...codes, text: otherCodes(codes.begin, codes.end) },
];

/** The files with their generated parts as they should be. @throws where a file has lost the lines around its part */
export function optionFiles(): Readonly<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const { file, begin, end, text } of BLOCKS) {
    const whole = files[file] ?? readFileSync(path.join(packageRoot(), file), "utf8");
    const [from, to] = [whole.indexOf(begin) + begin.length, whole.indexOf(end)];
    if (!whole.includes(begin) || to < from)
      throw new Error(`${file} needs the lines "${begin.trim()}" and "${end.trim()}"`);
    files[file] = `${whole.slice(0, from)}${text}${whole.slice(to)}`;
  }
  return files;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [file, text] of Object.entries(optionFiles())) writeFileSync(path.join(packageRoot(), file), text);
}
