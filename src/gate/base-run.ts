import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { mergeBase } from "../baseline/ancestors.ts";
import { git } from "../baseline/git.ts";
import type { BaseRun, Command, ScenarioRequest } from "../config/gate-request.ts";

/** How the base commit can be run here, or why not. */
export type BasePlan =
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

/** git's answer, or null when it has none. */
async function answer(cwd: string, args: readonly string[]): Promise<string | null> {
  const { ok, stdout } = await git(cwd, args);
  return ok ? stdout : null;
}

/**
 * Find out how to run the base. A worktree of the merge base helps only when its code differs from what was measured: on
 * the merge base itself, with nothing changed, it would run the candidate again and call that an acquittal.
 */
export async function planBaseRun(
  mode: BaseRun,
  scenario: ScenarioRequest,
  env: Readonly<Record<string, string | undefined>>,
): Promise<BasePlan> {
  if (mode.kind === "off") return { kind: "impossible", reason: "base runs are off" };
  if (mode.kind === "command") return { kind: "command", command: { kind: "shell", script: mode.script } };
  const top = await answer(scenario.cwd, ["rev-parse", "--show-toplevel"]);
  if (top === null) return { kind: "impossible", reason: "the working directory is not in a git repository" };
  const commit = await mergeBase(scenario.cwd, env);
  if (commit === null)
    return {
      kind: "impossible",
      reason: "no merge base with the main branch is known (a shallow clone needs fetch-depth: 0)",
    };
  const head = await answer(scenario.cwd, ["rev-parse", "HEAD"]);
  if (head === commit) {
    // Untracked files do not count: every run leaves some (caches, the bundle itself).
    const changed = await answer(scenario.cwd, ["status", "--porcelain", "--untracked-files=no"]);
    if (changed === "") {
      // A shallow clone often knows no branch but the measured one, which then looks like the main branch.
      const shallow = (await answer(scenario.cwd, ["rev-parse", "--is-shallow-repository"])) === "true";
      const reason = shallow
        ? "the clone is shallow and its main branch is not known (fetch-depth: 0 gets both)"
        : "the measured code is the base commit itself";
      return { kind: "impossible", reason };
    }
  }
  return { kind: "worktree", commit, top };
}

/**
 * Make the base ready to run. A worktree lives in a temporary directory outside the repository.
 * @returns the checkout, or the reason why there is none
 */
export async function checkOutBase(
  plan: BasePlan,
  scenario: ScenarioRequest,
): Promise<BaseCheckout | { readonly reason: string }> {
  if (plan.kind === "impossible") return { reason: plan.reason };
  if (plan.kind === "command")
    return { command: plan.command, cwd: scenario.cwd, commit: null, dispose: async () => {} };
  const folder = await mkdtemp(path.join(tmpdir(), "stormlog-gate-base-")).catch(() => null);
  if (folder === null) return { reason: `no temporary folder can be made in ${tmpdir()}` };
  const tree = path.join(folder, "tree");
  const dispose = async (): Promise<void> => {
    await answer(plan.top, ["worktree", "remove", "--force", tree]);
    await rm(folder, { recursive: true, force: true });
    await answer(plan.top, ["worktree", "prune"]);
  };
  const added = await answer(plan.top, ["worktree", "add", "--detach", "--force", tree, plan.commit]);
  if (added === null) {
    await dispose();
    return { reason: `git could not check out the base commit ${plan.commit.slice(0, 12)} into a worktree` };
  }
  // Asked of git rather than computed: the working directory may be reached through a symbolic link.
  const inside = (await answer(scenario.cwd, ["rev-parse", "--show-prefix"])) ?? "";
  const cwd = path.join(tree, inside);
  if (!existsSync(cwd)) {
    await dispose();
    return { reason: `the base commit ${plan.commit.slice(0, 12)} has no directory ${inside}` };
  }
  return { command: scenario.command, cwd, commit: plan.commit, dispose };
}
