import { type Dir, type Dirent, opendirSync } from "node:fs";
import path from "node:path";

const MAX_DEPTH = 100;

/** What is below a directory. Paths are relative to it, with forward slashes. */
interface Tree {
  /** Files, directories, links and all else, unsorted. */
  readonly entries: readonly { readonly path: string; readonly entry: Dirent }[];
  /** Directories that were not read, or not to their end. The path of the first one is "" where nothing was read. */
  readonly unread: readonly { readonly path: string; readonly cause: Error }[];
}

/**
 * List a directory that others may have filled, with its subdirectories. Links are not followed: a few of them that
 * lead upwards make a tree without end.
 */
// Above any store, bundle or recording of thousands of ranks.
export function treeBelow(directory: string, maxEntries = 100_000): Tree {
  const entries: { path: string; entry: Dirent }[] = [];
  const unread: { path: string; cause: Error }[] = [];
  const open = [""];
  let count = 0;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    try {
      for (const entry of entriesOf(path.join(directory, at))) {
        count += 1;
        if (count > maxEntries) throw new Error(`more than ${maxEntries} entries`);
        const below = at === "" ? entry.name : `${at}/${entry.name}`;
        entries.push({ path: below, entry });
        if (!entry.isDirectory()) continue;
        if (below.split("/").length < MAX_DEPTH) open.push(below);
        else unread.push({ path: below, cause: new Error(`more than ${MAX_DEPTH} levels of directories`) });
      }
    } catch (error) {
      unread.push({ path: at, cause: error as Error });
      if (count > maxEntries) break;
    }
  }
  return { entries, unread };
}

/** One by one, so that a directory of millions is not read whole. */
function* entriesOf(directory: string): Generator<Dirent> {
  const opened: Dir = opendirSync(directory);
  try {
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) yield entry;
  } finally {
    opened.closeSync();
  }
}
