import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { gateRequestFromInputs } from "../../config/from-action-inputs.ts";
import type { GateRequest, ScenarioRequest } from "../../config/gate-request.ts";
import { parseConfig } from "../../config/load.ts";
import { type GateRequestInput, gateRequest } from "../../config/options.ts";
import { viewRepository } from "../../git/repository-view.ts";
import { unmeasured } from "../scenario/scenario-report.ts";
import { invocationOf } from "./invocation.ts";

let top: string;
let pkg: string;

const git = (...args: string[]): string =>
  execFileSync("git", ["-C", top, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });

beforeEach(() => {
  top = realpathSync(mkdtempSync(path.join(tmpdir(), "stormlog-gate-invocation-")));
  pkg = path.join(top, "pkg");
  mkdirSync(pkg);
  git("init", "--quiet");
  writeFileSync(path.join(pkg, "train.py"), "");
  writeFileSync(path.join(top, ".gitignore"), "out/\n");
  git("add", ".");
  git("commit", "--quiet", "-m", "base");
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const input = (over: Partial<GateRequestInput>): GateRequest =>
  gateRequest({
    options: {},
    command: { kind: "argv", argv: ["python3", "train.py"] },
    config: null,
    root: pkg,
    defaultBaselines: ["file:baselines"],
    defaultUnjudged: "fail",
    argv: [],
    env: {},
    ...over,
  });

const invocation = async (request: GateRequest, source: string | null = null) => {
  const report = {
    ...unmeasured("default", { verdict: "fail", judgement: null, error: null }),
    baseline: source === null ? null : { source, runs: 5, sessions: 1, newest_iso: null, commit: null },
  };
  return invocationOf(request, request.scenarios[0] as ScenarioRequest, report, await viewRepository(request.root));
};

describe("invocationOf", () => {
  it("an invocation has the directory in the repository, the command and the given options, without secrets", async () => {
    const command = { kind: "argv", argv: ["python3", "train.py", "--token", "abc"] } as const;
    const options = {
      scenario: "train",
      bundle: "/tmp/x",
      unjudged: "warn",
      budget: ["host=2GiB", "allocated=1GiB"],
      "base-run": "-x",
      baseline: ["file:other"],
    };
    expect(await invocation(input({ command, options }))).toEqual({
      directory: "pkg",
      config: null,
      command: ["python3", "train.py", "--token", "***"],
      options: ["--base-run=-x", "--budget", "host=2GiB", "--budget", "allocated=1GiB"],
      baselines: ["file:other"],
      base: null,
      fetch: false,
      modified: false,
    });
  });

  it("an invocation has the config file of the scenario, and what a job adds", async () => {
    writeFileSync(path.join(top, "gate.yml"), "scenarios: [{ name: train, run: python3 train.py, cwd: pkg }]\n");
    git("add", ".");
    const env = { GITHUB_WORKSPACE: top, GITHUB_ACTIONS: "true", GITHUB_BASE_REF: "release" };
    const request = gateRequestFromInputs({ config: "gate.yml", horizon: "72h" }, env);
    git("commit", "--quiet", "-m", "config");
    expect(await invocation(request)).toEqual({
      directory: "",
      config: "gate.yml",
      command: null,
      options: ["--horizon", "72h"],
      baselines: ["ref:refs/stormlog/baselines", "file:baselines"],
      base: "origin/release",
      fetch: true,
      modified: false,
    });
    const script = gateRequestFromInputs({ run: "python3 train.py\nexit 0\n" }, env);
    expect((await invocation(script))?.command).toEqual(["sh", "-c", "python3 train.py\nexit 0"]);
  });

  it("an invocation leaves the baselines to the config file, and to the command line's own", async () => {
    const config = parseConfig("scenarios: [{ name: a, run: 'true' }]\nbaseline: [ref:refs/x]\n", "c.yml");
    expect((await invocation(input({})))?.baselines).toBeNull();
    expect((await invocation(input({ config, command: null })))?.baselines).toBeNull();
    expect((await invocation(input({ options: { baseline: ["none"] } })))?.baselines).toEqual([]);
  });

  it("an invocation is modified by a tracked file, a new file of the command or a new baseline, not by others", async () => {
    writeFileSync(path.join(pkg, "notes.txt"), "");
    mkdirSync(path.join(pkg, "out"));
    writeFileSync(path.join(pkg, "out", "tool"), "");
    const modified = async (argv: readonly string[], source?: string) =>
      (await invocation(input({ command: { kind: "argv", argv } }), source))?.modified;
    expect(await modified(["python3", "train.py", "out/tool"], "file:baselines")).toBe(false);
    expect(await modified(["python3", "notes.txt"])).toBe(true);
    mkdirSync(path.join(pkg, "baselines", "default"), { recursive: true });
    writeFileSync(path.join(pkg, "baselines", "default", "record.json"), "{}");
    expect(await modified(["python3", "train.py"], "file:baselines")).toBe(true);
    git("add", "--all");
    git("commit", "--quiet", "-m", "all");
    expect(await modified(["python3", "notes.txt"], "file:baselines")).toBe(false);
    writeFileSync(path.join(pkg, "train.py"), "changed");
    expect(await modified(["true"])).toBe(true);
  });

  it("an invocation is left out where the command is too long for a line", async () => {
    expect(await invocation(input({ command: { kind: "shell", script: "true\n".repeat(2000) } }))).toBeNull();
  });

  it("an invocation has no directory outside a repository", async () => {
    rmSync(path.join(top, ".git"), { recursive: true });
    expect(await invocation(input({}))).toMatchObject({ directory: null, modified: false });
  });
});
