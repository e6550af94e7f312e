import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

let cached: string | undefined;

/** The package's directory, found upwards from here: `dist/…` and `src/…` share prebuilds, fonts and the leak lab. */
export function packageRoot(): string {
  if (cached !== undefined) return cached;
  let directory = path.dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const manifest = path.join(directory, "package.json");
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).name === "stormlog-gate") {
      cached = directory;
      return directory;
    }
    const parent = path.dirname(directory);
    if (parent === directory)
      throw new Error("the stormlog-gate package directory cannot be found from its own module");
    directory = parent;
  }
}

/** Version of this package, from its manifest. */
export function packageVersion(): string {
  return JSON.parse(readFileSync(path.join(packageRoot(), "package.json"), "utf8")).version;
}
