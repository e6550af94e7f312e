import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { git } from "../../git/git.ts";
import { viewRepository } from "../../git/repository-view.ts";

/** The repository that the files are written into. */
export interface RepositoryLayout {
  /** Top of the repository, or the current directory where there is none. */
  readonly top: string;
  /** The current directory from there, without a slash at the end. */
  readonly directory: string;
  readonly inRepository: boolean;
  /** Why git does not see a repository, where there may be one, such as another owner's; null otherwise. */
  readonly refused: string | null;
  readonly defaultBranch: string;
  /** Workflows that use the gate already, by file name. */
  readonly gated: readonly string[];
}

const WORKFLOWS = ".github/workflows";

/** The main branch: the remote's default, else a usual name that exists, else the checked-out one (no commit yet). */
async function defaultBranch(cwd: string): Promise<string> {
  const remote = await git(cwd, ["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"]);
  if (remote.ok && remote.stdout.startsWith("origin/")) return remote.stdout.slice("origin/".length);
  for (const name of ["main", "master"]) {
    for (const ref of [`refs/remotes/origin/${name}`, `refs/heads/${name}`]) {
      if ((await git(cwd, ["show-ref", "--verify", "--quiet", ref])).ok) return name;
    }
  }
  const current = await git(cwd, ["symbolic-ref", "--quiet", "--short", "HEAD"]);
  return current.ok && current.stdout !== "" ? current.stdout : "main";
}

/** Workflows whose steps use the gate or one of its sub-actions; a comment that names it does not count. */
function gatedWorkflows(top: string): readonly string[] {
  let names: readonly string[];
  try {
    names = readdirSync(path.join(top, WORKFLOWS));
  } catch {
    return [];
  }
  return names
    .filter((name) => /\.ya?ml$/.test(name))
    .filter((name) => {
      try {
        const text = readFileSync(path.join(top, WORKFLOWS, name), "utf8");
        return /^\s*(?:-\s+)?uses:\s*["']?stormlog\/gate[/@]/m.test(text);
      } catch {
        return false;
      }
    })
    .sort();
}

function firstLine(text: string): string | null {
  const [line = ""] = text.trim().split("\n");
  return line === "" ? null : line.replace(/^fatal: /, "");
}

/** Detect the repository around a directory, without the network. */
export async function detectRepository(cwd: string): Promise<RepositoryLayout> {
  const { problem, top, prefix } = (await viewRepository(cwd)).checkout;
  return {
    top,
    directory: prefix.replace(/\/$/, ""),
    inRepository: problem === null,
    refused: problem === null || /not a git repository/i.test(problem) ? null : firstLine(problem),
    defaultBranch: await defaultBranch(cwd),
    gated: gatedWorkflows(top),
  };
}
