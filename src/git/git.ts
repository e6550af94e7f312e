import { realpathSync } from "node:fs";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { messageOf } from "../core/errors.ts";
import { type ChildResult, helperPrograms, runChild } from "../core/process/child.ts";
import {
  accessTo,
  failure,
  findWorkTree,
  type Names,
  NO_REPOSITORY,
  type Opened,
  openRepository,
  type Repository,
  readNames,
  removeStale,
} from "./repository.ts";

/*
 * The only module that starts git. The repository belongs to the measured code, which may have written hooks, filters
 * and helper programs into it: none of them runs, see `repository.ts`.
 */

export interface GitResult {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

interface GitOptions {
  readonly input?: string;
  /** Variables for git itself, such as the author of a commit. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** Whether the command reaches a remote, which needs the repository's URLs and credentials. */
  readonly network?: boolean;
  /** Another checkout of the repository, with its own index, in which the command runs. */
  readonly workTree?: string;
  /** Whether refs are read and written as they are in the repository, also while they are frozen. */
  readonly live?: boolean;
  /** Takes over standard input and output. */
  readonly exchange?: (stdin: Writable, stdout: Readable) => Promise<void>;
}

/** Maximum time of a command, milliseconds: reading a large work tree from a cold disk takes seconds. */
const TIMEOUT_MS = 30_000;
/** The same once a command had none left, or the gate is to end. */
const SHORT_MS = 2000;

const OTHER_REPOSITORY = "the directory is outside the repository of the gate's own directory and its configuration";

/** A repository while measured code runs beside the gate; a string is why a directory has none. */
type OpenRepository = { readonly repository: Repository; readonly names: Names } | string;

/** By the signature of {@link findWorkTree}. */
const opened = new Map<string, Promise<Opened>>();
/** By directory, for the rest of the process: settings are those from before the first run. */
const held = new Map<string, OpenRepository>();
let frozen = false;
let interrupt: AbortSignal | undefined;
const timeouts = new Set<string>();
let swept = false;

/**
 * Git that can start neither process nor thread, whatever its configuration names: any process of this user can write
 * the private one while a command begins. Only root is exempt from the limit, and nothing else can raise it again.
 */
const WITHOUT_CHILDREN = ["/bin/sh", "-c", '{ ulimit -u 0 || ulimit -p 0; } 2>/dev/null; exec "$@"', "git"];

function run(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  options: GitOptions,
): Promise<ChildResult> {
  const program = helperPrograms().find("git");
  if (program === null) {
    return Promise.resolve({ end: { kind: "not-started", reason: "it is not on PATH" }, stdout: "", stderr: "" });
  }
  const usual = options.timeoutMs ?? (timeouts.size > 0 ? SHORT_MS : TIMEOUT_MS);
  const timeoutMs = interrupt?.aborted === true ? Math.min(SHORT_MS, usual) : usual;
  const { input, exchange } = options;
  const [file = "", ...before] =
    helperPrograms().strict && process.platform === "linux" && options.network !== true
      ? [...WITHOUT_CHILDREN, program.path]
      : [program.path];
  return runChild(file, [...before, ...args], {
    env: { ...env, ...options.env },
    timeoutMs,
    ...(interrupt?.aborted === true ? {} : { signal: interrupt }),
    ...(input === undefined ? {} : { input }),
    ...(exchange === undefined ? {} : { exchange }),
  }).then((result) => {
    if (result.end.kind === "killed" && result.end.cause === "timeout") {
      const command = args.find((word, at) => at > 1 && !word.startsWith("-") && args[at - 1] !== "-c") ?? "";
      timeouts.add(`git ${command} gave no answer within ${timeoutMs / 1000} s and was ended (GIT_TIMEOUT)`);
    }
    return result;
  });
}

function isInside(directory: string, top: string): boolean {
  const inside = path.relative(top, directory);
  return inside !== ".." && !inside.startsWith(`..${path.sep}`);
}

/** The held repository of a directory: the innermost around it, of those that there were before the first run. */
function heldFor(cwd: string): OpenRepository | undefined {
  const exact = held.get(cwd);
  if (exact !== undefined || held.size === 0) return exact;
  try {
    const real = realpathSync(cwd);
    const around = [...held.values()].filter((one) => typeof one !== "string" && isInside(real, one.repository.top));
    const depth = (one: OpenRepository): number => (typeof one === "string" ? 0 : one.repository.top.length);
    return around.sort((a, b) => depth(b) - depth(a))[0];
  } catch {
    return undefined;
  }
}

async function repositoryOf(cwd: string): Promise<Opened> {
  const found = findWorkTree(cwd);
  if (found === null) return NO_REPOSITORY;
  const known = opened.get(found.signature);
  if (known !== undefined) return known;
  if (!swept) {
    swept = true;
    removeStale(Date.now());
  }
  const answer = openRepository(found.tree, (args, env) => run(args, env, {}));
  opened.set(found.signature, answer);
  return answer;
}

/**
 * Open the repositories of these directories before measured code runs. Their settings count from now on, whatever is
 * written later, and their HEAD and refs until the returned function is called. Until then no other is opened.
 */
export async function freezeRefs(directories: readonly string[], signal: AbortSignal | undefined): Promise<() => void> {
  interrupt = signal;
  timeouts.clear();
  const found = new Map<Repository, Names>();
  for (const cwd of new Set(directories)) {
    const known = held.get(cwd);
    const repository = known === undefined || typeof known === "string" ? await repositoryOf(cwd) : known.repository;
    if (typeof repository === "string") {
      held.set(cwd, repository);
      continue;
    }
    const names = found.get(repository) ?? (await currentNames(cwd, repository));
    found.set(repository, names);
    held.set(cwd, { repository, names });
  }
  frozen = true;
  return () => {
    frozen = false;
    for (const [cwd, one] of held) if (typeof one === "string") held.delete(cwd);
    interrupt = undefined;
  };
}

/** The commits that HEAD and all refs name, so that nothing is left to look up. */
async function currentNames(cwd: string, repository: Repository): Promise<Names> {
  const { stdout } = await git(cwd, ["show-ref", "--head"]);
  const lines = stdout.split("\n").filter((line) => line !== "");
  const head = lines.find((line) => line.endsWith(" HEAD"))?.slice(0, -" HEAD".length) ?? "";
  const refs = lines.filter((line) => line.includes(" refs/")).map((line) => `${line}\n`);
  try {
    const names = readNames(repository);
    return { ...names, head: COMMIT.test(head) ? `${head}\n` : names.head, refs: refs.join("") };
  } catch {
    return { head: "", shallow: null, refs: "" };
  }
}

/** What the user of a gate should know about its git: one that can be replaced, and commands without an answer. */
export function gitWarnings(): readonly string[] {
  const program = helperPrograms().find("git");
  return [
    ...(program !== null && !program.guarded && helperPrograms().strict
      ? [`no git was found that only an administrator can replace, so ${program.path} is used`]
      : []),
    ...timeouts,
  ];
}

/** The repository of a directory, with its HEAD as it is held or as it is now. */
export async function holding(cwd: string): Promise<OpenRepository> {
  const known = heldFor(cwd);
  if (frozen) return known ?? OTHER_REPOSITORY;
  if (typeof known === "string") return known;
  const repository = known?.repository ?? (await repositoryOf(cwd));
  if (typeof repository === "string") return repository;
  try {
    return { repository, names: readNames(repository) };
  } catch (error) {
    return messageOf(error);
  }
}

/** Run git in a directory; never throws. Output is bounded at 64 MiB. */
export async function git(cwd: string, args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
  const failed = (stderr: string): GitResult => ({ ok: false, stdout: "", stderr });
  const known = await holding(cwd);
  if (typeof known === "string") return failed(known);
  try {
    const names = options.live === true ? readNames(known.repository) : known.names;
    const access = accessTo(known.repository, names, options.network === true, options.workTree);
    try {
      const result = await run(["-C", options.workTree ?? cwd, ...args], access.env, options);
      const ok = result.end.kind === "exit" && result.end.code === 0;
      return { ok, stdout: result.stdout.trim(), stderr: ok ? result.stderr.trim() : (failure(result) ?? "") };
    } finally {
      access.dispose();
    }
  } catch (error) {
    return failed(messageOf(error));
  }
}

/**
 * Whether tracked files differ from the commit; null when unknown. Files that a filter stores in another form (LFS) do
 * not count: the filter is a program, and without it they would all differ.
 */
export async function isTreeModified(cwd: string): Promise<boolean | null> {
  const known = await holding(cwd);
  if (typeof known === "string") return null;
  const filters = [...known.repository.settings.keys()].flatMap(
    (key) => /^filter\.(.+)\.(?:clean|process)$/s.exec(key)?.[1] ?? [],
  );
  const others = [...new Set(filters)]
    .filter((name) => /^[\w.-]+$/.test(name))
    .map((name) => `:(top,exclude,attr:filter=${name})`);
  const status = ["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty"];
  const { ok, stdout } = await git(cwd, others.length === 0 ? status : [...status, "--", ":(top)", ...others]);
  return ok ? stdout !== "" : null;
}

export const COMMIT = /^[0-9a-f]{40}([0-9a-f]{24})?$/;
