import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { aaSummary } from "../bench/gpu/aa.ts";
import { labSummary } from "../bench/gpu/catalogue.ts";
import { costSummary } from "../bench/gpu/costs.ts";
import type { Evidence, Json, Part } from "../bench/gpu/evidence.ts";
import { oomSummary } from "../bench/gpu/oom.ts";
import { committed, PAGE, withEvidence } from "../bench/gpu/page.ts";
import { peakSummary } from "../bench/gpu/peaks.ts";
import { buildInto } from "../scripts/build.mjs";
import { packageRoot } from "../src/core/package-root.ts";
import { actionNode } from "./action/testing/tools.ts";
import { has, nativeBuild } from "./devices/testing/built.ts";

const ROOT = packageRoot();
const PYTHON = "/usr/bin/python3";
const MIB = 2 ** 20;
const BUILT = path.join(ROOT, "build", "test-bench-gpu");
const ready = process.platform === "linux" && existsSync(PYTHON) && has("gcc");
const hasTorch = ready && spawnSync(PYTHON, ["-c", "import torch"]).status === 0;
const [major = 0, minor = 0] =
  /\d+\.\d+/
    .exec(spawnSync(actionNode(), ["--version"], { encoding: "utf8" }).stdout)?.[0]
    .split(".")
    .map(Number) ?? [];
const stripsTypes = major > 22 || (major === 22 && minor >= 18);

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The script as a person starts it. */
function script(
  args: readonly string[],
  { root = ROOT, env = {} }: { root?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn("bash", [path.join(root, "bench/gpu/run.sh"), "--python", PYTHON, ...args], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [out, err]: [Buffer[], Buffer[]] = [[], []];
    child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
    child.on("error", reject);
    child.on("close", (code) =>
      resolve({ code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() }),
    );
  });
}

/** Follows keys into a document. */
function at(document: unknown, ...keys: readonly (string | number)[]): unknown {
  return keys.reduce<unknown>((here, key) => (here as Record<string | number, unknown> | undefined)?.[key], document);
}

const resultOf = (evidence: Evidence, name: string): { readonly [key: string]: Json | undefined } => {
  const one = evidence.measurements[name];
  if (one?.status !== "measured") throw new Error(`${name}: ${JSON.stringify(one)}`);
  return one.result;
};

describe.skipIf(!ready)("bench/gpu on the fakes, in small", () => {
  const out = ready ? mkdtempSync(path.join(tmpdir(), "gate-bench-gpu-")) : "";
  afterAll(() => rmSync(out, { recursive: true, force: true }));
  let native: string | null = null;

  const part = async (name: Part, ...more: readonly string[]): Promise<Evidence> => {
    const args = [
      "--part",
      name,
      "--fake",
      "--out",
      out,
      "--node",
      actionNode(),
      "--cli",
      path.join(BUILT, "cli.js"),
      ...more,
    ];
    const ended = await script(args, { env: native === null ? {} : { STORMLOG_TEST_PREBUILDS: native } });
    expect(ended).toMatchObject({ code: 0 });
    const evidence = JSON.parse(readFileSync(path.join(out, `${name}.json`), "utf8")) as Evidence;
    expect(evidence).toMatchObject({ schema: "stormlog.gpu-evidence/1", hardware: false, part: name });
    expect(Object.entries(evidence.measurements).filter(([, one]) => one.status !== "measured")).toEqual([]);
    expect(evidence.complete).toBe(true);
    return evidence;
  };

  beforeAll(async () => {
    native = nativeBuild();
    mkdirSync(BUILT, { recursive: true });
    await buildInto(BUILT, { cli: "src/cli/start.ts" });
  }, 300_000);

  it("costs: times NVML's calls and training steps with the gate truly attached", async () => {
    const evidence = await part("costs");
    const call = (name: string) => Number(at(resultOf(evidence, "nvml/alone"), "functions", name, "median_us"));
    // The fake keeps its core busy for 12 µs and 400 µs.
    expect(call("memory_v2")).toBeGreaterThanOrEqual(12);
    expect(call("memory_v1")).toBeGreaterThanOrEqual(12);
    expect(call("compute_processes_v2")).toBeGreaterThanOrEqual(400);
    expect(call("empty")).toBeLessThan(12);
    const polls = resultOf(evidence, "allocations/polled").polls;
    expect(Number(at(polls, "lists_40hz", "inside_nvml"))).toBeGreaterThan(
      Number(at(polls, "memory_50hz", "inside_nvml")),
    );
    const set = resultOf(evidence, "steps/stand-in/1");
    expect(set.attached).toMatchObject({ nvml: true, probed_processes: 1, host_period_ms: 5, device_period_ms: 20 });
    for (const arm of ["gate", "sampler", "probe", "lists"]) expect(Number(at(set.ratios, arm))).toBeGreaterThan(0);
    // One set gives no interval, and without one no result exists.
    expect(evidence.summary.within_limit).toBeNull();
  }, 120_000);

  it("lab: separates context, libraries and communicator, and compares the driver's peak with the allocator's", async () => {
    const evidence = await part("lab", ...(hasTorch ? [] : ["--patterns", "-"]));
    const gap = resultOf(evidence, "gap/default");
    const stages = (gap.stages as { stage: string; gap_process_bytes: number | null }[]).map(
      ({ stage, gap_process_bytes }) => [stage, gap_process_bytes === null ? null : gap_process_bytes / MIB],
    );
    expect(stages.slice(0, 4)).toEqual([
      ["before", null],
      ["context", 300],
      ["libraries", 400],
      ["communicator", 550],
    ]);
    expect(gap.checks).toMatchObject({ accounting_less_gap_less_reserved_bytes: 0, process_grew_bytes: 128 * MIB });
    const recorded = resultOf(evidence, "gap/recorded");
    if (native !== null) {
      expect(at(recorded.recorded, 0)).toMatchObject({ attribution: "pid", job_peak_kind: "exact" });
      expect(at(recorded.recorded, 0, "job_peak_bytes")).toBe(at(recorded.expected, "checks", "accounting_peak_bytes"));
      // The probe as it is shipped, which may be older than the sources, reports when a context and a process group
      // began.
      if (existsSync(path.join(ROOT, "dist/probe/inject/_stormlog_probe/marks.py"))) {
        expect(at(recorded.recorded, 0, "gap")).toMatchObject({
          context_bytes: 300 * MIB,
          library_bytes: 100 * MIB,
          communicator_bytes: 150 * MIB,
          later_bytes: 0,
        });
      }
    }
    if (!hasTorch) return;
    expect(resultOf(evidence, "pattern/tensor_retention/leaky")).toMatchObject({ exit_code: 4, verdict: "fail" });
    // One run is not a baseline: neither a fail nor a pass.
    expect(resultOf(evidence, "pattern/tensor_retention/fixed")).toMatchObject({ exit_code: 0, verdict: "unjudged" });
    expect(evidence.recordings.map(({ file }) => existsSync(path.join(out, file)))).toEqual([true, true, true]);
  }, 240_000);

  it.skipIf(!hasTorch)(
    "aa: runs one scenario again, and judges runs against each other",
    async () => {
      const evidence = await part("aa");
      expect(evidence.summary).toMatchObject({ runs: 3, false_alarms: 0, draws: 2 });
      const peaks = at(evidence.summary, "peaks", "allocated on host") as { runs: number; spread: number };
      expect(peaks.runs).toBe(3);
      expect(peaks.spread).toBeLessThan(0.2);
    },
    180_000,
  );

  it("oom: finds the evidence of each out-of-memory mode, and resumes after a call that ended early", async () => {
    const evidence = await part("oom");
    for (const mode of ["fraction", "caught", "whole"]) {
      const result = resultOf(evidence, mode);
      expect(result).toMatchObject({ exit_code: 4, verdict: "fail", evidence_complete: true, evidence_missing: [] });
      expect(at(result.report, "requested_bytes")).toBe(at(result.program_report, "asked_bytes"));
    }
    const again = await part("oom", "--resume");
    expect(again.measurements).toEqual(evidence.measurements);
  }, 120_000);

  it("measures nothing without time, and refuses to resume another machine's document", async () => {
    const directory = path.join(out, "short");
    const args = [
      "--part",
      "costs",
      "--fake",
      "--out",
      directory,
      "--node",
      actionNode(),
      "--cli",
      path.join(BUILT, "cli.js"),
    ];
    const ended = await script([...args, "--minutes", "0.0001"]);
    expect(ended.stdout).toContain("0 of 4 measured, go on with --resume");
    const evidence = JSON.parse(readFileSync(path.join(directory, "costs.json"), "utf8")) as Evidence;
    expect(evidence).toMatchObject({ complete: false, measurements: {}, planned: { length: 4 } });
    const other = path.join(out, "other");
    mkdirSync(other);
    writeFileSync(
      path.join(other, "costs.json"),
      JSON.stringify({ ...evidence, environment: { ...evidence.environment, driver: "1.2" } }),
    );
    const refused = await script([...args, "--out", other, "--resume"]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('is of another machine: its driver is "1.2"');
  }, 60_000);
});

describe.skipIf(!ready)("bench/gpu with the repository alone", () => {
  const directory = ready ? mkdtempSync(path.join(tmpdir(), "gate-bench-gpu-bare-")) : "";
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it("imports only Node and its own files", () => {
    const own = path.join(ROOT, "bench", "gpu");
    for (const name of readdirSync(own).filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))) {
      const from = [...readFileSync(path.join(own, name), "utf8").matchAll(/from "([^"]+)"/g)].map(
        (match) => match[1]!,
      );
      expect(from.filter((one) => !/^(node:|\.\/[a-z-]+\.ts$)/.test(one))).toEqual([]);
    }
  });

  it.skipIf(!stripsTypes)(
    "runs from a bare copy, without packages",
    async () => {
      for (const name of ["bench/gpu", "dist", "native/fake-nvml", "test/probe/stand-ins", "package.json"])
        cpSync(path.join(ROOT, name), path.join(directory, name), { recursive: true });
      const args = ["--part", "oom", "--fake", "--out", path.join(directory, "out"), "--node", actionNode()];
      const ended = await script(args, { root: directory });
      expect(ended).toMatchObject({ code: 0 });
      expect(ended.stdout).toContain("3 of 3 measured, complete");
    },
    60_000,
  );

  it("reports in one line what is missing", async () => {
    const none = await script(
      [
        "--part",
        "oom",
        "--node",
        actionNode(),
        "--out",
        path.join(directory, "none"),
        "--cli",
        path.join(ROOT, "dist/cli.js"),
      ],
      {
        // Also where there is one: a test must not fill a developer's GPU.
        env: { CUDA_VISIBLE_DEVICES: "" },
      },
    );
    expect(none.code).toBe(2);
    expect(none.stderr).toMatch(/^bench\/gpu: no GPU to measure: [^\n]+\n$/);
    const noNode = await script(["--part", "oom", "--node", "/nowhere/node"]);
    expect(noNode.code).toBe(2);
    expect(noNode.stderr).toMatch(/^bench\/gpu: no Node 22\.18 or later here: [^\n]+\n$/);
    const part = await script(["--part", "all", "--node", actionNode()]);
    expect(part).toMatchObject({ code: 2, stderr: "bench/gpu: --part is one of costs, lab, aa, oom, peaks\n" });
  }, 60_000);
});

describe("docs/evidence.md", () => {
  const page = readFileSync(PAGE, "utf8");

  it("shows the committed documents of GPUs and nothing else", () => {
    expect(page).toBe(withEvidence(page));
  });

  it("every committed GPU document comes from real hardware", () => {
    for (const { evidence } of committed())
      expect(evidence).toMatchObject({ schema: "stormlog.gpu-evidence/1", hardware: true });
  });

  it("the summaries of the committed GPU documents follow from their measurements", () => {
    const summaries = { costs: costSummary, lab: labSummary, aa: aaSummary, oom: oomSummary, peaks: peakSummary };
    const documents = committed();
    expect(documents.length).toBeGreaterThan(0);
    for (const { evidence } of documents)
      expect(JSON.parse(JSON.stringify(summaries[evidence.part](evidence)))).toEqual(evidence.summary);
  });

  it("shows no figures of GPUs outside its generated section", () => {
    const [, section = ""] = page.split("## On GPUs");
    const outside = section.split("\n## ")[0]!.replace(/<!-- gpus: begin[\s\S]*gpus: end -->/, "");
    const figures = outside.match(/\d+(?:\.\d+)? ?(?:µs|ms|s|MiB|GiB|%|Hz)(?![\w/])/g) ?? [];
    expect(figures).toEqual([]);
  });
});
