import { GateError, limitReached, messageOf, usageError } from "../core/errors.ts";
import { escapeTerminal } from "../core/escape.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { cutText, didYouMean, oneLine } from "../core/text.ts";
import { COMMANDS, type CommandName } from "./commands/commands.ts";
import { PROGRAMS } from "./commands/programs.ts";
import { consoleOf, globalFlag, parseArguments } from "./console/command.ts";
import type { Console } from "./console/console.ts";

function checkOwnDirectory(): void {
  try {
    process.cwd();
  } catch {
    throw new GateError("CWD_GONE", "the working directory does not exist any more", {
      hint: "Change to a directory that exists.",
    });
  }
}

async function dispatch(args: readonly string[], console: Console): Promise<number> {
  const name = args[0] ?? "";
  const spec = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (spec === undefined && name.startsWith("-")) {
    throw usageError("COMMAND_MISSING", `expected a command, got "${name}"`, "Options come after the command.");
  }
  if (spec === undefined)
    throw usageError(
      "COMMAND_UNKNOWN",
      `unknown command "${name}"`,
      `${didYouMean(name, Object.keys(COMMANDS))}Run \`stormlog-gate --help\` for a list.`,
    );
  checkOwnDirectory();
  const parsed = parseArguments(spec, args.slice(1));
  const run = await PROGRAMS[name as CommandName]();
  return run({ ...parsed, console, argv: ["stormlog-gate", ...args] });
}

/** Maximum length of a message and of its hint: a file of a megabyte can be one name, or have ten thousand problems. */
const MAX_TEXT = 4000;

/** What a failure looks like to a person: code, message, what to do; a stack only with `--debug`. */
function describe(
  error: unknown,
  debug: boolean,
): { readonly text: string; readonly code: string; readonly exit: number } {
  if (error instanceof GateError) {
    const where = error.where === undefined || error.message.includes(error.where) ? "" : ` (${error.where})`;
    const hint = error.hint === undefined ? "" : `\n  ${error.hint}`;
    const stack = debug && error.stack !== undefined ? `\n${error.stack}` : "";
    return {
      // Names and values in it may have line breaks.
      text: `error ${error.code}: ${oneLine(cutText(`${error.message}${where}`, MAX_TEXT))}${cutText(hint, MAX_TEXT)}${stack}`,
      code: error.code,
      exit: error.exitCode,
    };
  }
  const limit = limitReached(error);
  if (limit !== null) return describe(limit, debug);
  const failure = error instanceof Error ? error : new Error(String(error));
  const text = debug
    ? (failure.stack ?? failure.message)
    : `${failure.message}\n  This is a bug in stormlog-gate. Rerun with --debug for a stack trace.`;
  return { text: `error INTERNAL: ${text}`, code: "INTERNAL", exit: ExitCode.error };
}

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  const console = consoleOf(args);
  try {
    return await dispatch(args, console);
  } catch (error) {
    const { text, code, exit } = describe(error, globalFlag(args, "debug"));
    process.stderr.write(`${escapeTerminal(text)}\n`);
    console.document({ error: { code, message: messageOf(error) } });
    return exit;
  }
}

// A reader that goes away (`| head`) ends the output, not the work.
process.stdout.on("error", () => {});
process.stderr.on("error", () => {});
process.exitCode = await main();
