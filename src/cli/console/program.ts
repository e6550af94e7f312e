import { realpathSync } from "node:fs";
import path from "node:path";
import { shellWord } from "../../core/escape.ts";
import type { Environment } from "../../core/process/environment.ts";

/** A path as a person reads it: from the working directory when it lies below it, else absolute. */
export function shownPath(absolute: string): string {
  const relative = path.relative(process.cwd(), absolute);
  if (relative === "") return ".";
  return relative.split(path.sep)[0] === ".." ? absolute : relative;
}

function realPath(file: string): string | null {
  try {
    return realpathSync(file);
  } catch {
    return null;
  }
}

/**
 * The words with which the user's shell starts this program, for commands to copy: its name where that is on PATH, npx
 * for an installed package, else Node with the file, as in a clone. npm puts `node_modules/.bin` on PATH for its own
 * children only.
 */
export function programArgv(script = process.argv[1] ?? "", env: Environment = process.env): string {
  const file = realPath(script) ?? script;
  const directories = (env.PATH ?? "").split(path.delimiter).filter((one) => path.isAbsolute(one));
  const isNpms = (directory: string): boolean => directory.endsWith(path.join("node_modules", ".bin"));
  if (directories.some((one) => !isNpms(one) && realPath(path.join(one, "stormlog-gate")) === file))
    return "stormlog-gate";
  if (file.includes(path.join(path.sep, "node_modules", "stormlog-gate", path.sep))) return "npx stormlog-gate";
  return `node ${shellWord(shownPath(file))}`;
}
