import { GateError } from "../../core/errors.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { groupBy } from "../../core/group-by.ts";
import { packageVersion } from "../../core/package-root.ts";
import { usableWidth, wrapText } from "../../report/terminal/terminal-table.ts";
import { COMMANDS } from "../commands/commands.ts";
import {
  type CommandSpec,
  consoleOf,
  FIRST_GROUP,
  GLOBAL_OPTIONS,
  type OptionSpec,
  optionsOf,
  parseArguments,
  SHORT,
} from "../console/command.ts";

function overview(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    "stormlog-gate: a CI gate for GPU and host memory",
    "",
    "Usage: stormlog-gate <command> [options]",
    "",
    ...lines,
    "",
    "Start with `stormlog-gate demo`. `stormlog-gate <command> --help` explains one command.",
  ].join("\n");
}

interface HelpOutput {
  readonly text: string;
  readonly exit: ExitCode;
  readonly document?: unknown;
}

function answerTo(args: readonly string[]): HelpOutput | null {
  const name = args[0];
  if (name === undefined) return { text: overview(), exit: ExitCode.usage };
  if (name === "--help" || name === "-h" || name === "help") return { text: overview(), exit: ExitCode.pass };
  if (name === "--version" || name === "-v") return { text: packageVersion(), exit: ExitCode.pass };
  const spec = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (spec === undefined) return null;
  try {
    if (parseArguments(spec, args.slice(1)).flags.help !== true) return null;
  } catch {
    // The program parses it again and reports what is wrong.
    return null;
  }
  const text = commandHelp(spec, process.stdout.columns);
  return { text, exit: ExitCode.pass, document: { help: text } };
}

/**
 * Print the overview, the version or the help of a command if that is asked for.
 * @returns the exit status; null when a command is to run, or the request is wrong
 */
export async function printAnswer(args: readonly string[]): Promise<ExitCode | null> {
  const answer = answerTo(args);
  if (answer === null) return null;
  const console = consoleOf(args);
  console.print(answer.text);
  try {
    if (answer.document !== undefined) console.document(answer.document);
    return answer.exit;
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    process.stderr.write(`error ${error.code}: ${error.message}\n`);
    return error.exitCode;
  }
}

/** What each exit status means, as in docs/commands.md. */
export const EXIT_MEANING: Readonly<Record<keyof typeof ExitCode, string>> = {
  pass: "pass, or a warning",
  error: "error: the command failed, or the measured command failed or timed out",
  usage: "usage: a wrong option or argument",
  findings: "findings, in commands that do not gate",
  gateFailed: "the gate failed",
  invalidInput: "invalid input",
  unjudged: "unjudged: there was nothing comparable",
  interrupted: "interrupted",
};

/** A longer left column stands in a line of its own. */
const MAX_LEFT = 30;

/** A section of two columns; the right one is wrapped. */
function section(title: string, rows: readonly (readonly [string, string])[], width: number): string {
  const left = Math.min(MAX_LEFT, Math.max(...rows.map(([name]) => name.length)));
  const indent = " ".repeat(left + 4);
  const lines = rows.flatMap(([name, meaning]) => {
    const [first = "", ...rest] = wrapText(meaning, width - indent.length, "").map((line) => indent + line);
    return name.length > left
      ? [`  ${name}`, first, ...rest]
      : [`  ${name.padEnd(left)}${first.slice(left + 2)}`, ...rest];
  });
  return [title, "", ...lines].join("\n");
}

/** `-v, --verbose`, `--budget METRIC=SIZE`. */
function optionText(name: string, { valueHint }: OptionSpec): string {
  const short = SHORT[name] === undefined ? "" : `-${SHORT[name]}, `;
  return `${short}--${name}${valueHint === undefined ? "" : ` ${valueHint}`}`;
}

/** The options by group, in the order in which the command has them; those of every command last. */
function optionSections(spec: CommandSpec, width: number): string[] {
  const groups = groupBy(Object.entries(optionsOf(spec)), ([name, { group }]) =>
    name in GLOBAL_OPTIONS ? "OPTIONS OF EVERY COMMAND" : (group ?? "OPTIONS"),
  );
  const first = [...groups].sort(([a], [b]) => Number(b === FIRST_GROUP) - Number(a === FIRST_GROUP));
  return first.map(([title, options]) =>
    section(
      title,
      options.map(([name, option]) => [optionText(name, option), option.description]),
      width,
    ),
  );
}

/** The whole help of a command: usage, arguments, actions, options, an example and the exit status. */
export function commandHelp(spec: CommandSpec, columns = 80): string {
  const width = usableWidth(columns, 100);
  const positionals = Object.entries(spec.positionals);
  const words = [...positionals.map(([name]) => name), ...(spec.takesCommand ? ["[-- COMMAND…]"] : [])];
  const exits = Object.entries(ExitCode).filter(([name]) => ["usage", ...spec.exits].includes(name)) as (readonly [
    keyof typeof ExitCode,
    ExitCode,
  ])[];
  return [
    wrapText(`${spec.description}.`, width, "").join("\n"),
    `USAGE\n\n  ${["stormlog-gate", spec.name, "[options]", ...words].join(" ")}`,
    `EXAMPLE\n\n  ${spec.example}`,
    ...(positionals.length === 0 ? [] : [section("ARGUMENTS", positionals, width)]),
    ...(spec.actions === undefined ? [] : [section("ACTIONS", Object.entries(spec.actions), width)]),
    ...optionSections(spec, width),
    section(
      "EXIT STATUS",
      exits.map(([name, code]) => [String(code), spec.exitMeanings?.[name] ?? EXIT_MEANING[name]] as const),
      width,
    ),
  ].join("\n\n");
}
