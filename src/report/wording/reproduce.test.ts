import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { draws } from "../../core/testing/draws.ts";
import type { ScenarioReport } from "../model/gate-report.ts";
import type { BaselineSummary, Invocation } from "../model/report-schema.ts";
import { sampleScenario } from "../testing/sample-report.ts";
import { reproduceCommand } from "./reproduce.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";
const BASELINE: BaselineSummary = { source: "file:baselines", runs: 5, sessions: 1, newest_iso: null, commit: null };

const INVOCATION: Invocation = {
  directory: "",
  config: null,
  command: ["python3", "train.py"],
  options: [],
  baselines: null,
  base: null,
  fetch: false,
  modified: false,
};

function reproduce(invocation: Partial<Invocation>, over: Partial<ScenarioReport> = {}, isPolicyChanged = false) {
  const scenario = {
    ...sampleScenario(),
    scenario: "train",
    runs: [],
    fingerprint: {},
    baseline: BASELINE,
    ...over,
    invocation: { ...INVOCATION, ...invocation },
  } as ScenarioReport;
  const policy_changes = isPolicyChanged ? [{ path: "policy.max-runs", base: "3", head: "9" }] : [];
  return reproduceCommand({ commit: SHA, policy_changes }, scenario);
}

const commandOf = (...given: Parameters<typeof reproduce>): string | undefined => reproduce(...given)?.command;

describe("the command that reproduces a red verdict", () => {
  it("reproduceCommand is null where the report does not contain how the gate was started", () => {
    expect(reproduceCommand({ commit: SHA }, sampleScenario())).toBeNull();
  });

  it("checks out the commit and runs the command, or the scenario of the config file", () => {
    const run = `git checkout ${SHA} && npx stormlog-gate run`;
    expect(commandOf({})).toBe(`${run} --scenario train -- python3 train.py`);
    expect(commandOf({}, { scenario: "default" })).toBe(`${run} -- python3 train.py`);
    expect(commandOf({ config: "stormlog-gate.yml", command: null })).toBe(`${run} --scenario train`);
    expect(commandOf({ config: "gate.yml", command: null }, { scenario: "-a b" })).toBe(
      `${run} --config gate.yml '--scenario=-a b'`,
    );
    expect(commandOf({ config: "gate.yml" })).toBe(`${run} --config gate.yml --scenario train -- python3 train.py`);
  });

  it("names the scenario of a merged report as its leg does", () => {
    const { runs } = sampleScenario();
    const own = runs[0]?.info.scenario ?? "";
    const command = commandOf({ command: null, config: "gate.yml" }, { scenario: `linux/${own}`, runs });
    expect(command).toMatch(new RegExp(`--scenario ${own}$`));
  });

  it("fetches the commit of a job, and the ref of the baseline", () => {
    const invocation = { fetch: true, baselines: ["ref:refs/stormlog/baselines", "file:baselines"] };
    const run = "npx stormlog-gate run --scenario train";
    const ref = { ...BASELINE, source: "ref:refs/stormlog/baselines" };
    expect(commandOf(invocation, { baseline: ref })).toBe(
      `git fetch origin ${SHA} refs/stormlog/baselines:refs/stormlog/baselines && git checkout ${SHA} && ` +
        `${run} --baseline ref:refs/stormlog/baselines -- python3 train.py`,
    );
    const checkout = `git fetch origin ${SHA} && git checkout ${SHA} && ${run}`;
    expect(commandOf(invocation), "the usual baseline").toBe(`${checkout} -- python3 train.py`);
    expect(commandOf(invocation, { baseline: null }), "a budget without a baseline").toBe(
      `${checkout} -- python3 train.py`,
    );
    expect(commandOf({ ...invocation, baselines: [] }, { baseline: null })).toContain("--baseline none --");
    expect(
      reproduce({ fetch: true, baselines: ["artifact:b"] }, { baseline: { ...BASELINE, source: "artifact:b" } }),
    ).toEqual({
      command: `${checkout} --baseline none -- python3 train.py`,
      differs: "artifact:b can be read in a workflow only",
    });
  });

  it("stays in a working tree with changes, and reports it", () => {
    expect(reproduce({ modified: true, directory: "my pkg" })).toEqual({
      command: `cd "$(git rev-parse --show-toplevel)"/'my pkg' && npx stormlog-gate run --scenario train -- python3 train.py`,
      differs: "only this working tree has the uncommitted changes",
    });
    expect(reproduce({ modified: true, fetch: true })).toEqual({
      command: `git fetch origin ${SHA} && git checkout ${SHA} && npx stormlog-gate run --scenario train -- python3 train.py`,
      differs: "the job had changed files of the commit",
    });
    expect(commandOf({ directory: null })).toBe("npx stormlog-gate run --scenario train -- python3 train.py");
  });

  it("copies a config file whose paths start at another directory", () => {
    expect(commandOf({ config: "ci/gate.yml", command: null, directory: "pkg" })).toBe(
      `git checkout ${SHA} && cd "$(git rev-parse --show-toplevel)"/pkg && ` +
        "cp ci/gate.yml stormlog-gate.reproduce.yml && " +
        "npx stormlog-gate run --config stormlog-gate.reproduce.yml --scenario train",
    );
  });

  it("the reproduced run is judged by the base commit's settings where the change altered its own", () => {
    expect(commandOf({ base: "origin/main" })).not.toContain("CI=true");
    expect(commandOf({ base: "origin/main" }, {}, true)).toContain(
      "&& CI=true STORMLOG_GATE_BASE=origin/main npx stormlog-gate run",
    );
  });

  it("keeps the options of the run, and hides secrets", () => {
    expect(
      reproduce({
        options: ["--budget", "host=2GiB", "--base-run", "API_TOKEN=abc ./base"],
        command: ["env", "HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz", "./train", "--password", "hunter2"],
      }),
    ).toEqual({
      command:
        `git checkout ${SHA} && npx stormlog-gate run --scenario train --budget host=2GiB ` +
        "--base-run 'API_TOKEN=*** ./base' -- env 'HF_TOKEN=***' ./train --password '***'",
      differs: "*** stands for a secret",
    });
  });

  it("takes no commit, ref or directory of a forged report as shell code", () => {
    const forged = { directory: "$(touch a); b", base: "`c`", config: "x;y", fetch: true };
    const source = "ref:refs/x --upload-pack=d";
    const scenario = { ...sampleScenario(), runs: [], baseline: { ...BASELINE, source }, fingerprint: {} };
    const found = reproduceCommand({ commit: "HEAD; e" }, {
      ...scenario,
      scenario: "f && g",
      invocation: { ...INVOCATION, ...forged },
    } as ScenarioReport);
    expect(found?.command).toBe(
      `cd "$(git rev-parse --show-toplevel)"/'$(touch a); b' && ` +
        "npx stormlog-gate run --config 'x;y' --scenario 'f && g' -- python3 train.py",
    );
  });

  it("the reproducing command is one line from which a shell reads the same arguments", () => {
    const piece = fc.constantFrom(
      "\n",
      "\t",
      "'",
      '"',
      "\\",
      "\\n",
      "$HOME",
      "`a`",
      " ",
      "\u001b[31m",
      "\u202e",
      "ü",
      "%s",
      "!",
    );
    const text = fc
      .array(
        fc.oneof(
          piece,
          fc.string({ maxLength: 3 }).filter((part) => !part.includes("\0")),
        ),
        { maxLength: 6 },
      )
      .map((parts) => parts.join(""))
      // A shell removes the line breaks at the end of what a command prints.
      .filter((word) => !word.endsWith("\n"));
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 8 }), (given) => {
        const command = ["sh", "-c", "a\nb", ...given];
        const line = commandOf({ command, directory: null }) ?? "";
        expect(line).not.toMatch(/[\n\u001b\u202e]/);
        const quoted = line.replace("npx stormlog-gate run --scenario train --", "printf '%s\\0'");
        const read = execFileSync("sh", ["-c", quoted], { encoding: "utf8" });
        expect(read.split("\0").slice(0, -1)).toEqual(command);
      }),
      { numRuns: draws(40) },
    );
  });
});

describe("what differs elsewhere", () => {
  it("the difference elsewhere is the recorded environment as far as it is known", () => {
    const fingerprint = {
      os: "Ubuntu 24.04.1 LTS",
      backend: "cuda",
      device_model: "NVIDIA A100-SXM4-80GB",
      mig_profile: null,
      framework: "torch",
      framework_version: "2.4",
      python: "3.11.9",
      world_size: 8,
      allocator_settings: "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    };
    expect(reproduce({}, { fingerprint })?.differs).toBe(
      "recorded on: Ubuntu 24.04.1 LTS, NVIDIA A100-SXM4-80GB, torch 2.4, Python 3.11.9, 8 ranks, " +
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    );
    const plain = { os: "Debian GNU/Linux 12", python: null, world_size: 1, allocator_settings: "default" };
    expect(reproduce({}, { fingerprint: plain })?.differs).toBe("recorded on: Debian GNU/Linux 12");
    expect(reproduce({})?.differs).toBeNull();
  });
});
