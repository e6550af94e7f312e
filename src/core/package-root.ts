import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

let cached: string | undefined;

/**
 * The installed package's own folder, found upwards from this module, so that bundled chunks (`dist/…`) and sources
 * (`src/…`) find the same shipped files: native prebuilds, fonts, the leak lab.
 */
export function packageRoot(): string {
  if (cached !== undefined) return cached;
  let folder = path.dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const manifest = path.join(folder, "package.json");
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).name === "stormlog-gate") {
      cached = folder;
      return folder;
    }
    const parent = path.dirname(folder);
    if (parent === folder) throw new Error("the stormlog-gate package folder cannot be found from its own module");
    folder = parent;
  }
}

/** Version of this package, from its manifest. */
export function packageVersion(): string {
  return JSON.parse(readFileSync(path.join(packageRoot(), "package.json"), "utf8")).version;
}
