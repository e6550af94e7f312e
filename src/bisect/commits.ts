import { existsSync } from "node:fs";
import path from "node:path";
import { GateError, messageOf, usageError } from "../core/errors.ts";
import { checkOut } from "../gate/base/base-checkout.ts";
import { git } from "../git/git.ts";
import { type RepositoryView, viewRepository } from "../git/repository-view.ts";
import { throwAwayHome } from "./home.ts";
import type { Subject } from "./run-search.ts";
import { runTool } from "./tool.ts";

/** The commits between two revisions, oldest first, along the first parents. */
export interface CommitRange {
  readonly top: string;
  /** The working directory below the top of the repository; "" = the top. */
  readonly inside: string;
  readonly good: string;
  readonly commits: readonly string[];
}

/** A commit as the answer shows it; texts are not escaped. */
export interface Commit {
  readonly commit: string;
  readonly subject: string;
  readonly author: string;
  readonly date_iso: string;
}

async function commitOf({ cwd, checkout }: RepositoryView, option: string, revision: string): Promise<string> {
  const named = await git(cwd, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`]);
  if (named.ok) return named.stdout;
  throw usageError(
    "REVISION_UNKNOWN",
    `--${option} "${revision}" is not a commit of this repository`,
    checkout.isShallow ? SHALLOW : "Name a commit, tag or branch that `git log` shows.",
  );
}

const SHALLOW = "The clone is shallow: `git fetch --unshallow` gets the rest of its history.";

/**
 * The range between two revisions. A merge counts as one change: that of its branch as a whole.
 * @throws GateError NOT_A_REPOSITORY, REVISION_UNKNOWN, REVISION_NOT_ANCESTOR, RANGE_TOO_LARGE (usage)
 */
export async function commitRange(cwd: string, goodName: string, badName: string): Promise<CommitRange> {
  const repository = await viewRepository(cwd);
  const { checkout } = repository;
  if (checkout.problem !== null) {
    const reason = checkout.problem.split("\n")[0] ?? "";
    throw usageError("NOT_A_REPOSITORY", `no work tree of git can be read here${reason && `: ${reason}`}`);
  }
  const good = await commitOf(repository, "good", goodName);
  const bad = await commitOf(repository, "bad", badName);
  if (good === bad) throw usageError("REVISION_NOT_ANCESTOR", "--good and --bad are the same commit");
  if (!(await git(cwd, ["merge-base", "--is-ancestor", good, bad])).ok) {
    throw usageError(
      "REVISION_NOT_ANCESTOR",
      `--good ${good.slice(0, 12)} is not an ancestor of --bad ${bad.slice(0, 12)}`,
      checkout.isShallow ? SHALLOW : "Name a good commit before the bad one, such as `git merge-base GOOD BAD`.",
    );
  }
  const listed = await git(cwd, ["rev-list", "--first-parent", "--reverse", `${good}..${bad}`]);
  const commits = listed.stdout.split("\n").filter((line) => line !== "");
  if (!listed.ok || commits.length === 0) {
    throw usageError("REVISION_NOT_ANCESTOR", "no commit was found between --good and --bad");
  }
  if (commits.length > 100_000) {
    throw usageError("RANGE_TOO_LARGE", `${commits.length} commits lie between --good and --bad`);
  }
  return { top: checkout.top, inside: checkout.prefix, good, commits };
}

/** @returns what git knows of commits, in their order */
export async function describeCommits(top: string, commits: readonly string[]): Promise<readonly Commit[]> {
  const format = "--format=%H%x00%s%x00%an%x00%aI";
  const shown = await git(top, ["show", "--no-patch", "--no-show-signature", format, "--end-of-options", ...commits]);
  return shown.stdout.split("\n").flatMap((line) => {
    const [commit, subject, author, date] = line.split("\0");
    return commit === undefined || date === undefined
      ? []
      : [{ commit, subject: subject ?? "", author: author ?? "", date_iso: date }];
  });
}

/** Commits as changes of a search: a state is a checkout of its own with the setup command run in it. */
export function commitSubject(
  { top, inside, good, commits }: CommitRange,
  setup: string | null,
  caller: Readonly<Record<string, string>>,
  interrupt: AbortSignal,
): Subject {
  const commitAt = (included: readonly number[]): string => commits[included.length - 1] ?? good;
  return {
    count: commits.length,
    nameOf: (included) => commitAt(included).slice(0, 12),
    prepare: async (included, scratch) => {
      const commit = commitAt(included);
      const tree = path.join(scratch, "tree");
      try {
        await checkOut(top, commit, tree);
      } catch (error) {
        throw new GateError(
          "SEARCH_ENVIRONMENT_FAILED",
          `commit ${commit.slice(0, 12)} cannot be checked out: ${messageOf(error)}`,
          { hint: "Repair the cause (free disk space, a complete clone), then add --resume." },
        );
      }
      const cwd = path.join(tree, inside);
      if (!existsSync(cwd)) return { reason: `it has no directory ${inside}` };
      const env = await throwAwayHome(scratch, caller);
      if (setup === null) return { cwd, env };
      const built = await runTool("--setup", "/bin/sh", ["-c", setup], { cwd, env, interrupt });
      return built.ok ? { cwd, env } : { reason: built.reason };
    },
  };
}
