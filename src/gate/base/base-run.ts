import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import type { BaseRun, ScenarioRequest } from "../../config/gate-request.ts";
import { messageOf } from "../../core/errors.ts";
import type { Command } from "../../core/process/command.ts";
import { temporaryDirectory } from "../../core/temporary-directory.ts";
import { COMMIT, git, isTreeModified } from "../../git/git.ts";
import type { RepositoryView } from "../../git/repository-view.ts";
import { checkOut } from "./base-checkout.ts";

/** How the base commit can be run here, or why not. */
export type BasePlan =
  /** `inside`: the working directory from the top of the repository, as git resolves it. */
  | { readonly kind: "worktree"; readonly commit: string; readonly top: string; readonly inside: string }
  | { readonly kind: "command"; readonly command: Command }
  | { readonly kind: "impossible"; readonly reason: string };

/** A base checkout that is ready to run; `dispose` removes it. */
export interface BaseCheckout {
  readonly command: Command;
  readonly cwd: string;
  readonly commit: string | null;
  readonly dispose: () => Promise<void>;
}

/** The commit, if this clone has it and it is an ancestor of `head`; otherwise null. */
async function ancestor(cwd: string, commit: string, head: string): Promise<string | null> {
  if (!COMMIT.test(commit)) return null;
  return (await git(cwd, ["merge-base", "--is-ancestor", commit, head])).ok ? commit : null;
}

/** A plan that waits for the commit of the baseline's newest run; null where there is none. */
export type BasePlanner = (knownGood: string | null) => Promise<BasePlan>;

const impossible = (reason: string): BasePlanner => {
  const plan: BasePlan = { kind: "impossible", reason };
  return async () => plan;
};

/**
 * Find out how to run the base, before the measured command can change the repository. A worktree of the merge base
 * helps only when its code differs from the measured code: on the unchanged merge base it would run the candidate again
 * and dismiss every breach. There (a nightly run of the main branch) the base is `knownGood`, where that differs.
 */
export async function baseRunPlanner(mode: BaseRun, repository: RepositoryView): Promise<BasePlanner> {
  if (mode.kind === "off") return impossible("base runs are off");
  if (mode.kind === "command") {
    const command: Command = { kind: "shell", script: mode.script };
    return async () => ({ kind: "command", command });
  }
  const { checkout, cwd } = repository;
  if (checkout.problem !== null) return impossible("the working directory is not in a git repository");
  const commit = await repository.baseCommit();
  if (commit === null)
    return impossible("no merge base with the main branch is known (a shallow clone needs fetch-depth: 0)");
  const { top, prefix: inside, head } = checkout;
  const atBase: BasePlan = { kind: "worktree", commit, top, inside };
  if (head !== commit) return async () => atBase;
  // Untracked files do not count: every run leaves some (caches, the bundle itself).
  if ((await isTreeModified(cwd)) !== false) return async () => atBase;
  // A shallow clone often has only the measured branch, which then looks like the main branch.
  const reason = checkout.isShallow
    ? "the clone is shallow and its main branch is not available (fetch-depth: 0 fetches both)"
    : "the measured code is the base commit itself";
  return async (knownGood) => {
    const good = knownGood === null || knownGood === head ? null : await ancestor(cwd, knownGood, head);
    return good === null ? { kind: "impossible", reason } : { kind: "worktree", commit: good, top, inside };
  };
}

/** Make the base ready to run, a checkout in a temporary directory. @returns the checkout, or why there is none */
export async function checkOutBase(
  plan: BasePlan,
  scenario: ScenarioRequest,
): Promise<BaseCheckout | { readonly reason: string }> {
  if (plan.kind === "impossible") return { reason: plan.reason };
  if (plan.kind === "command")
    return { command: plan.command, cwd: scenario.cwd, commit: null, dispose: async () => {} };
  const { top, commit, inside } = plan;
  const directory = await temporaryDirectory("stormlog-gate-base-").catch((error: Error) => error);
  if (typeof directory !== "string") return { reason: directory.message };
  const tree = path.join(directory, "tree");
  const dispose = (): Promise<void> => rm(directory, { recursive: true, force: true });
  try {
    await checkOut(top, commit, tree);
    const cwd = path.join(tree, inside);
    if (!existsSync(cwd)) throw new Error(`it has no directory ${inside}`);
    return { command: scenario.command, cwd, commit, dispose };
  } catch (error) {
    await dispose();
    return { reason: `the base commit ${commit.slice(0, 12)} cannot be checked out: ${messageOf(error)}` };
  }
}
