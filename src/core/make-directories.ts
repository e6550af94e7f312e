import { existsSync, mkdirSync, statSync } from "node:fs";
import path from "node:path";

/**
 * Make a directory and those above it that are missing, one by one: asked for all of them at once, Node reports a
 * read-only file system as ENOENT, and never returns in one that holds no directories of ours, as /proc.
 * @throws the error of the first directory that could not be made
 */
export function makeDirectories(directory: string): void {
  const missing: string[] = [];
  for (let at = path.resolve(directory); !existsSync(at) && path.dirname(at) !== at; at = path.dirname(at)) {
    missing.push(at);
  }
  if (missing.length === 0) missing.push(path.resolve(directory));
  for (const directory of missing.reverse()) {
    try {
      mkdirSync(directory);
    } catch (error) {
      // Another process of the same job may have been first.
      if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
    }
  }
}
