import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import path from "node:path";

export type Executable =
  | { readonly kind: "found"; readonly path: string }
  | { readonly kind: "missing" }
  | { readonly kind: "directory" | "not-executable"; readonly path: string };

async function classify(file: string): Promise<Executable> {
  const stats = await stat(file).catch(() => null);
  if (stats === null) return { kind: "missing" };
  if (stats.isDirectory()) return { kind: "directory", path: file };
  const executable = await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
  return { kind: executable && stats.isFile() ? "found" : "not-executable", path: file };
}

/** Finds a command by the rules of `execvp`: a name with a slash is a path, any other is looked up. */
export async function findExecutable(name: string, cwd: string, searchPath: string | undefined): Promise<Executable> {
  if (name === "") return { kind: "missing" };
  if (name.includes("/")) return classify(path.resolve(cwd, name));
  let best: Executable = { kind: "missing" };
  // What `execvp` uses when PATH is not set at all.
  for (const directory of (searchPath ?? "/usr/local/bin:/bin:/usr/bin").split(":")) {
    // An empty entry of PATH is the working directory.
    const candidate = await classify(path.resolve(cwd, directory, name));
    if (candidate.kind === "found") return candidate;
    if (best.kind === "missing" && candidate.kind === "not-executable") best = candidate;
  }
  return best;
}
