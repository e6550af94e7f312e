import { existsSync } from "node:fs";
import path from "node:path";
import { heldFiles, packageRoot } from "./package-root.ts";

/**
 * What runs in measured processes (`inject`, `node`): beside the sources, the copy in `dist` of an installation, or the
 * copy of it that the Action makes for each run.
 */
export function probeDirectory(): string {
  const held = heldFiles();
  if (held !== null) return path.join(held.copies, "probe");
  const root = packageRoot();
  const source = path.join(root, "probe");
  const shipped = path.join(root, "dist", "probe");
  const fromSources = import.meta.url.endsWith(".ts");
  return (fromSources || !existsSync(shipped)) && existsSync(source) ? source : shipped;
}

/** `nodeOptions` with one more file that Node loads before the program; read like a shell line, so quoted as needed. */
export function withPreload(nodeOptions: string | undefined, file: string): string {
  // Programs that divide the variable at blanks are spared quotes.
  const quoted = /[\s"\\]/.test(file) ? `"${file.replace(/[\\"]/g, "\\$&")}"` : file;
  return [nodeOptions ?? "", `--require ${quoted}`].join(" ").trim();
}
