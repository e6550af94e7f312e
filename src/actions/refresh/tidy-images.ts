import { expireImages } from "../../github/comment/image-ref.ts";
import { withDeadline } from "../../github/deadline.ts";
import { degradedWarning } from "../../github/degrade.ts";
import type { GitData } from "../../github/repository/git-data.ts";
import type { SubAction } from "../sub-action.ts";

/** Longest time the night spends on what earlier days left behind, milliseconds. */
const TIDY_MS = 60_000;

/** Remove pictures of closed and of forgotten pull requests. Never throws: what is left is there the next night. */
export async function tidyImages({ octokit, context, signal, log, warn }: SubAction, gitData: GitData): Promise<void> {
  const { owner, repo } = context;
  const permission = "contents: write, pull-requests: read";
  const attempt = { what: "remove old pictures", permission, instead: "The next night tries again." };
  try {
    const { deleted, failed } = await withDeadline({ ms: TIDY_MS, interrupt: signal }, () =>
      expireImages({ octokit, gitData, repository: { owner, repo } }),
    );
    if (deleted.length > 0) log(`Pictures of ${deleted.length} closed or forgotten pull requests are gone`);
    const [first] = failed;
    if (first !== undefined) warn(degradedWarning(attempt, first.error));
  } catch (error) {
    warn(degradedWarning(attempt, error));
  }
}
