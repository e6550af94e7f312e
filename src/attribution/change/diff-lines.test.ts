import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { costRatio, MAX_LINEAR_RATIO } from "../../core/testing/cost-ratio.ts";
import { diffLines, type FileChange } from "./diff-lines.ts";

const changesOf = (...lines: readonly string[]): Record<string, FileChange> =>
  Object.fromEntries(diffLines(lines.join("\n")));

const lines = (
  changed: readonly (readonly [number, number])[],
  removed: readonly (readonly [after: number, ...lines: string[]])[] = [],
): FileChange => ({
  kind: "lines",
  changed: changed.map(([first, last]) => ({ first, last })),
  removed: removed.map(([after, ...texts]) => ({ after, lines: texts })),
});

describe("the changed lines of a diff", () => {
  it("changed lines are ranges of the newer version, and the lines behind which others were removed", () => {
    expect(
      changesOf(
        "diff --git a/train.py b/train.py",
        "index 1..2 100644",
        "--- a/train.py",
        "+++ b/train.py",
        "@@ -3 +3,2 @@ def step(x):",
        "-    y = x",
        "+    y = x + 1",
        "+    z = y",
        "@@ -10,2 +11,0 @@ def step(x):",
        "-    a",
        "-    b",
        "@@ -0,0 +1 @@",
        "+top",
        "@@ -1 +0,0 @@",
        "-gone",
      ),
    ).toEqual({
      "train.py": lines(
        [
          [3, 4],
          [1, 1],
        ],
        [
          [11, "    a", "    b"],
          [0, "gone"],
        ],
      ),
    });
  });

  it("changed lines leave out the context that a setting adds to a hunk", () => {
    expect(
      changesOf("+++ b/a", "@@ -1,4 +1,4 @@", " one", "-two", "", "+2", " four"),
      "a removal, an empty line of context, then an addition",
    ).toEqual({ a: lines([[3, 3]], [[1, "two"]]) });
  });

  it("changed lines are not taken from content that looks like a header", () => {
    expect(
      changesOf(
        "diff --git a/x b/x",
        "--- a/x",
        "+++ b/x",
        "@@ -1,2 +1,3 @@",
        "--- a/other",
        "-@@ -1 +1 @@",
        "\\ No newline at end of file",
        "+++ b/other",
        "+diff --git a/other b/other",
        "+@@ -1 +9 @@",
        "\\ No newline at end of file",
        "diff --git a/y b/y",
        "+++ b/y",
        "@@ -1 +1 @@",
        "-a",
        "+b",
      ),
    ).toEqual({ x: lines([[1, 3]]), y: lines([[1, 1]]) });
  });

  it("changed lines are unknown in a binary file, a conflict and the diff of a merge", () => {
    expect(
      changesOf(
        "* Unmerged path in conflict.py",
        "diff --git a/in conflict.py b/in conflict.py",
        "+++ b/in conflict.py\t",
        "@@ -1 +1 @@",
        "-a",
        "+b",
        "diff --git a/my model.bin b/my model.bin",
        "Binary files a/my model.bin and b/my model.bin differ",
        "diff --git a/gone.bin b/gone.bin",
        "Binary files a/gone.bin and /dev/null differ",
        "diff --cc merged.py",
        "--- a/merged.py",
        "+++ b/merged.py",
        "@@@ -1,2 -1,2 +1,1 @@@",
        "- a",
        " -b",
        "++@@ -1 +7 @@",
        "diff --git a/z b/z",
        "+++ b/z",
        "@@ -0,0 +1 @@",
        "+z",
      ),
    ).toEqual({
      "in conflict.py": { kind: "unknown" },
      "my model.bin": { kind: "unknown" },
      "merged.py": { kind: "unknown" },
      z: lines([[1, 1]]),
    });
  });

  it("diffLines reads changed lines in linear time", () => {
    const hunks = (count: number): string =>
      ["+++ b/a", ...Array.from({ length: count }, (_, at) => `@@ -${at + 1} +${at + 1} @@\n-a\n+b`)].join("\n");
    expect(costRatio((count) => diffLines(hunks(count)), 4000, 32_000)).toBeLessThan(MAX_LINEAR_RATIO);
  });

  it("diffLines reads any text without an error", () => {
    const piece = fc.constantFrom(
      "diff --git ",
      "diff --cc ",
      "+++ ",
      "--- ",
      "@@ -1,9 +1 @@",
      '"',
      "\\",
      "b/",
      "\n",
      "+",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string())), (parts) => {
        diffLines(parts.join(""));
      }),
    );
  });
});

/** Names that git quotes, escapes or ends with a tab, and names that look like parts of a diff. */
const NAMES = [
  "plain.py",
  "two words.py",
  "tab\there",
  "line\nbreak",
  'quo"te',
  "back\\slash",
  "größe/模型.py",
  "b/b",
  "trailing space ",
  "a b/a b",
  "x and /dev/null differ",
  "\u0007bell\u007f",
];
const CONTENT = [
  "",
  "a",
  "b",
  "c\r",
  "++ b/plain.py",
  "-- a/plain.py",
  "@@ -1 +1 @@",
  "diff --git a/x b/x",
  "\\ No newline",
];

describe("the changed lines of real diffs", () => {
  let top = "";
  const git = (...args: string[]): string =>
    execFileSync("git", ["-C", top, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const write = (files: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(top, name)), { recursive: true });
      writeFileSync(path.join(top, name), text);
    }
  };

  beforeAll(() => {
    top = mkdtempSync(path.join(tmpdir(), "stormlog-gate-diff-"));
    git("init", "--quiet");
  });
  afterAll(() => rmSync(top, { recursive: true, force: true }));

  it("changed lines are as many as git counts, and the others are in the older version in the same order", () => {
    const text = fc.tuple(fc.array(fc.constantFrom(...CONTENT), { maxLength: 12 }), fc.boolean());
    const file = fc.record({ name: fc.constantFrom(...NAMES), before: text, after: text });
    const content = ([all, ended]: readonly [readonly string[], boolean]): string =>
      all.join("\n") + (ended && all.length > 0 ? "\n" : "");
    const linesOf = (all: string): string[] => (all === "" ? [] : (all.match(/[^\n]*\n|[^\n]+$/g) ?? []));
    fc.assert(
      fc.property(
        fc.uniqueArray(file, { selector: ({ name }) => name, minLength: 4 }),
        fc.boolean(),
        (files, quoted) => {
          git("config", "core.quotePath", String(quoted));
          const versions = (which: "before" | "after") =>
            Object.fromEntries(files.map((one) => [one.name, content(one[which])]));
          write(versions("before"));
          git("add", "--all");
          write(versions("after"));
          const changes = diffLines(git("diff", "--unified=0", "--src-prefix=a/", "--dst-prefix=b/").trim());
          const counted = git("diff", "--numstat", "-z").split("\0");
          for (const { name, before, after } of files) {
            const change = changes.get(name) ?? lines([]);
            if (change.kind === "unknown") throw new Error(`${name} is unknown`);
            const isChanged = (line: number) => change.changed.some(({ first, last }) => first <= line && line <= last);
            const all = linesOf(content(after));
            const added = counted.find((row) => row.endsWith(`\t${name}`))?.split("\t")[0] ?? "0";
            expect(all.filter((_, at) => isChanged(at + 1)).length, name).toBe(Number(added));
            const older = linesOf(content(before));
            let from = 0;
            for (const line of all.filter((_, at) => !isChanged(at + 1))) {
              from = older.indexOf(line, from) + 1;
              expect(from, `${name}: ${line}`).toBeGreaterThan(0);
            }
          }
        },
      ),
      { numRuns: 12 },
    );
  });

  it("changed lines of a renamed file are listed under its new name, and those of a deleted file are not listed", () => {
    rmSync(top, { recursive: true });
    mkdirSync(top);
    git("init", "--quiet");
    const body = Array.from({ length: 30 }, (_, at) => `line ${at}`);
    write({ "old name.py": body.join("\n"), "gone.py": "a\n", "moved.bin": `\0${body.join()}`, mode: "m\n" });
    git("add", "--all");
    git("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "-m", "base");
    git("mv", "old name.py", "new\tname.py");
    git("mv", "moved.bin", "moved there.bin");
    git("rm", "--quiet", "gone.py");
    git("update-index", "--chmod=+x", "mode");
    write({ "new\tname.py": body.with(4, "changed").join("\n"), "moved there.bin": `\0${body.join()}!` });
    expect(Object.fromEntries(diffLines(git("diff", "--unified=0", "--find-renames", "HEAD")))).toEqual({
      "new\tname.py": lines([[5, 5]]),
      "moved there.bin": { kind: "unknown" },
    });
  });
});
