import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { messageOf } from "../errors.ts";
import { ciJob, type Environment, inPipeline } from "./environment.ts";

/** A helper program of the gate, and whether only the machine's administrator can replace it. */
interface HelperProgram {
  readonly path: string;
  readonly guarded: boolean;
}

/** What a helper program is started with. */
interface Programs {
  readonly find: (name: string) => HelperProgram | null;
  /** `PATH` of helpers: in a pipeline without directories that this user can write. */
  readonly searchPath: string;
  /** Whether this is a pipeline. On a person's machine, programs in directories of this user are usual. */
  readonly strict: boolean;
}

const SYSTEM_PATH = "/usr/bin:/bin";

const [GROUP_WRITES, OTHERS_WRITE, STICKY] = [0o020, 0o002, 0o1000];

/** Whether this user can replace a file or add to a directory, or do so above it. Root can replace any file. */
export function isReplaceable(file: string): boolean {
  const user = process.getuid?.();
  if (user === undefined || user === 0) return false;
  for (let at = file; ; at = path.dirname(at)) {
    const { uid, mode } = statSync(at);
    // With an access control list, the bits of the group are those of its mask.
    const writes = (mode & OTHERS_WRITE) !== 0 || ((mode & GROUP_WRITES) !== 0 && isWritable(at));
    // In a sticky directory, such as /tmp, only the owner of a file replaces it.
    if (uid === user || (writes && (at === file || (mode & STICKY) === 0))) return true;
    if (at === path.dirname(at)) return false;
  }
}

function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function programAt(directory: string, name: string): HelperProgram | null {
  const file = path.join(directory, name);
  try {
    accessSync(file, constants.X_OK);
    if (!statSync(file).isFile()) return null;
    return { path: file, guarded: !isReplaceable(file) && !isReplaceable(realpathSync(file)) };
  } catch {
    return null;
  }
}

function isGuardedDirectory(directory: string): boolean {
  try {
    return !isReplaceable(directory) && !isReplaceable(realpathSync(directory));
  } catch {
    return false;
  }
}

/** Helper programs by `PATH`. In a pipeline, one that this user cannot replace is preferred. */
export function programsOf(env: Environment): Programs {
  const strict = inPipeline(env);
  const directories = [...new Set((env.PATH || SYSTEM_PATH).split(":"))].filter((entry) => path.isAbsolute(entry));
  const found = new Map<string, HelperProgram | null>();
  const usable = strict ? directories.filter(isGuardedDirectory) : directories;
  return {
    strict,
    searchPath: usable.join(":") || SYSTEM_PATH,
    find(name) {
      const known = found.get(name);
      if (known !== undefined) return known;
      const all = directories.map((directory) => programAt(directory, name)).filter((program) => program !== null);
      const program = (strict ? all.find(({ guarded }) => guarded) : undefined) ?? all[0] ?? null;
      found.set(name, program);
      return program;
    },
  };
}

let programs: Programs | undefined;

/** The helper programs of this process. Each is looked up once, before measured code could put another in its place. */
export function helperPrograms(): Programs {
  programs ??= programsOf(process.env);
  return programs;
}

/** The whole environment of a helper: no token, no file of the step, and nothing that changes what it loads. */
export function helperEnvironment(): Record<string, string> {
  const { TMPDIR } = process.env;
  const { tracking } = ciJob(process.env);
  return {
    PATH: helperPrograms().searchPath,
    LANG: "C.UTF-8",
    LC_ALL: "C",
    ...(TMPDIR === undefined ? {} : { TMPDIR }),
    // The runner ends what carries it, should this process be killed.
    ...(tracking === null ? {} : { RUNNER_TRACKING_ID: tracking }),
  };
}

export interface ChildOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string;
  /** The child's process group is killed after this time. */
  readonly timeoutMs: number;
  /** Maximum size of each output; the child is killed beyond it. */
  readonly maxBytes?: number;
  /** The child is killed when it fires. */
  readonly signal?: AbortSignal | undefined;
  /** Takes over standard input and output, which then are neither written nor collected. */
  readonly exchange?: (stdin: Writable, stdout: Readable) => Promise<void>;
}

export interface ChildResult {
  readonly end:
    | { readonly kind: "exit"; readonly code: number }
    | { readonly kind: "killed"; readonly cause: "timeout" | "interrupt" | "output" | "signal" }
    | { readonly kind: "not-started"; readonly reason: string };
  readonly stdout: string;
  readonly stderr: string;
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Pids of running helper programs: Node waits for them, so that their end must not be reaped by others. */
const helpers = new Set<number>();

/** Whether a child of this process is a helper program that it waits for. */
export const isHelper = (pid: number): boolean => helpers.has(pid);

/** Run a helper program to its end, in a process group of its own; never throws, and ends by its deadline. */
export function runChild(file: string, args: readonly string[], options: ChildOptions): Promise<ChildResult> {
  const { env, cwd, timeoutMs, maxBytes = 64 * 2 ** 20, signal, exchange } = options;
  return new Promise((resolve) => {
    let child: ChildProcess;
    const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    const text = (name: "stdout" | "stderr"): string => Buffer.concat(output[name]).toString("utf8");
    const finish = (end: ChildResult["end"]): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      resolve({ end, stdout: text("stdout"), stderr: text("stderr") });
    };
    let cause: "timeout" | "interrupt" | "output" | null = null;
    const stop = (why: "timeout" | "interrupt" | "output"): void => {
      cause ??= why;
      killGroup(child);
      // What left the group may still hold the pipes.
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
    };
    const onAbort = (): void => stop("interrupt");
    const timer = setTimeout(() => stop("timeout"), timeoutMs);
    try {
      child = spawn(file, args, { env, detached: true, stdio: "pipe", ...(cwd === undefined ? {} : { cwd }) });
    } catch (error) {
      finish({ kind: "not-started", reason: messageOf(error) });
      return;
    }
    const { pid } = child;
    if (pid !== undefined) {
      helpers.add(pid);
      child.once("exit", () => helpers.delete(pid));
    }
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted === true) stop("interrupt");
    child.on("error", (error) => {
      if (child.pid === undefined) finish({ kind: "not-started", reason: error.message });
    });
    child.on("close", (code) => {
      if (cause !== null) finish({ kind: "killed", cause });
      else finish(code === null ? { kind: "killed", cause: "signal" } : { kind: "exit", code });
    });
    const collect = (name: "stdout" | "stderr"): void => {
      let size = 0;
      child[name]?.on("error", () => {});
      child[name]?.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > maxBytes) stop("output");
        else output[name].push(chunk);
      });
    };
    collect("stderr");
    // A child may end before it has read its input. This is reported as its result.
    child.stdin?.on("error", () => {});
    if (exchange === undefined || child.stdin === null || child.stdout === null) {
      collect("stdout");
      child.stdin?.end(options.input ?? "");
    } else {
      exchange(child.stdin, child.stdout).catch(() => stop("output"));
    }
  });
}
