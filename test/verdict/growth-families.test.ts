import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { BASE, drawRun, FAMILIES, ITERATIONS, recordingOf, SAMPLES } from "../../bench/verdict/corpus/families.ts";
import { readAcceptedChanges } from "../../bench/verdict/corpus/golden-history.ts";
import { readReruns } from "../../bench/verdict/corpus/reruns.ts";
import { seeded } from "../../bench/verdict/random.ts";
import { analyze } from "../../src/analysis/analyze.ts";
import { MIB } from "../../src/core/units.ts";

const LEAK = 100 * MIB;

describe.each(FAMILIES)("runs of $name", (family) => {
  it("runs are whole and differ by exactly what was leaked", () => {
    const [clean, leaking] = [0, LEAK].map((leak) => drawRun(family, leak, seeded(11)));
    const kept = Float64Array.from(leaking ?? [], (value, i) => value - (clean?.[i] ?? Number.NaN));
    expect(kept).toHaveLength(SAMPLES);
    expect(kept[0]).toBe(0);
    expect(Math.abs((kept.at(-1) ?? Number.NaN) - LEAK)).toBeLessThan(1024);
    // One tensor an iteration: sizes are whole blocks, so a stair may be off by one.
    const stairs = kept.filter((value, i) => i > 0 && value - (kept[i - 1] ?? Number.NaN) > LEAK / ITERATIONS / 2);
    expect(stairs).toHaveLength(ITERATIONS - 1);
  });

  it("runs are read by the analysis in iterations", () => {
    const [series] = analyze(recordingOf(drawRun(family, 0, seeded(12)))).series;
    expect(series).toMatchObject({ metric: "allocated", steps: ITERATIONS, samples: SAMPLES });
    expect(series?.peak_bytes).toBeGreaterThan(0.8 * BASE);
    expect(series?.growth_bytes).not.toBeNull();
  });
});

describe("recorded peaks", () => {
  const data = mkdtempSync(path.join(tmpdir(), "bench-data-"));
  afterAll(() => rmSync(data, { recursive: true }));
  const write = (directory: string, file: string, lines: readonly string[]) => {
    mkdirSync(path.join(data, directory), { recursive: true });
    writeFileSync(path.join(data, directory, file), `${lines.join("\n")}\n`);
  };

  it("peaks of re-runs are grouped by code and environment, unknown values left out", () => {
    const head = "group,run_file,peak_allocated_mib,peak_reserved_mib,torch,driver,gpu,n_gpu,code_sha1_12";
    const run = (code: string, allocated: number, reserved: number | "") =>
      `a,x.txt,${allocated},${reserved},2.6,535,H100,8,${code}`;
    write("modded-nanogpt", "peak_memory_reruns.csv", [head, run("c1", 10, 20), run("c2", 1, 2), run("c1", 11, "")]);
    expect(readReruns(data, 2)).toEqual([
      { name: "a c1 2.6 535", allocated: [10 * MIB, 11 * MIB], reserved: [20 * MIB] },
    ]);
  });

  it("peaks of golden files follow each other within a file, whatever the commit's subject contains", () => {
    write("megatron-lm", "golden_peak_history.csv", [
      "test_case,golden_file,commit,commit_date,commit_subject,blob,n_steps,mem_max,mem_last,pct",
      "t,g.json,1,2025-01-01,first,b,50,1000,900,",
      "t,other.json,1,2025-01-01,first,b,50,7,6,",
      't,g.json,2,2025-01-02,"a, quoted, subject",b,50,1100,900,10.0000',
    ]);
    expect(readAcceptedChanges(data)).toEqual([{ before: 1000, after: 1100 }]);
  });
});
