import { git, holding } from "./git.ts";
import { isPartial } from "./repository.ts";

/*
 * All that git gets over the network, on request. It never fetches by itself: that would start the `ssh` of a
 * configuration while objects are only looked up.
 */

/** Maximum time of a fetch, milliseconds: of a single commit, and of the files of one. */
const COMMIT_MS = 60_000;
const FILES_MS = 300_000;
/** Rounds for what a partial clone lacks: a tree, what is in it, and the files of that. */
const ROUNDS = 3;

const OPTIONS = [
  "--quiet",
  "--no-tags",
  "--no-recurse-submodules",
  "--no-write-fetch-head",
  // Not the program that a configuration names.
  "--upload-pack=git-upload-pack",
];

async function fetch(cwd: string, args: readonly string[], timeoutMs: number, input = ""): Promise<void> {
  const known = await holding(cwd);
  // Git would take a directory of that name for the remote.
  if (typeof known === "string" || !known.repository.settings.has("remote.origin.url")) return;
  await git(cwd, ["fetch", ...OPTIONS, ...args], { timeoutMs, network: true, input });
}

/** Fetch just this commit into a clone without it. Without a remote, or without permission, nothing changes. */
export async function fetchCommit(cwd: string, commit: string, shallow: boolean): Promise<void> {
  if ((await git(cwd, ["cat-file", "-e", `${commit}^{commit}`])).ok) return;
  await fetch(cwd, [...(shallow ? ["--depth=1"] : []), "origin", commit], COMMIT_MS);
}

/** Fetch what a partial clone lacks of a commit. @param file only of this file or directory, from the top */
export async function fetchMissing(cwd: string, commit: string, file?: string): Promise<void> {
  const known = await holding(cwd);
  if (typeof known === "string" || !isPartial(known.repository)) return;
  const paths = file === undefined ? [] : [`:(top,literal)${file}`];
  const list = ["rev-list", "--objects", "--no-object-names", "--no-walk", "--missing=print", commit];
  for (let round = 0; round < ROUNDS; round += 1) {
    const listed = await git(cwd, [...list, "--", ...paths]);
    // Git cannot look for a path in a tree that is missing.
    const { stdout } = listed.ok ? listed : await git(cwd, list);
    const missing = [...stdout.matchAll(/^\?(\w+)$/gm)].map(([, id]) => id);
    if (missing.length === 0) return;
    await fetch(cwd, ["--filter=blob:none", "--stdin", "origin"], FILES_MS, missing.join("\n"));
  }
}
