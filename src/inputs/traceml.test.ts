import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { analyze } from "../analysis/analyze.ts";
import { GIB, MIB } from "../core/units.ts";
import { renderComparisonTerminal } from "../report/terminal/comparison-terminal.ts";
import { traceMlDatabase } from "../telemetry/testing/traceml-database.ts";
import { judge } from "../verdict/judge.ts";
import { DEFAULT_POLICY } from "../verdict/model/defaults.ts";
import { analysisInput } from "./analysis-input.ts";
import { judgeableInput } from "./measurements-input.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "traceml-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const put = (name: string, content: string | Uint8Array): string => {
  const file = path.join(directory, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
};

type Ramp = readonly [number, number?];
const at = ([from, to = from]: Ramp, n: number, i: number): number => from + ((to - from) * i) / (n - 1);

/**
 * A run whose largest rank is `worst` and whose median rank is `middle`: one rank of the first and two of the second.
 */
async function databaseOf(n: number, worst: Ramp, middle: Ramp, capacity: number | null): Promise<string> {
  const rows = Array.from({ length: n }, (_, step) =>
    [worst, middle, middle].map((ramp, rank) => ({
      rank,
      localRank: rank,
      worldSize: 3,
      device: `cuda:${rank}`,
      time: 1_700_000_000 + step,
      step,
      alloc: at(ramp, n, step),
      reserved: at(ramp, n, step),
    })),
  ).flat();
  return put("telemetry", await traceMlDatabase(rows, capacity === null ? {} : { capacity }));
}

async function analysed(file: string) {
  const input = await analysisInput([file]);
  if (input.kind !== "recording") throw new Error("a database holds samples");
  return { document: analyze(input.recording), notes: input.notes };
}

async function compared(first: string, second: string) {
  const read = async (file: string) => {
    const { scenarios, notes } = await judgeableInput(file);
    return { measurements: scenarios[0]!.measurements, notes };
  };
  const [a, b] = [await read(first), await read(second)];
  const judgement = judge({
    candidate: b.measurements,
    baseline: a.measurements,
    anchor: null,
    policy: DEFAULT_POLICY,
    baseRunsPossible: false,
  });
  const sides = {
    a: { name: "old", measurements: a.measurements },
    b: { name: "new", measurements: b.measurements },
  };
  return { a, b, judgement, text: renderComparisonTerminal(sides, judgement, { color: false, width: 120 }) };
}

describe("a TraceML database", () => {
  it.each([
    [60, [100], [90], null, ["BALANCED"], "flat"],
    [49, [100], [90], null, ["NO_DATA"], "flat"],
    [50, [4 * GIB, 4.1 * GIB], [4 * GIB, 4.1 * GIB], null, ["CREEP_EARLY"], "leak"],
    [50, [4 * GIB, 7.4 * GIB], [4 * GIB, 7.4 * GIB], null, ["CREEP_CONFIRMED"], "leak"],
    [60, [98], [90], 100, ["HIGH_PRESSURE"], "flat"],
    [60, [96], [80], 100, ["HIGH_PRESSURE", "IMBALANCE"], "flat"],
    [60, [4 * GIB, 6 * GIB], [2 * GIB, 3 * GIB], 6.1 * GIB, ["HIGH_PRESSURE", "IMBALANCE", "CREEP_CONFIRMED"], "leak"],
    [60, [100], [70], 250, ["IMBALANCE"], "flat"],
    [60, [4 * GIB, 6 * GIB], [2 * GIB, 3 * GIB], 100 * GIB, ["CREEP_CONFIRMED"], "leak"],
    [60, [4 * GIB, 4.1 * GIB], [2 * GIB, 2.05 * GIB], 100 * GIB, ["CREEP_EARLY"], "leak"],
    [60, [90], [88], 1000, ["BALANCED"], "flat"],
    [60, [26], [21], 800, ["BALANCED"], "flat"],
  ] as const)(
    "a database of %d steps from %j (median %j), capacity %s, has the diagnosis %j and the class %s",
    async (...vector) => {
      const [n, worst, middle, capacity, kinds, klass] = vector;
      const { document, notes } = await analysed(await databaseOf(n, worst, middle, capacity));
      expect(document.diagnosis.map(({ kind }) => kind)).toEqual(kinds);
      const allocated = document.series.filter(({ metric }) => metric === "allocated");
      expect(allocated[0]?.class).toBe(klass);
      expect(allocated.map(({ rank, steps, highwater }) => [rank, steps, highwater])).toEqual(
        [0, 1, 2].map((rank) => [rank, n, false]),
      );
      expect(notes[0]).toContain("peaks of each step");
    },
  );

  it("a database without any value is reported as a run without a GPU", async () => {
    const rows = Array.from({ length: 60 }, (_, step) => ({ rank: 0, step, alloc: null, device: "cpu" }));
    const { document } = await analysed(put("cpu", await traceMlDatabase(rows)));
    expect(document.diagnosis.map(({ kind }) => kind)).toEqual(["NO_GPU"]);
    expect(document.series.map((series) => series.class)).toEqual(["unavailable", "unavailable"]);
    expect(document.missing).toEqual({ peak_alloc_bytes: 60, peak_reserved_bytes: 60 });
  });

  it("the analysis of a database names the ranks of its world that left no samples", async () => {
    const rows = Array.from({ length: 60 }, (_, step) => ({ rank: 2 * (step % 2), step, alloc: GIB, worldSize: 4 }));
    const { document } = await analysed(put("ranks", await traceMlDatabase(rows)));
    expect(document.ranks).toMatchObject({ world_size: 4, participating_ranks: [0, 2], missing_ranks: [1, 3] });
  });

  it("a database is compared with another by the gate's rules, with both sides in the output", async () => {
    const run = async (name: string, leak: number) =>
      put(
        name,
        await traceMlDatabase(
          Array.from({ length: 400 }, (_, step) => ({
            rank: 0,
            step,
            time: 1_700_000_000 + step,
            alloc: 4 * GIB + leak * step,
            reserved: 8 * GIB,
          })),
        ),
      );
    const { a, b, judgement, text } = await compared(await run("old", 0), await run("new", MIB));
    expect(a.measurements.runs[0]?.series.map((series) => series.class)).toEqual(["flat", "flat"]);
    expect(b.measurements.runs[0]?.series[0]).toMatchObject({ class: "leak", peak_bytes: 4 * GIB + 399 * MIB });
    const ofClass = judgement.checks.find(({ metric, aspect }) => metric === "allocated" && aspect === "class");
    expect(ofClass).toMatchObject({ verdict: "fail", candidate_class: "leak", gating: true });
    expect(judgement.verdict).toBe("fail");
    expect(text).toMatch(/allocated peak +4\.00 GiB +4\.39 GiB +\+399\.00 MiB/);
    expect(text).toMatch(/reserved peak +8\.00 GiB +8\.00 GiB +0 B/);
  });
});

describe("a TraceML summary", () => {
  const summary = (name: string, peaks: readonly number[]): string => {
    const rows = peaks.map((bytes, rank) => [
      String(rank),
      {
        identity: { global_rank: rank, local_rank: rank },
        metrics: { peak_allocated_bytes: bytes, peak_reserved_bytes: 2 * bytes },
      },
    ]);
    const section = {
      global: { window: { end_step: 400 } },
      groups: { by: "global_rank", rows: Object.fromEntries(rows) },
    };
    const document = { schema_version: "1.7", meta: { world_size: peaks.length }, step_memory: section };
    return put(`${name}/final_summary.json`, JSON.stringify(document));
  };

  it("a TraceML summary is compared with another rank by rank, its values labelled as means", async () => {
    const { a, b, judgement, text } = await compared(
      summary("old", [4 * GIB, 5 * GIB]),
      summary("new", [4 * GIB, 5.5 * GIB]),
    );
    for (const side of [a, b]) expect(side.notes).toEqual([expect.stringContaining("mean of the per-step peaks")]);
    expect(text).toMatch(/rank 0 allocated on cuda:0 peak +4\.00 GiB +4\.00 GiB +0 B/);
    expect(text).toMatch(/rank 1 allocated on cuda:1 peak +5\.00 GiB +5\.50 GiB +\+512\.00 MiB/);
    expect(text).toMatch(/rank 1 reserved on cuda:1 peak +10\.00 GiB +11\.00 GiB +\+1\.00 GiB/);
    // One run is not a baseline: the variance of such a mean is unknown.
    expect(judgement.verdict).toBe("unjudged");
    expect(judgement.reason).toContain("the baseline has 1 run");
    expect(judgement.checks.map(({ rank, metric }) => `${rank} ${metric}`).sort()).toEqual(
      expect.arrayContaining(["0 allocated", "0 reserved", "1 allocated", "1 reserved"]),
    );
  });
});

describe("a log of every allocation of a training", () => {
  /** Forward fills 2.6 GiB in uneven pieces, backward gives them back; six steps of about 1,300 events. */
  const log = (leakPerStep: number): string => {
    const rows = ["time_s,allocated_bytes,reserved_bytes"];
    let total = 0;
    let micros = 1_000_000;
    const add = (bytes: number) => {
      total += bytes;
      micros += 40 + (((rows.length - 1) * 7919) % 61);
      rows.push(`${micros / 1e6},${total},${3 * GIB}`);
    };
    const pieces = Array.from({ length: 660 }, (_, i) => 512 * Math.round(((i * 37) % 101) * 150 + 800));
    const scale = (2.6 * GIB) / pieces.reduce((sum, bytes) => sum + bytes, 0);
    const layers = pieces.map((bytes) => 512 * Math.round((bytes * scale) / 512));
    for (let step = 0; step < 6; step++) {
      for (const bytes of layers) add(bytes);
      for (const bytes of [...layers].reverse()) add(-bytes);
      if (leakPerStep > 0) add(leakPerStep);
    }
    return put("allocations.csv", rows.join("\n"));
  };

  it("a training that fills and frees 2.6 GiB in six steps is a saw-tooth, not a leak", async () => {
    const { document } = await analysed(log(0));
    const [allocated, reserved] = document.series;
    expect(allocated).toMatchObject({ metric: "allocated", samples: 7920, class: "sawtooth" });
    expect(allocated?.peak_bytes).toBeGreaterThan(2.59 * GIB);
    expect(reserved?.class).toBe("flat");
    expect(document.findings.filter(({ classification }) => classification === "leak")).toEqual([]);
  });

  it("a training that keeps memory in every step has growth", async () => {
    const { document } = await analysed(log(128 * MIB));
    expect(["leak", "rising"]).toContain(document.series[0]?.class);
    expect(document.series[0]?.growth_bytes).toBeGreaterThan(400 * MIB);
  });
});
