import { existsSync, mkdirSync, statSync } from "node:fs";
import path from "node:path";

/**
 * Make a folder and those above it that are missing, one by one: asked for all of them at once, Node reports a read-only file system
 * as ENOENT, and never returns in one that holds no folders of ours, as /proc.
 * @throws the error of the first folder that could not be made
 */
export function makeFolders(directory: string): void {
  const missing: string[] = [];
  for (let at = path.resolve(directory); !existsSync(at) && path.dirname(at) !== at; at = path.dirname(at)) {
    missing.push(at);
  }
  if (missing.length === 0) missing.push(path.resolve(directory));
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder);
    } catch (error) {
      // Another process of the same job may have been first.
      if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
    }
  }
}
