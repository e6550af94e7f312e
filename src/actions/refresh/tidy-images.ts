import { degradedWarning } from "../../github/api/degrade.ts";
import { expireImages } from "../../github/comment/image-ref.ts";
import type { GitData } from "../../github/repository/git-data-client.ts";
import { attempted } from "../attempted.ts";
import type { SubAction } from "../sub-action.ts";

/** Remove pictures of closed and of inactive pull requests. Never throws: the next nightly run removes what is left. */
export async function tidyImages({ octokit, context, signal, log, warn }: SubAction, gitData: GitData): Promise<void> {
  const permission = "contents: write, pull-requests: read";
  const attempt = { what: "remove old pictures", permission, instead: "The next nightly run tries again." };
  // Maximum time for removing old pictures, milliseconds.
  await attempted({ signal, warn }, 60_000, attempt, async () => {
    const { owner, repo } = context;
    const { deleted, failed } = await expireImages({ octokit, gitData, repository: { owner, repo } });
    if (deleted.length > 0) log(`Removed the pictures of ${deleted.length} closed or inactive pull requests`);
    const [first] = failed;
    if (first !== undefined) warn(degradedWarning(attempt, first.error));
  });
}
