import type { ArgsDef } from "citty";
import { GateError } from "../../core/errors.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { packageVersion } from "../../core/package-root.ts";
import { COMMANDS } from "../commands/commands.ts";
import { type CommandSpec, consoleOf, optionsOf, parseArguments } from "../console/command.ts";

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

async function answerTo(args: readonly string[]): Promise<HelpOutput | null> {
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
  const text = await commandHelp(spec);
  return { text, exit: ExitCode.pass, document: { help: text } };
}

/**
 * Print the overview, the version or the help of a command if that is asked for.
 * @returns the exit status; null when a command is to run, or the request is wrong
 */
export async function printAnswer(args: readonly string[]): Promise<ExitCode | null> {
  const answer = await answerTo(args);
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

/** The command's options in the form citty renders help from. */
function helpArguments(spec: CommandSpec): ArgsDef {
  const entries: [string, ArgsDef[string]][] = Object.entries(spec.positionals).map(([name, description]) => [
    name.replace(/[[\]]/g, "").toLowerCase(),
    { type: "positional", required: !name.startsWith("["), description },
  ]);
  for (const [name, option] of Object.entries(optionsOf(spec))) {
    const hint = option.valueHint === undefined ? {} : { valueHint: option.valueHint };
    entries.push([name, { type: option.type, description: option.description, ...hint }]);
  }
  return Object.fromEntries(entries);
}

/** A section of two columns. */
function section(title: string, rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return [title, "", ...rows.map(([left, right]) => `  ${left.padStart(width)}    ${right}`)].join("\n");
}

/** The whole help of a command: usage, arguments, actions, options, an example and the exit status. */
export async function commandHelp(spec: CommandSpec): Promise<string> {
  // citty decides about colours when it is loaded.
  if (process.stdout.isTTY !== true) process.env.NO_COLOR = "1";
  const { renderUsage } = await import("citty");
  const usage = await renderUsage({
    meta: { name: `stormlog-gate ${spec.name}`, description: spec.description },
    args: helpArguments(spec),
  });
  const text = usage.replace(/[ \t]+$/gm, "").trimEnd();
  const exits = Object.entries(ExitCode).filter(([name]) => ["usage", ...spec.exits].includes(name)) as (readonly [
    keyof typeof ExitCode,
    ExitCode,
  ])[];
  return [
    // citty knows no command behind `--`.
    spec.takesCommand ? text.replace(/^(.*USAGE.*?)\s*$/m, "$1 [-- COMMAND…]") : text,
    ...(spec.actions === undefined ? [] : [section("ACTIONS", Object.entries(spec.actions))]),
    `EXAMPLE\n\n  ${spec.example}`,
    section(
      "EXIT STATUS",
      exits.map(([name, code]) => [String(code), spec.exitMeanings?.[name] ?? EXIT_MEANING[name]] as const),
    ),
  ].join("\n\n");
}
