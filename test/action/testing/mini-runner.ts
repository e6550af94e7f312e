import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const FILE_COMMANDS = ["GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY"] as const;

/** The runner's own waits between the signals of a cancellation, milliseconds. */
const TERM_AFTER_MS = 7500;
const KILL_AFTER_MS = 2500;

export interface RunnerCommand {
  readonly command: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly message: string;
}

export interface StepResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Signals of a cancellation that were sent before the step ended: it is in time when SIGINT is the only one. */
  readonly signals: readonly NodeJS.Signals[];
  readonly log: string;
  readonly outputs: Readonly<Record<string, string>>;
  readonly state: Readonly<Record<string, string>>;
  /** Variables that later steps of the job get. */
  readonly variables: Readonly<Record<string, string>>;
  readonly summary: string;
  /** Workflow commands that the runner would obey: those between stop-commands and its token are not among them. */
  readonly commands: readonly RunnerCommand[];
}

export interface StepOptions {
  readonly node: string;
  readonly script: string;
  readonly cwd: string;
  readonly inputs?: Readonly<Record<string, string>>;
  /**
   * Variables the runner and the job set; nothing else of this process's environment reaches the step but PATH and
   * HOME.
   */
  readonly env: Readonly<Record<string, string>>;
  /** Cancel when this resolves. */
  readonly cancel?: (output: () => string) => Promise<void>;
  readonly timeoutMs?: number;
  /** Directory of the runner's file commands, instead of a fresh one that is removed afterwards. */
  readonly commands?: string;
  /** How many times as fast the step's clock runs; the commands that it measures keep real time. */
  readonly clock?: number;
}

const FAST_CLOCK = new URL("./fast-clock.mjs", import.meta.url).href;

/**
 * `key=value` and `key<<delimiter` blocks, as the runner reads them.
 * @param isCut a limit on the size of files can have cut the file: what follows its last whole value is left out
 * @throws Error when a line is neither, or a block has no end
 */
export function parseFileCommand(text: string, isCut = false): Record<string, string> {
  const values: Record<string, string> = {};
  const lines = text.split(/\r?\n/);
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const block = /^([^=<]+)<<(.+)$/.exec(line);
    const end = block ? lines.indexOf(block[2] ?? "", at + 1) : at;
    if (end < 0 || (!block && !line.includes("=") && line !== "")) {
      if (isCut) return values;
      throw new Error(end < 0 ? `the value of ${block?.[1]} has no end` : `"${line}" is not a file command`);
    }
    if (block) values[block[1] ?? ""] = lines.slice(at + 1, end).join("\n");
    else if (line !== "") values[line.slice(0, line.indexOf("="))] = line.slice(line.indexOf("=") + 1);
    at = end;
  }
  return values;
}

const decode = (text: string): string =>
  text.replace(/%0D/g, "\r").replace(/%0A/g, "\n").replace(/%3A/g, ":").replace(/%2C/g, ",").replace(/%25/g, "%");

/** The commands a runner obeys in a log, in order. Its lines end at a lone carriage return too. */
export function parseCommands(log: string): readonly RunnerCommand[] {
  const commands: RunnerCommand[] = [];
  let token: string | null = null;
  for (const line of log.split(/\r\n|\r|\n/)) {
    if (token !== null) {
      // Names of commands are compared without regard to case.
      if (line.trim().toLowerCase() === `::${token}::`.toLowerCase()) token = null;
      continue;
    }
    // The older form counts anywhere in a line.
    const match =
      /^\s*::([A-Za-z][\w-]*)(| [^\n]*?)::(.*)$/.exec(line) ?? /##\[([A-Za-z][\w-]*)(| [^\n\]]*)\](.*)$/.exec(line);
    if (!match) continue;
    const [, command = "", props = "", message = ""] = match;
    if (command === "stop-commands") {
      token = message;
      continue;
    }
    const pairs = props
      .trim()
      .split(",")
      .filter((pair) => pair.includes("="))
      .map((pair): [string, string] => [pair.slice(0, pair.indexOf("=")), decode(pair.slice(pair.indexOf("=") + 1))]);
    commands.push({ command, properties: Object.fromEntries(pairs), message: decode(message) });
  }
  if (token !== null) throw new Error("workflow commands were stopped and never resumed");
  return commands;
}

/** Run a built file of the Action as the runner does. */
export async function runStepFile(options: StepOptions): Promise<StepResult> {
  const directory = options.commands ?? mkdtempSync(path.join(tmpdir(), "stormlog-runner-"));
  const env: Record<string, string> = {
    PATH: process.env.PATH ?? "",
    HOME: process.env.HOME ?? "",
    LANG: "C.UTF-8",
    CI: "true",
    GITHUB_ACTIONS: "true",
    RUNNER_OS: "Linux",
    ...(options.clock === undefined
      ? {}
      : { NODE_OPTIONS: `--import ${FAST_CLOCK}`, STORMLOG_TEST_CLOCK: String(options.clock) }),
    ...options.env,
  };
  for (const name of FILE_COMMANDS) {
    env[name] = path.join(directory, name);
    writeFileSync(path.join(directory, name), "");
  }
  for (const [name, value] of Object.entries(options.inputs ?? {})) env[`INPUT_${name.toUpperCase()}`] = value;
  const child = spawn(options.node, [options.script], { cwd: options.cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const timers: NodeJS.Timeout[] = [];
  const signals: NodeJS.Signals[] = [];
  const send = (name: NodeJS.Signals): void => {
    signals.push(name);
    child.kill(name);
  };
  const cancel = (): void => {
    if (signals.length > 0) return;
    send("SIGINT");
    const clock = options.clock ?? 1;
    timers.push(setTimeout(() => send("SIGTERM"), TERM_AFTER_MS / clock));
    timers.push(setTimeout(() => send("SIGKILL"), (TERM_AFTER_MS + KILL_AFTER_MS) / clock));
  };
  timers.push(setTimeout(cancel, options.timeoutMs ?? 120_000));
  options.cancel?.(() => log).then(cancel, cancel);
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exitCode, exitSignal) => resolve([exitCode, exitSignal]));
  });
  for (const timer of timers) clearTimeout(timer);
  /** The runner takes a file that is missing for an empty one. */
  const read = (name: (typeof FILE_COMMANDS)[number]): string => {
    const file = path.join(directory, name);
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  };
  // The runner fails a step whose file is cut, so that only a step that failed may leave one.
  const values = (name: (typeof FILE_COMMANDS)[number]): Record<string, string> =>
    parseFileCommand(read(name), code !== 0);
  try {
    return {
      code,
      signal,
      signals,
      log,
      outputs: values("GITHUB_OUTPUT"),
      state: values("GITHUB_STATE"),
      variables: values("GITHUB_ENV"),
      summary: read("GITHUB_STEP_SUMMARY"),
      commands: parseCommands(log),
    };
  } finally {
    if (options.commands === undefined) rmSync(directory, { recursive: true, force: true });
  }
}
