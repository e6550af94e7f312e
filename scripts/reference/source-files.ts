import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "../../src/core/package-root.ts";

export interface SourceFile {
  readonly name: string;
  readonly text: string;
}

/** The sources in `src` without their tests. */
export function sourceFiles(): readonly SourceFile[] {
  const src = path.join(packageRoot(), "src");
  return readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && !/\btesting\b/.test(name))
    .map((name) => ({ name, text: readFileSync(path.join(src, name), "utf8") }));
}
