import { MAX_STORED_BYTES } from "../../baseline/store.ts";
import { withDeadline } from "../api/deadline.ts";
import { degradedWarning, isStatus } from "../api/degrade.ts";
import type { Octokit } from "../api/octokit.ts";
import type { Repository } from "../api/run-context.ts";

const WAIT_MS = 20_000;

function unreadable(path: string, cause: unknown): Error {
  const attempt = { what: `read ${path} of the base commit`, permission: "contents: read", instead: "" };
  return new Error(degradedWarning(attempt, cause).trim(), { cause });
}

/** Content at a path of a commit; null when the commit has none. */
async function contentAt(octokit: Octokit, owner: string, repo: string, commit: string, path: string) {
  try {
    return (await octokit.rest.repos.getContent({ owner, repo, path, ref: commit })).data;
  } catch (error) {
    if (!isStatus(error, 404)) throw error;
    // What a token may not see is "not found" as well: only of a commit that can be seen is a missing file missing.
    await octokit.rest.repos.getCommit({ owner, repo, ref: commit, per_page: 1 });
    return null;
  }
}

/** A text file of a commit, for shallow clones; null when absent. @throws Error, readable, when it cannot be read */
export async function readFileAt(
  octokit: Octokit,
  { owner, repo }: Repository,
  commit: string,
  path: string,
): Promise<string | null> {
  try {
    const data = await withDeadline({ ms: WAIT_MS }, () => contentAt(octokit, owner, repo, commit, path));
    if (data === null) return null;
    if (Array.isArray(data) || data.type !== "file" || !("content" in data) || data.encoding !== "base64") {
      throw new Error(`${path} at ${commit.slice(0, 12)} is not a text file`);
    }
    return Buffer.from(data.content, "base64")
      .toString("utf8")
      .slice(0, 1024 * 1024);
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** Records of one directory; a store of more was not written by the gate. */
const MAX_RECORDS = 1000;

/** The JSON files below a directory of a commit, by their path in it. @throws Error, readable */
export async function readRecordsAt(
  octokit: Octokit,
  { owner, repo }: Repository,
  commit: string,
  directory: string,
): Promise<readonly { readonly name: string; readonly text: string | null }[]> {
  try {
    return await withDeadline({ ms: WAIT_MS }, async () => {
      const { git } = octokit.rest;
      const { data } = await git.getTree({ owner, repo, tree_sha: commit, recursive: "1" });
      if (data.truncated) throw new Error("the tree of the commit is too large");
      const files = data.tree.filter(({ path, type }) => {
        return type === "blob" && path.startsWith(`${directory}/`) && path.endsWith(".json");
      });
      if (files.length > MAX_RECORDS) throw new Error(`${directory} has more than ${MAX_RECORDS} records`);
      return Promise.all(
        files.map(async ({ path, sha, size = 0 }) => {
          const name = path.slice(directory.length + 1);
          if (size > MAX_STORED_BYTES || sha === undefined) return { name, text: null };
          const blob = await git.getBlob({ owner, repo, file_sha: sha });
          return { name, text: Buffer.from(blob.data.content, "base64").toString("utf8") };
        }),
      );
    });
  } catch (error) {
    throw unreadable(directory, error);
  }
}
