import { GateError } from "../../core/errors.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { packageVersion } from "../../core/package-root.ts";
import { COMMANDS } from "../commands/commands.ts";
import { consoleOf, parseArguments } from "../console/command.ts";
import { commandHelp } from "./help.ts";

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
