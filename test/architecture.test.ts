import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../src/core/package-root.ts";

/** Top to bottom; an import never points up this list. */
const ROOMS = [
  "actions",
  "cli",
  "gate",
  "github",
  "report",
  "verdict",
  "baseline",
  "analysis",
  "snapshot",
  "measure",
  "telemetry",
  "sampler",
  "config",
  "core",
];
const MAX_LINES = 400;

function filesBelow(directory: string, endings: readonly string[]): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const full = path.join(directory, entry.name);
    if (entry.isDirectory())
      return ["node_modules", "fixtures", "__pycache__"].includes(entry.name) ? [] : filesBelow(full, endings);
    return endings.some((ending) => entry.name.endsWith(ending)) ? [full] : [];
  });
}

const root = packageRoot();
const source = path.join(root, "src");
const room = (file: string): string => path.relative(source, file).split(path.sep)[0] ?? "";

describe("the layout of the house", () => {
  it("gives every source file a room of the list", () => {
    const strangers = filesBelow(source, [".ts"]).filter((file) => !ROOMS.includes(room(file)));
    expect(strangers).toEqual([]);
  });

  it("never imports upwards", () => {
    const upward: string[] = [];
    for (const file of filesBelow(source, [".ts"])) {
      for (const match of readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)) {
        const target = path.resolve(path.dirname(file), match[1] ?? "");
        if (!target.startsWith(source)) continue;
        const policyType = room(file) === "config" && target.endsWith(path.join("verdict", "policy.ts"));
        if (ROOMS.indexOf(room(target)) < ROOMS.indexOf(room(file)) && !policyType) {
          upward.push(`${path.relative(root, file)} -> ${path.relative(root, target)}`);
        }
      }
    }
    expect(upward).toEqual([]);
  });

  it("keeps the pure rooms free of clock, file and environment", () => {
    const impure = ["analysis", "verdict", "snapshot"].flatMap((name) =>
      filesBelow(path.join(source, name), [".ts"])
        .filter((file) => !file.endsWith(".test.ts") && !file.includes(`${path.sep}testing${path.sep}`))
        .filter((file) =>
          /["']node:(?!crypto)|Date\.now|new Date\(|process\.[a-z]|Math\.random|performance\./.test(
            readFileSync(file, "utf8"),
          ),
        )
        .map((file) => path.relative(root, file)),
    );
    expect(impure).toEqual([]);
  });

  it(`keeps every file below ${MAX_LINES} lines`, () => {
    const directories = ["src", "test", "native", "probe", "leak-lab", "bench", "scripts"].map((name) =>
      path.join(root, name),
    );
    const existing = directories.filter((directory) => readdirSync(root).includes(path.basename(directory)));
    const long = existing
      .flatMap((directory) => filesBelow(directory, [".ts", ".mjs", ".py", ".cc", ".h", ".c", ".sh"]))
      .filter((file) => readFileSync(file, "utf8").split("\n").length > MAX_LINES + 1)
      .map((file) => path.relative(root, file));
    expect(long).toEqual([]);
  });
});
