import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Finding } from "../../analysis/series/document.ts";
import type { Environment } from "../../core/process/environment.ts";
import { type HistoryPort, viewRepository } from "../../git/repository-view.ts";
import { LEAK_LINE } from "../../report/wording/source-line.ts";
import { markChangedLines } from "./changed-lines.ts";

let directory: string;
let top: string;

function git(cwd: string, ...args: string[]): string {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"];
  return execFileSync("git", ["-C", cwd, ...identity, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).trim();
}

function write(file: string, lines: readonly string[], cwd = top): void {
  mkdirSync(path.dirname(path.join(cwd, file)), { recursive: true });
  writeFileSync(path.join(cwd, file), lines.map((line) => `${line}\n`).join(""));
}

const TRAINER = [
  "import model",
  "kept = []",
  "def step(batch):",
  "    model.forward(batch)",
  "for b in data:",
  "    step(b)",
];
const MODEL = ["cache = []", "def forward(x):", "    cache.append(x)", "    cache.clear()", "    return x"];

/** A main branch of one commit, and a feature branch that is checked out. */
beforeEach(() => {
  directory = realpathSync(mkdtempSync(path.join(tmpdir(), "stormlog-gate-changed-")));
  top = path.join(directory, "repo");
  git(directory, "init", "--quiet", "--initial-branch=main", top);
  write("trainer.py", TRAINER);
  write("lib/my model.py", MODEL);
  write("untouched.py", ["a", "b"]);
  write(".gitignore", ["vendored/"]);
  git(top, "add", ".");
  git(top, "commit", "--quiet", "-m", "base");
  git(top, "checkout", "--quiet", "-b", "feature");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const commit = (message = "change"): void => {
  git(top, "add", "--all");
  git(top, "commit", "--quiet", "-m", message);
};

function finding(line: string, stack: readonly string[] = [line], classification = LEAK_LINE): Finding {
  return {
    classification,
    severity: "critical",
    confidence: 1,
    rank: null,
    device: "host",
    metric: null,
    evidence: { line, stack: stack.map((frame) => `${frame} f`).join(" < ") },
    description: "",
    remediation: [],
  };
}

async function mark(one: Finding, env: Environment = {}, history?: HistoryPort, cwd = top) {
  const [marked] = await markChangedLines([one], await viewRepository(cwd, env, history));
  const { changed, called_from, nearest_change } = marked?.evidence ?? {};
  return { changed, called_from, nearest_change };
}

const UNKNOWN = { changed: null, called_from: null, nearest_change: null };
const CHANGED = { ...UNKNOWN, changed: "changed" };
const UNCHANGED = { ...UNKNOWN, changed: "unchanged" };

describe("a line of a finding", () => {
  it("a finding's line is changed when the branch wrote it, committed or not", async () => {
    write("trainer.py", TRAINER.with(3, "    kept.append(model.forward(batch))"));
    commit();
    write("lib/my model.py", MODEL.with(2, "    cache.append(x.clone())"));
    write("new.py", ["kept.append(1)"]);
    const found = ["trainer.py:4", "lib/my model.py:3", "new.py:1", "untouched.py:1"].map((line) => finding(line));
    const other = finding("trainer.py:4", undefined, "rank_outlier");
    const marked = await markChangedLines([...found, other], await viewRepository(path.join(top, "lib")));
    expect(marked.map(({ evidence }) => evidence.changed)).toEqual([
      "changed",
      "changed",
      "changed",
      "unchanged",
      undefined,
    ]);
  });

  it("an unchanged line names the nearest change and the changed frame that calls it", async () => {
    write("trainer.py", TRAINER.with(5, "    step(b), step(b)"));
    write("lib/my model.py", MODEL.toSpliced(3, 1));
    commit();
    const stack = ["torch/nn.py:5", "lib/my model.py:3", "trainer.py:4", "trainer.py:6"];
    expect(await mark(finding("lib/my model.py:3", stack))).toEqual({
      changed: "unchanged",
      called_from: "trainer.py:6",
      nearest_change: "lib/my model.py:3",
    });
    const [cleared] = await markChangedLines([finding("lib/my model.py:3")], await viewRepository(top));
    expect(cleared?.evidence).toMatchObject({ removed_lines: 1, removed_code: "cache.clear()" });
    expect(await mark(finding("lib/my model.py:1", ["lib/my model.py:1", "trainer.py:3"]))).toEqual({
      ...UNCHANGED,
      nearest_change: "lib/my model.py:3",
    });
    expect(await mark(finding("untouched.py:1", ["trainer.py:6", "untouched.py:1"])), "a frame that it calls").toEqual(
      UNCHANGED,
    );
    expect(await mark(finding("untouched.py:1", ["trainer.py:6"])), "a stack without the line").toEqual(UNCHANGED);
  });

  it("a line is unchanged in a file that was only renamed, whatever the settings for diffs", async () => {
    git(top, "mv", "lib/my model.py", "lib/größe.py");
    write("trainer.py", TRAINER.with(3, "    pass"));
    commit();
    expect(await mark(finding("lib/größe.py:3"))).toEqual(UNCHANGED);
    for (const [key, value] of [
      ["diff.noprefix", "true"],
      ["diff.mnemonicPrefix", "true"],
      ["diff.renames", "false"],
      ["diff.relative", "true"],
      ["diff.context", "9"],
      ["diff.external", "false"],
      ["color.ui", "always"],
      ["core.quotePath", "false"],
    ] as const)
      git(top, "config", key, value);
    const cwd = path.join(top, "lib");
    expect(await mark(finding("lib/größe.py:3"), {}, undefined, cwd)).toEqual(UNCHANGED);
    expect(await mark(finding("trainer.py:4"), {}, undefined, cwd)).toEqual(CHANGED);
  });

  it("a line's change is unknown outside the commit, in a binary file, and where a job wrote the file", async () => {
    write("trainer.py", TRAINER.with(3, "    pass"));
    write(".gitattributes", ["untouched.py -diff"]);
    write("untouched.py", ["a", "c"]);
    commit();
    write("vendored/x.py", ["a"]);
    for (const line of ["vendored/x.py:1", "/usr/lib/x.py:1", "untouched.py:2", "missing.py:1"]) {
      expect(await mark(finding(line, [line, "../x.py:1"])), line).toEqual(UNKNOWN);
    }
    write("generated.py", ["a"]);
    write("lib/my model.py", MODEL.with(2, "patched by the job"));
    const job = { CI: "true" };
    expect(await mark(finding("generated.py:1"), job)).toEqual(UNKNOWN);
    expect(await mark(finding("lib/my model.py:3"), job)).toEqual(UNKNOWN);
    expect(await mark(finding("trainer.py:4"), job)).toEqual(CHANGED);
  });
});

describe("the change that a line is compared with", () => {
  it("a line's change is unknown without a difference from main, and on main in a job", async () => {
    expect(await mark(finding("trainer.py:4"))).toEqual(UNKNOWN);
    git(top, "checkout", "--quiet", "main");
    write("trainer.py", TRAINER.with(3, "    pass"));
    expect(await mark(finding("trainer.py:4"))).toEqual(CHANGED);
    expect(await mark(finding("trainer.py:4"), { CI: "true" })).toEqual(UNKNOWN);
  });

  it("a line's change is unknown without a repository, without a common commit and in a submodule", async () => {
    expect(await mark(finding("trainer.py:4"), {}, undefined, directory)).toEqual(UNKNOWN);
    git(top, "checkout", "--quiet", "--orphan", "unrelated");
    write("trainer.py", TRAINER.with(3, "    pass"));
    commit();
    expect(await mark(finding("trainer.py:4"))).toEqual(UNKNOWN);
    const whole = path.join(directory, "whole");
    git(directory, "init", "--quiet", whole);
    git(whole, "submodule", "--quiet", "add", "-b", "main", top, "part");
    const part = path.join(whole, "part");
    write("trainer.py", TRAINER.with(3, "    pass"), part);
    expect(await mark(finding("trainer.py:4"), {}, undefined, part)).toEqual(UNKNOWN);
  });

  it("the base of a change comes in a shallow clone from GitHub's merge base alone, if the clone contains it", async () => {
    const base = git(top, "rev-parse", "main");
    write("trainer.py", TRAINER.with(3, "    pass"));
    commit();
    git(top, "config", "uploadpack.allowAnySHA1InWant", "true");
    const clone = path.join(directory, "clone");
    git(directory, "clone", "--quiet", "--depth=1", "--branch=feature", `file://${top}`, clone);
    const env = { CI: "true", GITHUB_BASE_REF: "main" };
    const history: HistoryPort = {
      baseBranch: async () => null,
      mergeBase: async (_head, branch) => (branch === "main" ? base : null),
      behind: async () => new Set(),
    };
    const failing = { ...history, mergeBase: () => Promise.reject(new Error("no answer")) };
    const line = finding("trainer.py:4");
    expect(await mark(line, env, undefined, clone), "no port").toEqual(UNKNOWN);
    expect(await mark(line, env, failing, clone), "no answer").toEqual(UNKNOWN);
    expect(await mark(line, env, history, clone), "a commit that is missing").toEqual(UNKNOWN);
    git(clone, "fetch", "--quiet", "--depth=1", "origin", base);
    expect(await mark(line, env, history, clone)).toEqual(CHANGED);
    expect(await mark(finding("untouched.py:1"), env, history, clone)).toEqual(UNCHANGED);
  });
});
