import { writeFile } from "node:fs/promises";
import path from "node:path";
import { invalidInput } from "../core/errors.ts";
import { programsOf, runChild } from "../core/process/child.ts";
import { temporaryDirectory } from "../core/temporary-directory.ts";
import { oneLine } from "../core/text.ts";
import { removeScratch, SCRATCH_PREFIX } from "./state.ts";

const EXPORT = "Export both as requirements: `uv export --frozen --no-emit-project -o good.txt`.";

/** Whether a text is a lock of uv, whose packages all name their source in one line. */
export function isUvLock(text: string): boolean {
  return /^\[\[package\]\]\r?$/m.test(text) && /^source = \{ /m.test(text);
}

/**
 * The requirements of a lock of uv, with their markers and hashes, by the user's own uv; it needs the lock alone.
 * @throws GateError LOCK_UNSUPPORTED (exit 5) where uv is not there or cannot export it, TEMPORARY_FOLDER_UNWRITABLE
 */
export async function uvRequirements(
  text: string,
  file: string,
  { env, interrupt }: { readonly env: Readonly<Record<string, string>>; readonly interrupt: AbortSignal },
): Promise<string> {
  const uv = programsOf({ PATH: env.PATH }).find("uv");
  if (uv === null) throw invalidInput("LOCK_UNSUPPORTED", "uv is not on PATH, which exports its locks", file, EXPORT);
  const project = await temporaryDirectory(SCRATCH_PREFIX);
  try {
    await writeFile(path.join(project, "pyproject.toml"), projectOf(text, file));
    await writeFile(path.join(project, "uv.lock"), text);
    const args = ["export", "--frozen", "--no-emit-project", "--no-header", "--no-annotate", "--quiet", "--offline"];
    const { end, stdout, stderr } = await runChild(uv.path, args, {
      env,
      cwd: project,
      // Maximum duration of an export, milliseconds; it needs no network.
      timeoutMs: 120_000,
      signal: interrupt,
    });
    if (end.kind === "exit" && end.code === 0) return stdout;
    const why = oneLine(stderr).slice(0, 200);
    throw invalidInput("LOCK_UNSUPPORTED", `uv cannot export this lock${why === "" ? "" : `: ${why}`}`, file, EXPORT);
  } finally {
    await removeScratch(project);
  }
}

/** A project with the name of the lock's own, whose dependencies uv takes from the lock. */
function projectOf(text: string, file: string): string {
  const own =
    text.split(/^\[\[package\]\]\r?$/m).find((part) => /^source = \{ (?:virtual|editable) = "\." \}\r?$/m.test(part)) ??
    "";
  const name = /^name = "([\w.-]+)"\r?$/m.exec(own)?.[1];
  const python = /^requires-python = "([^"\\]+)"\r?$/m.exec(text)?.[1];
  if (name === undefined || python === undefined) {
    throw invalidInput("LOCK_UNSUPPORTED", "this lock of uv has no project of its own", file, EXPORT);
  }
  return `[project]\nname = "${name}"\nversion = "0"\nrequires-python = "${python}"\n`;
}
