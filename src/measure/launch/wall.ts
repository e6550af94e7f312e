import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { GateError, messageOf } from "../../core/errors.ts";
import { packageRoot } from "../../core/package-root.ts";
import { helperEnvironment, helperPrograms, isReplaceable, runChild } from "../../core/process/child.ts";
import { ciJob, type Environment } from "../../core/process/environment.ts";
import type { Isolation, IsolationMode } from "../../telemetry/recording/isolation.ts";
import { launch } from "./launch.ts";
import { type Wall, WallRefused } from "./start-in-session.ts";

/** A wall for every run of a gate, or the reason why there is none. */
export interface RaisedWall {
  readonly isolation: Isolation;
  /** Null: the command is started beside the gate. */
  readonly wall: RunsWall | null;
  /** Removes what it needed. */
  readonly lower: () => void;
}

type RunsWall = Pick<Wall, "kind" | "sudo"> & { readonly readOnly: readonly string[]; readonly mounts: Mounts };

/** Real paths, and the launcher's kind of mount and what appears in their place. */
type Mounts = ReadonlyMap<string, string>;

/** Loading a driver's module takes seconds. */
const MAX_HELPER_MS = 10_000;

const NO_WALL: RaisedWall = {
  isolation: { wanted: "off", got: "off", reason: null },
  wall: null,
  lower: () => {},
};

/**
 * Try whether this machine lets measured commands run in namespaces of their own, with `paths` and the gate's own files
 * read-only in there.
 * @param paths files and directories that must not be written from inside; what does not exist is left out
 * @param isRank whether the command is one of several processes of a job that something else started
 * @throws GateError ISOLATION_UNAVAILABLE where it is required and not to be had
 */
export async function raiseWall(
  wanted: IsolationMode,
  paths: readonly string[],
  env: Environment,
  isRank = false,
): Promise<RaisedWall> {
  if (wanted === "off") return NO_WALL;
  const user = process.geteuid?.();
  const refused = (reason: string): RaisedWall => {
    if (wanted === "require") throw unavailable(reason);
    return { isolation: { wanted, got: "off", reason }, wall: null, lower: () => {} };
  };
  if (process.platform !== "linux" || user === undefined) return refused("only Linux has namespaces");
  if (isRank) return refused("ranks of one job share memory, for which they must be in one namespace");
  if (wanted === "require" && user === 0)
    return refused("as root, the command could write the gate's files through any wall");
  await makeDeviceNodes();
  if (user === 0) {
    const root: RunsWall = { kind: "root", sudo: null, readOnly: [], mounts: new Map() };
    const failed = await tried(root);
    if (failed !== null) return refused(failed);
    const reason = "as root, what the command may write is not limited";
    return { isolation: { wanted, got: "root", reason }, wall: root, lower: () => {} };
  }
  const cover = new RunnerCover(env);
  const files = { readOnly: [...paths, ...ownFiles(env), ...cover.readOnly], mounts: cover.mounts };
  const lower = () => cover.remove();
  const byUser: RunsWall = { kind: "user", sudo: null, ...files };
  const reason = await tried(byUser);
  if (reason === null) return { isolation: { wanted, got: "user", reason }, wall: byUser, lower };
  const sudo = helperPrograms().find("sudo");
  const bySudo: RunsWall | null = sudo && { kind: "sudo", sudo: sudo.path, ...files };
  if (bySudo !== null && (await tried(bySudo)) === null)
    return { isolation: { wanted, got: "sudo", reason: null }, wall: bySudo, lower };
  lower();
  return refused(reason);
}

/** The setuid helper of NVIDIA's driver makes the nodes of unified memory on first use, which is too late in there. */
async function makeDeviceNodes(): Promise<void> {
  const helper = helperPrograms().find("nvidia-modprobe");
  if (helper === null || existsSync("/dev/nvidia-uvm")) return;
  await runChild(helper.path, ["-u", "-c=0"], { env: helperEnvironment(), timeoutMs: MAX_HELPER_MS });
}

/** Run a program behind a wall. @returns why that is not possible; null where it is */
async function tried({ kind, sudo, readOnly, mounts }: RunsWall): Promise<string | null> {
  try {
    const wall = { kind, sudo, mounts: inOrder(readOnly, mounts) };
    const trial = await launch({ argv: ["true"], cwd: "/", env: { PATH: "/usr/bin:/bin" }, wall });
    trial.send("q");
    trial.stdout.resume();
    trial.stderr.resume();
    await trial.closed;
    return null;
  } catch (error) {
    return error instanceof WallRefused ? error.reason : messageOf(error);
  }
}

function unavailable(reason: string): GateError {
  return new GateError("ISOLATION_UNAVAILABLE", `the command cannot be isolated: ${reason}`, {
    hint: "Run the gate as an ordinary user on the machine itself, or measure with isolation: auto.",
  });
}

/** The wall of one run, whose directory is read-only in there but for what its probes write. */
export function wallOfRun({ wall }: RaisedWall, directory: string, probe: string | null): Wall | null {
  if (wall === null) return null;
  const { kind, sudo, readOnly } = wall;
  if (kind === "root") return { kind, sudo, mounts: [] };
  const written = probe === null ? null : realpathSync(probe);
  const mounts = inOrder([...readOnly, directory], wall.mounts);
  return { kind, sudo, mounts: written === null ? mounts : [...mounts, `w${written}`, written] };
}

/** What this process executes, also what V8 caches of it, and what each run starts. */
function ownFiles({ NODE_COMPILE_CACHE }: Environment): readonly string[] {
  const root = packageRoot();
  const cache = NODE_COMPILE_CACHE ? [NODE_COMPILE_CACHE] : [];
  return [path.join(root, "dist"), path.join(root, "package.json"), process.execPath, ...cache];
}

/** The sockets on which a program of .NET, such as the runner, loads a library into itself for any of its user. */
const DIAGNOSTICS = /^(clr-debug-pipe|dotnet-diagnostic)-/;

/** The Node of a runner's Actions; a runner that has updated itself has a directory for each of its versions. */
const NODE_OF_RUNNER = /^(.+)\/externals(?:\.[^/]+)?\/node\d+\/bin\/node$/;

/** The files of a GitHub runner are read-only, and what the command writes for it is thrown away. */
class RunnerCover {
  readonly readOnly: readonly string[];
  readonly mounts: Mounts;
  readonly #copies: string | null = null;

  constructor(env: Environment) {
    const { temporary, workspace, tools } = ciJob(env);
    // _work/<repository>/<repository> is the checkout.
    const work = workspace === null ? null : path.resolve(workspace, "..", "..");
    const root = NODE_OF_RUNNER.exec(process.execPath)?.[1] ?? null;
    const mounts = new Map<string, string>();
    const written = [work, tools, tmpdir(), env.HOME].map(real).filter((directory) => directory !== null);
    const isWritten = root !== null && written.includes(root);
    if (root !== null && !isWritten) {
      mounts.set(root, `f${root}`);
      for (const directory of written) if (directory.startsWith(`${root}/`)) mounts.set(directory, `w${directory}`);
    }
    const commands = real(temporary && path.join(temporary, "_runner_file_commands"));
    const log = real(root && path.join(root, "_diag"));
    const temporaries = real(tmpdir());
    const ports = temporaries === null ? [] : readdirSync(temporaries).filter((name) => DIAGNOSTICS.test(name));
    if (commands !== null || log !== null || ports.length > 0) {
      this.#copies = mkdtempSync(path.join(tmpdir(), "stormlog-wall-"));
      const copies = realpathSync(this.#copies);
      if (commands !== null) {
        mounts.set(commands, `w${path.join(copies, "commands")}`);
        cpSync(commands, path.join(copies, "commands"), { recursive: true });
      }
      if (log !== null) {
        mounts.set(log, `w${path.join(copies, "log")}`);
        mkdirSync(path.join(copies, "log"));
      }
      writeFileSync(path.join(copies, "nothing"), "");
      for (const name of ports) mounts.set(path.join(temporaries ?? "", name), `w${path.join(copies, "nothing")}`);
    }
    this.mounts = mounts;
    this.readOnly = [
      ...(isWritten ? ownEntries(root) : []),
      ...(work === null ? [] : [path.join(work, "_actions")]),
      // A link in the place of a copy would be followed in the next run.
      ...(this.#copies === null ? [] : [this.#copies]),
    ];
  }

  remove(): void {
    try {
      if (this.#copies !== null) rmSync(this.#copies, { recursive: true, force: true });
    } catch {
      // A directory that the command has locked or nested too deep: the verdict is worth more than its removal.
    }
  }
}

/** The runner's programs and files in a directory that is the command's as well, such as its home. */
function ownEntries(root: string): readonly string[] {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isFile() || /^(bin|externals)\b/.test(entry.name))
    .map(({ name }) => path.join(root, name));
}

function real(file: string | null | undefined): string | null {
  try {
    return file ? realpathSync(file) : null;
  } catch {
    return null;
  }
}

/**
 * Mounts of the launcher, in order. A directory on the way to one of them is a mount point, too, where it could be
 * renamed: another one in its place would not be protected.
 */
function inOrder(readOnly: readonly string[], given: Mounts): readonly string[] {
  const existing = readOnly.map(real).filter((file) => file !== null);
  // A socket goes with its program, which may end between two runs.
  const others = [...given].filter(([to]) => existsSync(to));
  const mounts = new Map<string, string>();
  for (const file of [...existing, ...others.map(([to]) => to)]) {
    for (let at = path.dirname(file); at !== "/"; at = path.dirname(at))
      if (isReplaceable(path.dirname(at))) mounts.set(at, `k${at}`);
  }
  for (const [to, from] of others) mounts.set(to, from);
  for (const file of existing) mounts.set(file, `r${file}`);
  // A directory before what lies in it.
  return [...mounts].sort(([a], [b]) => a.length - b.length).flatMap(([to, from]) => [from, to]);
}
