import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { chmod, mkdir, open, rename, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { fetchCommit, fetchMissing } from "../../git/fetch.ts";
import { git, holding } from "../../git/git.ts";
import { type Repository, readSmall, safeConfig } from "../../git/repository.ts";
import { type LfsPointer, lfsPointer, type VerifiedCommit, verifyCommit } from "./base-objects.ts";

/** Maximum time for writing the files of a base, and for reading them again, milliseconds. */
const CHECKOUT_MS = 300_000;

/**
 * Check a commit out into `tree`, a repository of its own that shares the objects of the clone. The clone belongs to
 * code that was measured already: none of its hooks, filters and settings counts, and every object is verified.
 * @throws Error with the reason
 */
export async function checkOut(top: string, commit: string, tree: string): Promise<void> {
  const known = await holding(top);
  if (typeof known === "string") throw new Error(known);
  const { repository, names } = known;
  await fetchCommit(top, commit, names.shallow !== null);
  await fetchMissing(top, commit);
  const own = path.join(tree, ".git");
  await mkdir(path.join(own, "objects", "info"), { recursive: true });
  await mkdir(path.join(own, "refs"));
  await writeFile(path.join(own, "objects", "info", "alternates"), `${path.join(repository.common, "objects")}\n`);
  await writeFile(path.join(own, "config"), safeConfig({ ...repository, top: tree }, false, true));
  await writeFile(path.join(own, "HEAD"), `${commit}\n`);
  if (names.shallow !== null) await writeFile(path.join(own, "shallow"), `${names.shallow}${commit}\n`);
  const refs = await git(top, ["for-each-ref", "--format=%(objectname) %(refname)"]);
  if (refs.ok && refs.stdout !== "") await writeFile(path.join(own, "packed-refs"), `${refs.stdout}\n`);
  await must(top, ["read-tree", "--reset", "-u", commit], { workTree: tree, timeoutMs: CHECKOUT_MS });
  const verified = await verifyCommit(top, commit, CHECKOUT_MS);
  refuseFilters(repository, verified);
  if (verified.pointers.size > 0) await restoreLargeFiles(top, tree, repository, verified);
}

type GitOptions = NonNullable<Parameters<typeof git>[2]>;

async function must(top: string, args: readonly string[], options: GitOptions): Promise<string> {
  const { ok, stdout, stderr } = await git(top, args, options);
  if (!ok) throw new Error(stderr.split("\n")[0] || `git ${args[0]} failed`);
  return stdout;
}

/** A filter other than LFS is a program, which is not run: the base would differ in more than code. */
function refuseFilters({ settings }: Repository, { filters }: VerifiedCommit): void {
  for (const name of filters) {
    const smudge = settings.get(`filter.${name}.smudge`)?.at(-1) ?? "cat";
    if (name === "lfs" || (smudge === "cat" && !settings.has(`filter.${name}.process`))) continue;
    throw new Error(`its files pass through the filter "${name}", a program that is not run for a base`);
  }
}

interface LargeFile {
  readonly name: string;
  readonly pointer: LfsPointer;
}

/** The files that git LFS would replace: pointers to which its filter applies. */
async function largeFiles(top: string, tree: string, { pointers }: VerifiedCommit): Promise<readonly LargeFile[]> {
  const listed = await must(top, ["ls-files", "--stage", "-z"], { workTree: tree });
  const files = listed.split("\0").flatMap((entry) => {
    const [, id = "", name = ""] = /^100\d{3} ([0-9a-f]+) 0\t(.+)$/s.exec(entry) ?? [];
    const pointer = pointers.get(id);
    return pointer === undefined ? [] : [{ name, pointer }];
  });
  const input = files.map(({ name }) => `${name}\0`).join("");
  const answer = await must(top, ["check-attr", "-z", "--stdin", "filter"], { workTree: tree, input });
  const fields = answer.split("\0");
  return files.filter((_, index) => fields[index * 3 + 2] === "lfs");
}

/** Put the files of git LFS in place from the objects of the clone, without LFS itself and without the network. */
async function restoreLargeFiles(
  top: string,
  tree: string,
  repository: Repository,
  verified: VerifiedCommit,
): Promise<void> {
  const files = await largeFiles(top, tree, verified);
  const storage = path.resolve(repository.common, repository.settings.get("lfs.storage")?.at(-1) ?? "lfs");
  const partial = path.join(tree, ".git", "restored");
  const restored: string[] = [];
  let missing = 0;
  for (const { name, pointer } of files) {
    const { sha256 } = pointer;
    const source = path.join(storage, "objects", sha256.slice(0, 2), sha256.slice(2, 4), sha256);
    if (await restore(source, path.join(tree, name), pointer, partial)) restored.push(name);
    // A job that fetched no large files measures their pointers, in the base as well.
    else if (!isPointer(path.join(top, name))) missing += 1;
  }
  if (missing > 0) {
    throw new Error(`the clone lacks the content of ${missing} of its files in git LFS (git lfs fetch gets them)`);
  }
  if (restored.length === 0) return;
  // So that git in the base does not report them as changed.
  const input = restored.map((name) => `${name}\0`).join("");
  await must(top, ["update-index", "--assume-unchanged", "-z", "--stdin"], { workTree: tree, input });
}

function isPointer(file: string): boolean {
  try {
    return lfsPointer(readSmall(file) ?? "") !== null;
  } catch {
    return false;
  }
}

const CHUNK = 2 ** 20;

/** Replace a file by the object that its pointer names. @returns whether there is such an object */
async function restore(
  source: string,
  target: string,
  { sha256, bytes }: LfsPointer,
  partial: string,
): Promise<boolean> {
  const input = await open(source, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
  if (input === null) return false;
  try {
    const stats = await input.stat();
    if (!stats.isFile() || stats.size !== bytes) return false;
    const hash = createHash("sha256");
    const output = await open(partial, "w");
    try {
      const buffer = Buffer.allocUnsafe(CHUNK);
      for (let at = 0; at < bytes; ) {
        const { bytesRead } = await input.read(buffer, 0, Math.min(CHUNK, bytes - at), at);
        if (bytesRead === 0) return false;
        const part = buffer.subarray(0, bytesRead);
        hash.update(part);
        await output.writeFile(part);
        at += bytesRead;
      }
    } finally {
      await output.close();
    }
    if (hash.digest("hex") !== sha256) return false;
    await chmod(partial, (await stat(target)).mode);
    await rename(partial, target);
    return true;
  } finally {
    await input.close();
  }
}
