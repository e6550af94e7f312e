import { parseArgs } from "node:util";
import { type GateError, messageOf, usageError } from "../../core/errors.ts";
import type { ExitCode } from "../../core/exit-codes.ts";
import { didYouMean } from "../../core/text.ts";
import { type Console, processConsole } from "./console.ts";

/** One option of a command; `multiple` collects repeats. */
export interface OptionSpec {
  readonly type: "string" | "boolean";
  readonly description: string;
  readonly valueHint?: string;
  readonly multiple?: true;
  /** Title of its section in the help; absent: no other than "OPTIONS". */
  readonly group?: string;
}

/** The section of the help that comes first: what most people need. */
export const FIRST_GROUP = "MOST USED OPTIONS";

/** Options of every command. */
export const GLOBAL_OPTIONS = {
  json: { type: "boolean", description: "Print one JSON document on stdout; everything else goes to stderr" },
  config: { type: "string", description: "Configuration file", valueHint: "FILE" },
  quiet: { type: "boolean", description: "Print the verdict and errors alone" },
  verbose: { type: "boolean", description: "Print all checks, findings, notes and statistics" },
  "no-color": { type: "boolean", description: "Print without colours" },
  debug: { type: "boolean", description: "Print stack traces" },
  help: { type: "boolean", description: "Show this help" },
} as const satisfies Record<string, OptionSpec>;

/** Letters for options of every command. */
export const SHORT: Readonly<Record<string, string>> = { help: "h", quiet: "q", verbose: "v" };

/** The argument of a command's program. */
export interface Invocation {
  /** Text options by name; absent = not given. */
  readonly text: Readonly<Record<string, string | undefined>>;
  readonly lists: Readonly<Record<string, readonly string[]>>;
  readonly flags: Readonly<Record<string, boolean>>;
  readonly positionals: readonly string[];
  /** The arguments after `--`; null without one. */
  readonly rest: readonly string[] | null;
  readonly console: Console;
  /** The whole command line, for reports. */
  readonly argv: readonly string[];
}

/** A command as its help and the parser see it. */
export interface CommandSpec {
  readonly name: string;
  /** For the overview of all commands. */
  readonly summary: string;
  /** For its own help. */
  readonly description: string;
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** Positionals with their meaning, in order: `[OPTIONAL]`; a trailing `…` takes any number. */
  readonly positionals: Readonly<Record<string, string>>;
  /** Values of a first positional ACTION with what they do. */
  readonly actions?: Readonly<Record<string, string>>;
  /** One complete command line for the help. */
  readonly example: string;
  /** How it can end, besides a usage error. */
  readonly exits: readonly (keyof typeof ExitCode)[];
  /** What statuses mean here, where that is not what they mean for the gate. */
  readonly exitMeanings?: Partial<Readonly<Record<keyof typeof ExitCode, string>>>;
  /** Whether a measured command may follow after `--`. */
  readonly takesCommand?: true;
  /** It reads no configuration file. */
  readonly withoutConfig?: true;
}

/** All options of a command: its own before those of every command. */
export function optionsOf({ options, withoutConfig }: CommandSpec): Readonly<Record<string, OptionSpec>> {
  const { config: _config, ...others } = GLOBAL_OPTIONS;
  return { ...options, ...(withoutConfig ? others : GLOBAL_OPTIONS) };
}

/** Split at the first bare `--`: what follows belongs to the measured command and is never parsed. */
export function splitCommand(args: readonly string[]): {
  readonly own: readonly string[];
  readonly rest: readonly string[] | null;
} {
  const at = args.indexOf("--");
  return at < 0 ? { own: args, rest: null } : { own: args.slice(0, at), rest: args.slice(at + 1) };
}

/** Whether an option of every command is given, before anything is parsed. */
export function globalFlag(args: readonly string[], name: keyof typeof GLOBAL_OPTIONS): boolean {
  const { own } = splitCommand(args);
  return own.includes(`--${name}`) || (name in SHORT && own.includes(`-${SHORT[name]}`));
}

/** The console that a command line asks for. */
export function consoleOf(args: readonly string[]): Console {
  const [json, color] = [globalFlag(args, "json"), !globalFlag(args, "no-color")];
  return processConsole({ json, color, quiet: globalFlag(args, "quiet") });
}

export type ParsedArguments = Omit<Invocation, "console" | "argv">;

/**
 * Parse arguments strictly.
 * @throws GateError OPTION_UNKNOWN, OPTION_INVALID, ARGUMENT_UNEXPECTED, ARGUMENT_MISSING (usage)
 */
export function parseArguments(spec: CommandSpec, args: readonly string[]): ParsedArguments {
  const { own, rest } = splitCommand(args);
  const options = optionsOf(spec);
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({
      args: [...own],
      allowPositionals: true,
      strict: true,
      tokens: true,
      options: Object.fromEntries(
        Object.entries(options).map(([name, option]) => [
          name,
          { type: option.type, multiple: option.multiple ?? false, ...(name in SHORT ? { short: SHORT[name] } : {}) },
        ]),
      ),
    });
  } catch (error) {
    throw optionError(spec, own, Object.keys(options), messageOf(error));
  }
  const text: Record<string, string> = {};
  const lists: Record<string, string[]> = {};
  const flags: Record<string, boolean> = {};
  for (const [name, value] of Object.entries(parsed.values)) {
    if (Array.isArray(value)) lists[name] = value.map(String);
    else if (typeof value === "string") text[name] = value;
    else if (value !== undefined) flags[name] = value;
  }
  if (flags.quiet && flags.verbose) throw usageError("OPTION_INVALID", "--quiet and --verbose contradict each other");
  if (flags.help !== true) {
    checkRepeats(spec, options, parsed.tokens ?? []);
    checkPositionals(spec, parsed.positionals, rest);
  }
  return { text, lists, flags, positionals: parsed.positionals, rest };
}

/** What is wrong with the options, from the message of Node's parser. */
function optionError(spec: CommandSpec, own: readonly string[], known: readonly string[], text: string): GateError {
  const message = text.split(". ")[0] ?? "bad options";
  const [, name] = /^Unknown option '--([^']+)'/.exec(message) ?? [];
  const near = name === undefined ? "" : didYouMean(name, known, "--");
  // An option after a first word that is not an option belongs to a command without its `--`.
  const isCommand = spec.takesCommand && spec.actions === undefined && near === "" && own[0]?.startsWith("-") === false;
  return usageError(
    "OPTION_UNKNOWN",
    message,
    isCommand ? COMMAND_BEHIND : `${near}See \`stormlog-gate ${spec.name} --help\`.`,
  );
}

/** Node's parser keeps the last value of a repeated option and drops the others. */
function checkRepeats(
  spec: CommandSpec,
  options: Readonly<Record<string, OptionSpec>>,
  tokens: NonNullable<ReturnType<typeof parseArgs>["tokens"]>,
): void {
  const given = new Set<string>();
  for (const token of tokens) {
    if (token.kind !== "option" || options[token.name]?.type !== "string") continue;
    if (given.has(token.name) && options[token.name]?.multiple !== true) {
      throw usageError(
        "OPTION_INVALID",
        `--${token.name} is given more than once`,
        `It takes one value. See \`stormlog-gate ${spec.name} --help\`.`,
      );
    }
    given.add(token.name);
  }
}

const COMMAND_BEHIND = "Write the command to measure after `--`.";

function checkPositionals(spec: CommandSpec, given: readonly string[], rest: readonly string[] | null): void {
  const names = Object.keys(spec.positionals);
  const many = names.some((name) => name.endsWith("…"));
  const required = names.filter((name) => !name.startsWith("[")).length;
  if (given.length < required) {
    throw usageError(
      "ARGUMENT_MISSING",
      `\`${spec.name}\` needs ${names.map((name) => name.replace("…", "")).join(" ")}`,
      `See \`stormlog-gate ${spec.name} --help\`.`,
    );
  }
  if (!many && given.length > names.length) {
    const extra = given[names.length];
    const hint = spec.takesCommand ? COMMAND_BEHIND : `See \`stormlog-gate ${spec.name} --help\`.`;
    throw usageError("ARGUMENT_UNEXPECTED", `"${extra}" is unexpected`, hint);
  }
  if (rest !== null && !spec.takesCommand) {
    throw usageError("ARGUMENT_UNEXPECTED", `\`${spec.name}\` takes no command after \`--\``);
  }
  if (rest !== null && rest.length === 0) throw usageError("NO_COMMAND", "expected a command after `--`");
}

/** The action that a first positional names. @throws GateError ACTION_UNKNOWN (usage) */
export function actionOf<Action extends string>(
  command: string,
  actions: Readonly<Record<Action, unknown>>,
  word = "",
): Action {
  if (Object.hasOwn(actions, word)) return word as Action;
  const known = Object.keys(actions);
  throw usageError(
    "ACTION_UNKNOWN",
    `\`${command} ${word}\` is unknown`,
    `${didYouMean(word, known)}Actions: ${known.join(", ")}.`,
  );
}
