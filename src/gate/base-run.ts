import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { baseCommit } from "../baseline/ancestors.ts";
import { git } from "../baseline/git.ts";
import type { HistoryPort } from "../baseline/history-port.ts";
import type { BaseRun, ScenarioRequest } from "../config/gate-request.ts";
import type { Command } from "../core/command.ts";
import type { Environment } from "../core/environment.ts";

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

/** The commit, if this clone has it and it is an ancestor of HEAD; otherwise null. */
async function ancestor(cwd: string, commit: string): Promise<string | null> {
  if (!/^[0-9a-f]{40}([0-9a-f]{24})?$/.test(commit)) return null;
  return (await answer(cwd, ["merge-base", "--is-ancestor", commit, "HEAD"])) === null ? null : commit;
}

/**
 * Find out how to run the base. A worktree of the merge base helps only when its code differs from the measured code:
 * on the unchanged merge base it would run the candidate again and dismiss every breach. There (a nightly run of the
 * main branch) the base is `knownGood`, the commit of the baseline's newest run, where that is another one.
 */
export async function planBaseRun(
  mode: BaseRun,
  scenario: ScenarioRequest,
  env: Environment,
  knownGood: string | null = null,
  history?: HistoryPort,
): Promise<BasePlan> {
  if (mode.kind === "off") return { kind: "impossible", reason: "base runs are off" };
  if (mode.kind === "command") return { kind: "command", command: { kind: "shell", script: mode.script } };
  const top = await answer(scenario.cwd, ["rev-parse", "--show-toplevel"]);
  if (top === null) return { kind: "impossible", reason: "the working directory is not in a git repository" };
  const commit = await baseCommit({ cwd: scenario.cwd, env, history });
  if (commit === null)
    return {
      kind: "impossible",
      reason: "no merge base with the main branch is known (a shallow clone needs fetch-depth: 0)",
    };
  const head = await answer(scenario.cwd, ["rev-parse", "HEAD"]);
  if (head === commit) {
    // Untracked files do not count: every run leaves some (caches, the bundle itself).
    const changed = await answer(scenario.cwd, ["status", "--porcelain", "--untracked-files=no"]);
    const good = knownGood === null || knownGood === head ? null : await ancestor(scenario.cwd, knownGood);
    if (changed === "" && good !== null) return { kind: "worktree", commit: good, top };
    if (changed === "") {
      // A shallow clone often has only the measured branch, which then looks like the main branch.
      const shallow = (await answer(scenario.cwd, ["rev-parse", "--is-shallow-repository"])) === "true";
      const reason = shallow
        ? "the clone is shallow and its main branch is not available (fetch-depth: 0 fetches both)"
        : "the measured code is the base commit itself";
      return { kind: "impossible", reason };
    }
  }
  return { kind: "worktree", commit, top };
}

/** Maximum time for fetching a base commit, milliseconds. */
const FETCH_MS = 60_000;

/** Fetch just this commit into a shallow clone. Without a remote, or without permission, nothing changes. */
async function haveCommit(top: string, commit: string): Promise<void> {
  if ((await answer(top, ["cat-file", "-e", `${commit}^{commit}`])) !== null) return;
  const depth = (await answer(top, ["rev-parse", "--is-shallow-repository"])) === "true" ? ["--depth=1"] : [];
  await git(top, ["fetch", "--quiet", "--no-tags", ...depth, "origin", commit], { timeoutMs: FETCH_MS });
}

/** Make the base ready to run, a worktree in a temporary directory. @returns the checkout, or why there is none */
export async function checkOutBase(
  plan: BasePlan,
  scenario: ScenarioRequest,
): Promise<BaseCheckout | { readonly reason: string }> {
  if (plan.kind === "impossible") return { reason: plan.reason };
  if (plan.kind === "command")
    return { command: plan.command, cwd: scenario.cwd, commit: null, dispose: async () => {} };
  const directory = await mkdtemp(path.join(tmpdir(), "stormlog-gate-base-")).catch(() => null);
  if (directory === null) return { reason: `no temporary directory can be made in ${tmpdir()}` };
  const tree = path.join(directory, "tree");
  const dispose = async (): Promise<void> => {
    await answer(plan.top, ["worktree", "remove", "--force", tree]);
    await rm(directory, { recursive: true, force: true });
    await answer(plan.top, ["worktree", "prune"]);
  };
  await haveCommit(plan.top, plan.commit);
  const added = await answer(plan.top, ["worktree", "add", "--detach", "--force", tree, plan.commit]);
  if (added === null) {
    await dispose();
    return { reason: `git could not check out the base commit ${plan.commit.slice(0, 12)} into a worktree` };
  }
  // git resolves symbolic links in the path of the working directory.
  const inside = (await answer(scenario.cwd, ["rev-parse", "--show-prefix"])) ?? "";
  const cwd = path.join(tree, inside);
  if (!existsSync(cwd)) {
    await dispose();
    return { reason: `the base commit ${plan.commit.slice(0, 12)} has no directory ${inside}` };
  }
  return { command: scenario.command, cwd, commit: plan.commit, dispose };
}
