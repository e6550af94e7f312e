import { existsSync, lstatSync } from "node:fs";
import { cp, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { invalidInput, messageOf } from "../core/errors.ts";
import { readBounded } from "../core/files.ts";
import { isObject, type Json } from "../core/json.ts";
import { DEPENDENCY_FIELDS } from "./locks.ts";
import { isSearch } from "./state.ts";
import { looksSecret } from "./tool-environment.ts";

/** What is not copied with a project: it is installed again, large, or where projects keep secrets. */
const LEFT_OUT = /^(?:node_modules|\.git|\.env.*|\.npmrc|\.netrc|\.pypirc)$/;
const LOGIN = /^\s*["']?\/\/|_auth|_password|^\s*["']?(?:username|email|key|cert)\b/i;
const MAX_BYTES = 16 * 2 ** 20;

/**
 * Copy an npm project with another lock, without its logins.
 * @throws GateError LOCK_INVALID (exit 5), and errors of the system
 */
export async function copyProject(from: string, to: string, lock: string): Promise<void> {
  const manifest = manifestWith(path.join(from, "package.json"), lock);
  await cp(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (file) => file === from || (!LEFT_OUT.test(path.basename(file)) && isCopied(file)),
  });
  const written = [
    ["package.json", JSON.stringify(manifest, null, 2)],
    ["package-lock.json", lock],
    [".npmrc", settingsOf(path.join(from, ".npmrc"))],
  ] as const;
  for (const [name, text] of written) {
    // A link would lead back to a file of the user.
    await rm(path.join(to, name), { force: true });
    await writeFile(path.join(to, name), text);
  }
}

/** FIFOs, sockets and devices cannot be copied; another search is not of the project. */
function isCopied(file: string): boolean {
  const stats = lstatSync(file);
  return stats.isFile() || stats.isSymbolicLink() || (stats.isDirectory() && !isSearch(file));
}

/** The project's manifest with the dependencies of a lock. */
function manifestWith(file: string, lock: string): Json {
  const { packages } = JSON.parse(lock) as { packages: Record<string, Json> };
  const root = packages[""] ?? {};
  const listed = Object.fromEntries(DEPENDENCY_FIELDS.map((field) => [field, root[field]]));
  let own: unknown = {};
  if (existsSync(file)) {
    const text = readBounded(file, MAX_BYTES).toString("utf8");
    try {
      own = JSON.parse(text.replace(/^\uFEFF/, ""));
    } catch (error) {
      throw invalidInput("LOCK_INVALID", `the manifest is not JSON (${messageOf(error)})`, file, REPAIR);
    }
  }
  if (!isObject(own)) throw invalidInput("LOCK_INVALID", "the manifest is not a JSON object", file, REPAIR);
  return { name: "project", version: "0.0.0", ...own, ...listed };
}

const REPAIR = "Repair package.json, then add --resume.";

/** The project's settings of npm without logins. */
function settingsOf(file: string): string {
  if (!existsSync(file)) return "";
  const lines = readBounded(file, MAX_BYTES)
    .toString("utf8")
    .split(/[\r\n]+/);
  const kept = lines.filter((line) => {
    const at = line.indexOf("=");
    return !LOGIN.test(line) && !(at >= 0 && looksSecret(line.slice(0, at).trim(), line.slice(at + 1).trim()));
  });
  return kept.join("\n");
}
