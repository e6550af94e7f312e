import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Metric } from "../../telemetry/recording/metrics.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import {
  explainOutOfMemory,
  explainPeak,
  isGrowth,
  type PeakSubject,
  peakEnvironment,
  peakToExplain,
} from "./explain-peak.ts";

const MIB = 2 ** 20;
const CHECK = {
  device: "host",
  metric: "allocated",
  rank: 0,
  candidate_bytes: 130 * MIB,
  baseline_bytes: 90 * MIB,
} as unknown as Check;

/** Bytes of line 7 at the peak; null for a process that wrote nothing. */
type Held = number | null;

/** When a process was at its peak, since the start of its run. */
const PEAK_NS = 1e9;
interface Phase {
  readonly name: string;
  readonly began_ns: number;
  readonly ended_ns: number | null;
}

/** What is found where the runs of candidate and base held so much; `base` undefined: it cannot be run. */
async function explained(candidate: Held, base: Held | undefined, check: Check = CHECK, phases: readonly Phase[] = []) {
  const cwd = mkdtempSync(path.join(tmpdir(), "gate-explain-peak-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const notes: string[] = [];
  const reasons: string[] = [];
  const ran = (name: string, held: Held, peak: number) => {
    const directory = path.join(cwd, name);
    mkdirSync(path.join(directory, "probe"), { recursive: true });
    if (held !== null) {
      const python = [[path.join(cwd, "train.py"), 7, "main", "zeros"]];
      const parts = [[null, null, 0, held, 4]];
      const stacks = [{ bytes: held, count: 4, parts, native: [], python }];
      const head = {
        schema: "stormlog.native/1",
        pid: 5,
        moment: 5,
        step: null,
        time_ns: PEAK_NS,
        interval_bytes: 65536,
      };
      const document = { ...head, total_bytes: held, stacks, modules: [] };
      writeFileSync(path.join(directory, "probe", "5.0.native.5.json"), JSON.stringify(document));
    }
    const analysis = { series: [{ device: "host", metric: "allocated", rank: 0, peak_bytes: peak }] };
    const info = { lost: [], clock: { duration_s: 2, monotonic_start_ns: "0" } };
    const recording = { info: { probe: { processes: [{ pid: 5, rank: 0, phases }] } } };
    return { kind: "whole", finished: { directory, info, analysis, recording, ending: { kind: "ok" } } };
  };
  const subject = {
    request: { env: {} },
    scenario: { name: "train", env: {}, cwd, command: { kind: "argv", argv: ["python3", "train.py"] } },
    root: cwd,
    judged: { info: { clock: { duration_s: 2 } }, ending: { kind: "ok" } },
    judgement: { verdict: "fail" },
    stopReason: () => null,
    stored: null,
    log: () => {},
    warn: (note: string) => notes.push(note),
    noLine: (reason: string) => reasons.push(reason),
    run: async () => ran("candidate", candidate, 130 * MIB),
    base: async () =>
      base === undefined ? { reason: "it has no base" } : { cwd, run: async () => ran("base", base, 90 * MIB) },
  } as unknown as PeakSubject;
  const { findings } = await explainPeak(subject, check);
  const found = findings.map(({ classification, evidence }) => [classification, evidence.difference_bytes]);
  return { found, notes, reasons, phase: findings[0]?.evidence.phase };
}

const phase = (name: string, beganS: number, endedS: number | null): Phase => ({
  name,
  began_ns: 1e9 * beganS,
  ended_ns: endedS === null ? null : 1e9 * endedS,
});

describe("a higher peak", () => {
  it("a higher peak is explained by the line that holds more than on the base", async () => {
    expect(await explained(100 * MIB, 60 * MIB)).toMatchObject({ found: [["peak_line", 40 * MIB]], notes: [] });
  });

  it.each<[string | null, string, readonly Phase[]]>([
    ["inner", "the innermost that contains it", [phase("outer", 0, null), phase("inner", 0.9, 1.1)]],
    ["load", "it ended just before", [phase("load", 0.2, 0.96)]],
    [
      "next",
      "the one that contains it, not one that has just ended",
      [phase("load", 0.2, 0.99), phase("next", 0.99, 1.5)],
    ],
    [null, "one ended long before, one begins later", [phase("a", 0, 0.9), phase("b", 1.01, 2)]],
  ])("the phase of a higher peak is %s: %s", async (expected, _, phases) => {
    expect((await explained(100 * MIB, 60 * MIB, CHECK, phases)).phase).toBe(expected);
  });

  it("a higher peak is not compared with a base commit that reported nothing", async () => {
    const { found, notes } = await explained(100 * MIB, null);
    expect(found).toEqual([["held_at_peak", null]]);
    expect(notes).toEqual([
      "the peak could not be compared: no process of the base commit reported what its peak consists of",
    ]);
  });

  it("a higher peak has no cause where the base cannot be run, or is not lower", async () => {
    expect((await explained(100 * MIB, undefined)).found).toEqual([["held_at_peak", null]]);
    const budget = { ...CHECK, baseline_bytes: null, candidate_bytes: 130 * MIB } as Check;
    expect((await explained(100 * MIB, 60 * MIB, budget)).found).toEqual([["peak_line", 40 * MIB]]);
    const lower = { ...CHECK, baseline_bytes: 140 * MIB } as Check;
    const { found, notes } = await explained(100 * MIB, 60 * MIB, lower);
    expect(found).toEqual([["held_at_peak", null]]);
    expect(notes).toEqual(["the peak could not be compared: the base commit's peak is not lower"]);
  });

  it("names nothing where no process reported", async () => {
    const { found, reasons } = await explained(null, 60 * MIB);
    expect(found).toEqual([]);
    expect(reasons[0]).toContain("no measured process reported");
  });
});

describe("what is looked into", () => {
  const subject = (metric: string, argv: readonly string[], grown = 0) => {
    const check = { kind: "peak", aspect: "peak", device: "host", metric, rank: 0, verdict: "fail", gating: true };
    const bytes = { candidate_bytes: 130 * MIB, baseline_bytes: 90 * MIB, threshold_bytes: 98 * MIB };
    const series = { device: "host", metric, rank: 0, class: "flat", growth_bytes: grown, peak_bytes: 130 * MIB };
    return {
      judgement: { verdict: "fail", checks: [{ ...check, ...bytes }] },
      judged: { analysis: { series: [series] }, recording: { tables: [] } },
      scenario: { command: { kind: "argv", argv } },
    } as unknown as PeakSubject;
  };

  it("peaks of memory that the program allocates are explained, V8's heap in Node only", () => {
    expect(peakToExplain(subject("host", ["node", "serve.mjs"]))?.metric).toBe("host");
    expect(peakToExplain(subject("js_heap", ["node", "serve.mjs"]))?.metric).toBe("js_heap");
    expect(peakToExplain(subject("js_heap", ["python3", "serve.py"]))).toBeNull();
    for (const metric of ["used", "outside_allocator", "fragmentation", "graph_pools"])
      expect(peakToExplain(subject(metric, ["python3", "train.py"]))).toBeNull();
  });

  it("what was held without memory is not looked for where its size is unknown, or the kernel killed", async () => {
    const given = subject("host", ["python3", "train.py"]);
    const [check] = given.judgement.checks;
    if (check === undefined) throw new Error("no check");
    const runs: string[] = [];
    const ranOut = (source: string) => {
      const analysis = { series: [], findings: [{ classification: "oom", evidence: { source } }] };
      const run = async () => runs.push(source);
      return { ...given, judged: { ...given.judged, analysis }, run } as unknown as PeakSubject;
    };
    const none = { findings: [], peak: null };
    expect(await explainOutOfMemory(ranOut("kernel"), check)).toEqual(none);
    expect(await explainOutOfMemory(ranOut("probe"), { ...check, candidate_bytes: null })).toEqual(none);
    expect(runs).toEqual([]);
  });

  it("a breached peak is explained after the growth that decided", () => {
    const given = subject("allocated", ["python3", "train.py"]);
    const [peak] = given.judgement.checks;
    const growth = { ...peak, kind: "growth", aspect: "growth", candidate_bytes: 20 * MIB, threshold_bytes: 8 * MIB };
    const grows = { ...given, judgement: { verdict: "fail", checks: [peak, growth] } } as unknown as PeakSubject;
    expect(peakToExplain(grows)).toBe(peak);
    expect([isGrowth(grows, peak!), isGrowth(given, peak!)]).toEqual([true, false]);
  });

  it("growth of the same memory is looked into before a peak, unless only reserved memory grows", () => {
    const steps = Float64Array.from({ length: 200 }, (_, i) => i + 1);
    const growing = (metric: "allocated" | "reserved") => {
      const given = subject("allocated", ["python3", "train.py"]);
      const columns = { [metric]: steps.map((step) => step * MIB) };
      const table = { rank: 0, device: "host", timeNs: null, steps, columns, highwater: new Set() };
      const series = { device: "host", metric, rank: 0, class: "rising", growth_bytes: 200 * MIB };
      const judged = { analysis: { series: [series] }, recording: { tables: [table] } };
      const grows = { ...given, judged } as unknown as PeakSubject;
      const peak = peakToExplain(grows);
      return peak && isGrowth(grows, peak);
    };
    expect(growing("allocated")).toBe(true);
    expect(growing("reserved")).toBe(false);
  });

  it("runs Node with its own profiler, which must not count buffers a second time in the C heap", () => {
    const env = (argv: readonly string[], metric: Metric = "host") =>
      peakEnvironment({ metric, durationS: 10, command: { kind: "argv", argv } }, { NODE_OPTIONS: "--no-warnings" });
    expect(env(["node", "serve.mjs"])).toMatchObject({
      STORMLOG_GATE_ATTRIBUTE: "peak",
      STORMLOG_GATE_ATTRIBUTE_AT: "seconds:1,3,5,7,9",
      NODE_OPTIONS: expect.stringMatching(/^--no-warnings --require .*attribute\.cjs$/),
    });
    expect(env(["node", "serve.mjs"])).not.toHaveProperty("STORMLOG_GATE_STACKS");
    expect(env(["python3", "train.py"])).toMatchObject({ STORMLOG_GATE_STACKS: "peak", PYTHONMALLOC: "malloc" });
    expect(env(["python3", "train.py"], "python")).toHaveProperty("PYTHONMALLOC", "malloc");
    expect(env(["python3", "train.py"], "allocated")).not.toHaveProperty("PYTHONMALLOC");
    expect(env(["python3", "train.py"])).not.toHaveProperty("NODE_OPTIONS");
  });
});
