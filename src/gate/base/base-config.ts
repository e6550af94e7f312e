import path from "node:path";
import { messageOf } from "../../core/errors.ts";
import { ciJob, inPipeline } from "../../core/process/environment.ts";
import { git } from "../../git/git.ts";
import { queuedBranch, type RepositoryView } from "../../git/repository-view.ts";

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

/** The measured commit and the file's path in its repository, from git or else from the runner's variables. */
function locationOf(
  file: string,
  view: RepositoryView,
): { readonly head: string | null; readonly path: string } | null {
  const { commit, workspace } = ciJob(view.env);
  const { problem, prefix } = view.checkout;
  const head = view.checkout.head ?? commit;
  if (problem === null) return { head, path: `${prefix}${path.basename(file)}` };
  if (workspace === null) return null;
  const inside = path.relative(workspace, file);
  if (inside.startsWith("..") || path.isAbsolute(inside)) return null;
  return { head, path: inside.split(path.sep).join("/") };
}

/** The commit where the change left its base branch: from the clone, otherwise from the history port. */
async function baseCommit(view: RepositoryView, head: string | null): Promise<string | null> {
  const local = await view.mergeBase();
  if (local !== null || head === null) return local;
  const known = await view.remoteMergeBase(head);
  const into = ciJob(view.env).targetBranch;
  if (known !== null || into === null) return known;
  // A change without common history is judged by the current state of the branch, not by its own configuration.
  const tip = await git(view.cwd, ["rev-parse", "--verify", "--quiet", `refs/remotes/origin/${into}^{commit}`]);
  return tip.ok ? tip.stdout : null;
}

async function textAt(
  view: RepositoryView,
  commit: string,
  inside: string,
  fileAt: FileAt | undefined,
): Promise<BaseConfig> {
  if (await view.has(commit)) {
    const text = await view.fileAt(commit, inside);
    if (text !== null) return { kind: "found", text, commit };
    const listed = await git(view.cwd, ["ls-tree", "--full-tree", commit, "--", inside]);
    if (listed.ok && listed.stdout === "") return { kind: "new", commit };
  }
  if (fileAt === undefined) return { kind: "unknown", why: `commit ${commit.slice(0, 12)} is not in this clone` };
  const text = await fileAt(commit, inside);
  return text === null ? { kind: "new", commit } : { kind: "found", text, commit };
}

/** The commit that a pull request branched off, and a file's path in its repository. */
type Base = { readonly kind: "known"; readonly commit: string; readonly path: string };
type NoBase = Extract<BaseConfig, { readonly kind: "unknown" | "not-asked" }>;

async function locateBase(file: string, view: RepositoryView): Promise<Base | NoBase> {
  const { env, history } = view;
  if (!inPipeline(env)) return { kind: "not-asked" };
  const named = Boolean(ciJob(env).targetBranch || env.STORMLOG_GATE_BASE);
  const branch = named ? null : (queuedBranch(env) ?? (await history?.baseBranch()) ?? null);
  if (!named && branch === null) return { kind: "not-asked" };
  const location = locationOf(file, view);
  if (location === null) return { kind: "unknown", why: "the configuration file is not in a repository" };
  const commit = await baseCommit(branch === null ? view : view.into(branch), location.head);
  if (commit === null) return { kind: "unknown", why: "the commit that the change branched off is not known here" };
  return { kind: "known", commit, path: location.path };
}

/** The commit that the change in a directory branched off; null outside a pull request, or unknown. Never throws. */
export async function findBase(view: RepositoryView): Promise<string | null> {
  const base = await locateBase(path.join(view.cwd, "-"), view).catch(() => null);
  return base?.kind === "known" ? base.commit : null;
}

/** Find the base commit's version of a config file. Never throws. @param file its name in the view's directory */
export async function readBaseConfig(file: string, view: RepositoryView, fileAt?: FileAt): Promise<BaseConfig> {
  try {
    const base = await locateBase(path.join(view.cwd, file), view);
    return base.kind === "known" ? await textAt(view, base.commit, base.path, fileAt) : base;
  } catch (error) {
    return { kind: "unknown", why: messageOf(error).replace(/\.$/, "") };
  }
}
