import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Environment } from "../../core/environment.ts";

const GIT_TIMEOUT_MS = 5000;
const COMMIT = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

/** The commit checked out in `cwd`, which is what is measured; else the workflow's `GITHUB_SHA`, else null. */
export async function currentCommit(cwd: string, env: Environment): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)("git", ["rev-parse", "--verify", "HEAD"], {
      cwd,
      timeout: GIT_TIMEOUT_MS,
      env: { ...env, GIT_OPTIONAL_LOCKS: "0" },
    });
    const commit = stdout.trim();
    if (COMMIT.test(commit)) return commit;
  } catch {
    // Without git, without a repository, or without git's trust in it, the workflow may have the commit.
  }
  const named = env.GITHUB_SHA ?? "";
  return COMMIT.test(named) ? named : null;
}
