import { existsSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "./package-root.ts";

/** What runs in measured processes (`inject`, `node`): beside the sources, or the copy in `dist` of an installation. */
export function probeDirectory(): string {
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
