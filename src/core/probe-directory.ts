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
