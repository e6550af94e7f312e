import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { baseCommit, type HistoryPort } from "../../baseline/ancestors.ts";
import type { BaseRun, ScenarioRequest } from "../../config/gate-request.ts";
import { messageOf } from "../../core/errors.ts";
import type { Command } from "../../core/process/command.ts";
import type { Environment } from "../../core/process/environment.ts";
import { temporaryDirectory } from "../../core/temporary-directory.ts";
import { COMMIT, git, isTreeModified } from "../../git/git.ts";
import { checkOut } from "./base-checkout.ts";

/** How the base commit can be run here, or why not. */
type BasePlan =
  | { readonly kind: "worktree"; readonly commit: string; readonly top: string }
  | { readonly kind: "command"; readonly command: Command }
  | { readonly kind: "impossible"; readonly reason: string };

/** A base checkout that is ready to run; `dispose` removes it. */
export interface BaseCheckout {
  readonly command: Command;
  readonly cwd: string;
  readonly commit: string | null;
  readonly dispose: () => Promise<void>;
}

/** The output of git, or null when it fails. */
async function answer(cwd: string, args: readonly string[]): Promise<string | null> {
  const { ok, stdout } = await git(cwd, args);
  return ok ? stdout : null;
}

/** The commit, if this clone has it and it is an ancestor of `head`; otherwise null. */
async function ancestor(cwd: string, commit: string, head: string): Promise<string | null> {
  if (!COMMIT.test(commit)) return null;
  return (await answer(cwd, ["merge-base", "--is-ancestor", commit, head])) === null ? null : commit;
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
export async function baseRunPlanner(
  mode: BaseRun,
  scenario: ScenarioRequest,
  env: Environment,
  history?: HistoryPort,
): Promise<BasePlanner> {
  if (mode.kind === "off") return impossible("base runs are off");
  if (mode.kind === "command") {
    const command: Command = { kind: "shell", script: mode.script };
    return async () => ({ kind: "command", command });
  }
  const top = await answer(scenario.cwd, ["rev-parse", "--show-toplevel"]);
  if (top === null) return impossible("the working directory is not in a git repository");
  const commit = await baseCommit({ cwd: scenario.cwd, env, history });
  if (commit === null)
    return impossible("no merge base with the main branch is known (a shallow clone needs fetch-depth: 0)");
  const head = await answer(scenario.cwd, ["rev-parse", "HEAD"]);
  const atBase: BasePlan = { kind: "worktree", commit, top };
  if (head !== commit) return async () => atBase;
  // Untracked files do not count: every run leaves some (caches, the bundle itself).
  if ((await isTreeModified(scenario.cwd)) !== false) return async () => atBase;
  // A shallow clone often has only the measured branch, which then looks like the main branch.
  const shallow = (await answer(scenario.cwd, ["rev-parse", "--is-shallow-repository"])) === "true";
  const reason = shallow
    ? "the clone is shallow and its main branch is not available (fetch-depth: 0 fetches both)"
    : "the measured code is the base commit itself";
  return async (knownGood) => {
    const good = knownGood === null || knownGood === head ? null : await ancestor(scenario.cwd, knownGood, head);
    return good === null ? { kind: "impossible", reason } : { kind: "worktree", commit: good, top };
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
  const { top, commit } = plan;
  const directory = await temporaryDirectory("stormlog-gate-base-").catch((error: Error) => error);
  if (typeof directory !== "string") return { reason: directory.message };
  const tree = path.join(directory, "tree");
  const dispose = (): Promise<void> => rm(directory, { recursive: true, force: true });
  try {
    await checkOut(top, commit, tree);
    // git resolves symbolic links in the path of the working directory.
    const inside = (await answer(scenario.cwd, ["rev-parse", "--show-prefix"])) ?? "";
    const cwd = path.join(tree, inside);
    if (!existsSync(cwd)) throw new Error(`it has no directory ${inside}`);
    return { command: scenario.command, cwd, commit, dispose };
  } catch (error) {
    await dispose();
    return { reason: `the base commit ${commit.slice(0, 12)} cannot be checked out: ${messageOf(error)}` };
  }
}
