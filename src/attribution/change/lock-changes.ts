import path from "node:path";
import type { Finding } from "../../analysis/series/document.ts";
import { GateError } from "../../core/errors.ts";
import { readBounded } from "../../core/files.ts";
import { LOCK_PATTERNS, lockedPackages, packageChanges } from "../../core/locks.ts";
import { cutText } from "../../core/text.ts";
import { git } from "../../git/git.ts";
import type { RepositoryView } from "../../git/repository-view.ts";
import { changesPackage } from "../../report/headline/line-answer.ts";
import type { LockChange, LockChanges } from "../../report/model/report-schema.ts";
import { measuredRange } from "./changed-lines.ts";

/** Of one lock, bytes. */
const MAX_LOCK_BYTES = 16 * 1024 * 1024;

async function atCommit(top: string, commit: string, file: string): Promise<string | null> {
  const { ok, stdout } = await git(top, ["cat-file", "blob", `${commit}:${file}`]);
  return ok && stdout.length <= MAX_LOCK_BYTES ? stdout : null;
}

/** A version for a person; an address could contain a password. */
function shownVersion(version: string | null): string | null {
  if (version === null) return null;
  return version.includes("://") ? "an address" : cutText(version, 80);
}

/** The names of each changed lock before and after, of git's `M\0name\0` and `R090\0before\0after\0`. */
function changedFiles(output: string): readonly (readonly [string, string])[] {
  return [...output.matchAll(/M\0([^\0]+)\0|R\d+\0([^\0]+)\0([^\0]+)\0/g)].map(
    ([, same = "", from = same, to = same]) => [from, to] as const,
  );
}

interface LockState {
  readonly file: string;
  readonly text: string;
}

/** Packages whose version differs between two states of a lock file; none where one of them cannot be read. */
function changesOf(base: LockState, head: LockState): LockChange[] {
  try {
    const { ecosystem, packages } = lockedPackages(base.text, base.file);
    return packageChanges(packages, lockedPackages(head.text, head.file).packages)
      .map(({ name, good, bad }) => ({
        ecosystem,
        name: cutText(name, 214),
        from: shownVersion(good),
        to: shownVersion(bad),
      }))
      .filter(({ from, to }) => from !== to);
  } catch (error) {
    if (error instanceof GateError) return [];
    throw error;
  }
}

async function readChanges(view: RepositoryView): Promise<readonly LockChange[]> {
  const range = await measuredRange(view);
  if (range === null) return [];
  const { top, base, isJob } = range;
  const patterns = LOCK_PATTERNS.map((pattern) => `:(top,glob)${pattern}`);
  // A new lock has no earlier versions, so nothing of it is known to have changed.
  const { ok, stdout } = await git(top, [
    "diff",
    "--name-status",
    "-z",
    "--find-renames",
    "--diff-filter=MR",
    "--no-ext-diff",
    "--no-relative",
    base,
    ...(isJob ? ["HEAD"] : []),
    "--",
    ...patterns,
  ]);
  if (!ok) return [];
  const found = new Map<string, LockChange>();
  // Lock files that are compared.
  for (const [from, to] of changedFiles(stdout).slice(0, 20)) {
    const before = await atCommit(top, base, from);
    const after = isJob
      ? await atCommit(top, "HEAD", to)
      : readBounded(path.join(top, to), MAX_LOCK_BYTES, "refuse").toString("utf8");
    if (before === null || after === null) continue;
    const changes = changesOf({ file: from, text: before }, { file: to, text: after });
    // A package may be locked in several files.
    for (const change of changes) found.set(Object.values(change).join("\0"), change);
  }
  return [...found.values()];
}

/**
 * The packages that a change locks to other versions than the commit where it left the main branch, that of a named
 * line first; null where there are none or they are unknown. Never throws.
 */
export async function lockChanges(view: RepositoryView, findings: readonly Finding[]): Promise<LockChanges | null> {
  const changes = await readChanges(view).catch(() => []);
  if (changes.length === 0) return null;
  const owners = findings.flatMap(({ package: owner }) => owner ?? []);
  const rank = (change: LockChange): number => {
    const at = owners.findIndex((owner) => changesPackage(change, owner));
    return at < 0 ? owners.length : at;
  };
  const ordered = [...changes].sort((a, b) => rank(a) - rank(b));
  // Packages that a document may list; their number is that of all.
  return { total: changes.length, packages: ordered.slice(0, 10_000) };
}
