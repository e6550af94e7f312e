import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { snapshotDocument } from "../../src/snapshot/live/document.ts";
import { snapshotName } from "../../src/snapshot/model/file-names.ts";
import { sourceOf } from "../../src/snapshot/pickle/window.ts";
import { readSnapshot } from "../../src/snapshot/read.ts";
import { FILES, FIXTURES } from "./kit.ts";

const python = ["python3", "python"].find(
  (name) => spawnSync(name, ["-c", "import sys; sys.exit(sys.version_info < (3, 8))"]).status === 0,
);

const tables = (directory: string, file: string) => {
  const snapshot = readSnapshot(sourceOf(readFileSync(path.join(directory, file))), file);
  return snapshotDocument([{ file, name: snapshotName(file), snapshot }], { root: null });
};

describe.skipIf(python === undefined)("the generator", () => {
  it("writes the committed snapshots again, whatever version of Python runs it", () => {
    const directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-snapshots-"));
    try {
      const script = path.join(packageRoot(), "test", "snapshot", "make-snapshots.py");
      const made = spawnSync(python ?? "", ["-B", script, directory], { encoding: "utf8" });
      expect(made.stderr).toBe("");
      expect(readdirSync(directory).sort()).toEqual(readdirSync(FIXTURES).sort());
      const facts = (from: string) => readFileSync(path.join(from, "facts.json"), "utf8");
      expect(facts(directory)).toBe(facts(FIXTURES));
      for (const file of FILES) expect(tables(directory, file), file).toEqual(tables(FIXTURES, file));
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
