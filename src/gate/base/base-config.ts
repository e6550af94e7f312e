import path from "node:path";
import { type HistoryPort, mergeBase, namedBases, portBase, queuedBranch } from "../../baseline/ancestors.ts";
import { messageOf } from "../../core/errors.ts";
import { ciJob, type Environment, inPipeline, withTargetBranch } from "../../core/process/environment.ts";
import { fetchMissing } from "../../git/fetch.ts";
import { git } from "../../git/git.ts";

/** Reads a file of a commit where the clone does not have it; null = the file does not exist. */
export type FileAt = (commit: string, path: string) => Promise<string | null>;

/** The configuration of the commit that a pull request branched off. */
type BaseConfig =
  | { readonly kind: "found"; readonly text: string; readonly commit: string }
  /** The base commit has no such file. */
  | { readonly kind: "new"; readonly commit: string }
  /** It exists and cannot be read. */
  | { readonly kind: "unknown"; readonly why: string }
  /** No pull request is measured. */
  | { readonly kind: "not-asked" };

interface BaseConfigPorts {
  readonly history?: HistoryPort | undefined;
  readonly fileAt?: FileAt | undefined;
}

/** The measured commit and the file's path in its repository, from git or else from the runner's variables. */
async function locationOf(file: string, env: Environment): Promise<{ head: string | null; path: string } | null> {
  const directory = path.dirname(file);
  const { commit, workspace } = ciJob(env);
  const prefix = await git(directory, ["rev-parse", "--show-prefix"]);
  if (prefix.ok) {
    const head = await git(directory, ["rev-parse", "--verify", "HEAD"]);
    return { head: head.ok ? head.stdout : commit, path: `${prefix.stdout}${path.basename(file)}` };
  }
  if (workspace === null) return null;
  const inside = path.relative(workspace, file);
  if (inside.startsWith("..") || path.isAbsolute(inside)) return null;
  return { head: commit, path: inside.split(path.sep).join("/") };
}

/** The commit where the change left its base branch: from the clone, otherwise from the history port. */
async function baseCommit(
  directory: string,
  env: Environment,
  branch: string | null,
  head: string | null,
  history: HistoryPort | undefined,
): Promise<string | null> {
  const named = branch === null ? env : withTargetBranch(env, branch);
  const local = await mergeBase(directory, named);
  if (local !== null || head === null) return local;
  const known = await portBase(history, head, await namedBases({ cwd: directory, env: named }));
  const into = ciJob(named).targetBranch;
  if (known !== null || into === null) return known;
  // A change without common history is judged by the current state of the branch, not by its own configuration.
  const tip = await git(directory, ["rev-parse", "--verify", "--quiet", `refs/remotes/origin/${into}^{commit}`]);
  return tip.ok ? tip.stdout : null;
}

async function textAt(
  directory: string,
  commit: string,
  inside: string,
  fileAt: FileAt | undefined,
): Promise<BaseConfig> {
  const known = await git(directory, ["cat-file", "-e", `${commit}^{commit}`]);
  if (known.ok) {
    await fetchMissing(directory, commit, inside);
    const listed = await git(directory, ["ls-tree", "--full-tree", commit, "--", inside]);
    if (listed.ok && listed.stdout === "") return { kind: "new", commit };
    const blob = await git(directory, ["cat-file", "blob", `${commit}:${inside}`]);
    if (blob.ok) return { kind: "found", text: blob.stdout, commit };
  }
  if (fileAt === undefined) return { kind: "unknown", why: `commit ${commit.slice(0, 12)} is not in this clone` };
  const text = await fileAt(commit, inside);
  return text === null ? { kind: "new", commit } : { kind: "found", text, commit };
}

/** The commit that a pull request branched off, and a file's path in its repository. */
type Base = { readonly kind: "known"; readonly commit: string; readonly path: string };
type NoBase = Extract<BaseConfig, { readonly kind: "unknown" | "not-asked" }>;

async function locateBase(file: string, env: Environment, ports: BaseConfigPorts): Promise<Base | NoBase> {
  if (!inPipeline(env)) return { kind: "not-asked" };
  const named = Boolean(ciJob(env).targetBranch || env.STORMLOG_GATE_BASE);
  const branch = named ? null : (queuedBranch(env) ?? (await ports.history?.baseBranch()) ?? null);
  if (!named && branch === null) return { kind: "not-asked" };
  const location = await locationOf(file, env);
  if (location === null) return { kind: "unknown", why: "the configuration file is not in a repository" };
  const commit = await baseCommit(path.dirname(file), env, branch, location.head, ports.history);
  if (commit === null) return { kind: "unknown", why: "the commit that the change branched off is not known here" };
  return { kind: "known", commit, path: location.path };
}

/** The commit that the change in a directory branched off; null outside a pull request, or unknown. Never throws. */
export async function findBase(directory: string, env: Environment, ports: BaseConfigPorts): Promise<string | null> {
  const base = await locateBase(path.join(directory, "-"), env, ports).catch(() => null);
  return base?.kind === "known" ? base.commit : null;
}

/** Find the base commit's version of a config file. Never throws. @param file absolute path */
export async function readBaseConfig(file: string, env: Environment, ports: BaseConfigPorts): Promise<BaseConfig> {
  try {
    const base = await locateBase(file, env, ports);
    if (base.kind !== "known") return base;
    return await textAt(path.dirname(file), base.commit, base.path, ports.fileAt);
  } catch (error) {
    return { kind: "unknown", why: messageOf(error).replace(/\.$/, "") };
  }
}
