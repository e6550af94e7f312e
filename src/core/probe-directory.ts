import { existsSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "./package-root.ts";

/**
 * The directory of what runs inside measured processes (`inject`, `node`): beside the sources, or the copy in `dist`
 * where the program runs from there and may be all that is installed.
 */
export function probeDirectory(): string {
  const root = packageRoot();
  const source = path.join(root, "probe");
  const shipped = path.join(root, "dist", "probe");
  const fromSources = import.meta.url.endsWith(".ts");
  return (fromSources || !existsSync(shipped)) && existsSync(source) ? source : shipped;
}
