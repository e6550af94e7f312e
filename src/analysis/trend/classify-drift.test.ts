import { describe, expect, it } from "vitest";
import { prng } from "../../stats/testing/prng.ts";
import { analyze } from "../analyze.ts";
import type { DriftClass, SeriesAnalysis } from "../series/document.ts";
import { recordingOf, tableOf } from "../testing/recordings.ts";
import { growing, jumps, noisy, processRun, type Shape, sawtooth, warmup } from "../testing/shapes.ts";

const MIB = 1024 ** 2;
const SEEDS = 20;

function perStep(values: ArrayLike<number>): SeriesAnalysis {
  return analyze(recordingOf([tableOf({ allocated: values }, { steps: true })])).series[0]!;
}

function host(values: ArrayLike<number>, intervalS = 0.005): SeriesAnalysis {
  return analyze(recordingOf([tableOf({ host: values }, { device: "host", intervalS })])).series[0]!;
}

function count(
  shape: Shape,
  n: number,
  judge: (values: Float64Array) => SeriesAnalysis = perStep,
): Map<DriftClass, number> {
  const counts = new Map<DriftClass, number>();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { class: found } = judge(shape(n, prng(seed * 7919 + n)));
    counts.set(found, (counts.get(found) ?? 0) + 1);
  }
  return counts;
}

const share = (counts: ReadonlyMap<DriftClass, number>, ...classes: DriftClass[]): number =>
  classes.reduce((sum, one) => sum + (counts.get(one) ?? 0), 0) / SEEDS;

describe("healthy series", () => {
  it.each<[string, Shape]>([
    ["white noise of 5 MiB", noisy(5)],
    ["autocorrelated noise", noisy(5, 0.9)],
    ["a quick warm-up", warmup(0.05)],
    ["a slow warm-up", warmup(0.15)],
    [
      "three early steps",
      jumps([
        [0.1, 20],
        [0.2, 20],
        [0.35, 20],
      ]),
    ],
    ["one late step", jumps([[0.7, 64]])],
    [
      "two cache fills",
      jumps([
        [0.35, 60],
        [0.7, 60],
      ]),
    ],
    ["a regular saw-tooth", sawtooth(30, 300, 0)],
    ["an irregular saw-tooth", sawtooth(30, 300)],
    ["a saw-tooth of few teeth", sawtooth(7, 300, 0)],
  ])("%s is never classified as a leak", (_name, shape) => {
    for (const n of [60, 200, 1000]) expect(share(count(shape, n), "leak")).toBe(0);
  });

  it("healthy series are classified by their shape", () => {
    expect(share(count(noisy(2), 300), "flat")).toBe(1);
    expect(share(count(jumps([[0.7, 64]]), 300), "step")).toBe(1);
    expect(share(count(warmup(0.05), 300), "plateau")).toBeGreaterThan(0.95);
    expect(share(count(sawtooth(30, 300, 0), 300), "sawtooth")).toBeGreaterThan(0.95);
    expect(share(count(sawtooth(7, 300, 0), 300), "sawtooth")).toBeGreaterThan(0.95);
    expect(share(count(jumps([[0.6, -64]]), 300), "shrink")).toBe(1);
    const spike: Shape = (n, random) =>
      noisy(1)(n, random).map((v, i) => (i === Math.floor(n / 3) ? v + 400 * MIB : v));
    expect(share(count(spike, 300), "spike")).toBe(1);
  });

  it("equal teeth are a saw-tooth although few of their phases are sampled", () => {
    const classes = [6.9, 6.94, 7.9, 8.9].flatMap((period) =>
      Array.from({ length: 20 }, (_, k) => {
        const values = Float64Array.from({ length: 126 }, (_, i) => MIB * (2000 + 500 * ((i / period + k / 20) % 1)));
        return perStep(values).class;
      }),
    );
    expect(new Set(classes)).toEqual(new Set(["sawtooth"]));
  });

  it("constant series are flat to the last byte", () => {
    const constant = perStep(new Float64Array(200).fill(3e9));
    expect(constant).toMatchObject({ class: "flat", growth_bytes: 0, slope_bytes_per_step: 0, peak_bytes: 3e9 });
    expect(constant.mde_bytes).toBeGreaterThan(0.01 * 3e9);
  });
});

describe("leaks", () => {
  it.each<[string, Shape, number]>([
    ["a linear one", growing(noisy(2), 60), 0.98],
    ["stairs of 2 MiB", growing(noisy(0), 60, { stairMib: 2 }), 0.98],
    ["stairs of 20 MiB", growing(noisy(0), 130, { stairMib: 20 }), 0.98],
    ["one under a regular saw-tooth", growing(sawtooth(30, 100, 0), 60), 0.95],
    ["one under an irregular saw-tooth", growing(sawtooth(40, 100), 60), 0.8],
    ["one after a warm-up", growing(warmup(0.03), 100), 0.95],
  ])("%s is found", (_name, shape, atLeast) => {
    expect(share(count(shape, 300), "leak")).toBeGreaterThanOrEqual(atLeast);
  });

  it("leaks are measured within a tenth of the injected growth", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const found = perStep(growing(noisy(2), 100)(400, prng(seed)));
      expect(found.growth_bytes! / MIB).toBeGreaterThan(90);
      expect(found.growth_bytes! / MIB).toBeLessThan(110);
      const [low, high] = found.slope_interval!;
      expect(low).toBeLessThan(found.slope_bytes_per_step!);
      expect(high).toBeGreaterThan(found.slope_bytes_per_step!);
    }
  });

  it("leaks that begin late are classified as leak or rising", () => {
    expect(share(count(growing(noisy(1), 100, { from: 0.7 }), 300), "leak", "rising")).toBeGreaterThan(0.8);
  });

  it("leaks below the floor have no finding, unless a horizon makes them material", () => {
    const recording = recordingOf([tableOf({ allocated: growing(noisy(0), 3)(400, prng(1)) }, { steps: true })]);
    const now = analyze(recording);
    expect(now.series[0]?.class).toBe("flat");
    expect(now.findings).toEqual([]);
    const later = analyze(recording, { horizon: { kind: "steps", steps: 1_000_000 } });
    expect(later.series[0]?.class).toBe("leak");
    expect(later.series[0]!.mde_bytes!).toBeLessThan(now.series[0]!.mde_bytes!);
  });

  it("leaks are projected to a horizon with 400 steps and are only rising with 50", () => {
    const horizon = { kind: "steps", steps: 1_000_000 } as const;
    const projected = (steps: number, bytesPerStep: number, noiseBytes: number, seed: number) => {
      const random = prng(seed);
      const heap = Float64Array.from(
        { length: steps },
        (_, i) => 40 * MIB + 16 * Math.round((bytesPerStep * i + noiseBytes * random.normal()) / 16),
      );
      return analyze(recordingOf([tableOf({ allocated: heap }, { steps: true })]), { horizon }).series[0]!.class;
    };
    for (let seed = 1; seed <= 20; seed++) {
      expect(projected(400, 1300, 4096, seed)).toBe("leak");
      expect(projected(400, 1900, 0, seed)).toBe("leak");
      expect(projected(400, 0, 4096, seed)).not.toBe("leak");
      expect(projected(50, 50_000, 0, seed)).toBe("rising");
    }
  });

  it("leaks slightly above the detectable minimum are found nine times in ten", () => {
    for (const sigma of [1, 8, 20]) {
      const mde = perStep(noisy(sigma)(300, prng(3))).mde_bytes! / MIB;
      const found = share(count(growing(noisy(sigma), 1.1 * mde), 300), "leak");
      expect(found, `sigma ${sigma} MiB, minimum ${mde.toFixed(1)} MiB`).toBeGreaterThanOrEqual(0.9);
    }
  });

  it("leaks report when the device will be full", () => {
    const allocated = growing(noisy(0), 100)(101, prng(1));
    const total = new Float64Array(101).fill(2 * 1024 * MIB);
    const { series } = analyze(recordingOf([tableOf({ allocated, total }, { steps: true })]));
    expect(series[0]?.class).toBe("leak");
    expect(series[0]!.steps_to_oom!).toBeGreaterThan(880);
    expect(series[0]!.steps_to_oom!).toBeLessThan(960);
    expect(series[0]!.seconds_to_oom!).toBeCloseTo(series[0]!.steps_to_oom! / 10, -1);
  });
});

describe("short processes sampled at 200 Hz", () => {
  const n = (seconds: number) => Math.round(200 * seconds);
  const clean = (levelMib: number, startupS: number, garbageMib = 0) => ({ levelMib, startupS, garbageMib });

  it.each<[string, number, Shape]>([
    ["a Node start of 0.1 s", 2, processRun(2, clean(45, 0.1))],
    ["a Python start of 0.3 s", 2.8, processRun(2.8, clean(30, 0.3))],
    ["an import of half a second", 2.5, processRun(2.5, clean(220, 0.5))],
    ["an import of a second", 3, processRun(3, clean(400, 1))],
    ["an import that takes most of the run", 1.2, processRun(1.2, clean(300, 1))],
    ["a run that is nothing but its start", 0.6, processRun(0.6, clean(60, 0.6))],
    ["a garbage-collected heap", 3, processRun(3, clean(50, 0.3, 40))],
  ])("%s is not a leak, and its end does not count as shrinking", (_name, seconds, shape) => {
    expect(share(count(shape, n(seconds), host), "leak", "rising", "shrink")).toBe(0);
  });

  it("60 MiB retained over 2.5 s after a start of 0.3 s are a leak, with or without garbage", () => {
    for (const garbageMib of [0, 10, 30]) {
      const shape = processRun(2.8, { ...clean(40, 0.3, garbageMib), retainedMib: 60 });
      expect(share(count(shape, n(2.8), host), "leak"), `garbage ${garbageMib} MiB`).toBeGreaterThanOrEqual(0.95);
    }
  });
});

describe("stability", () => {
  it("classifies every second sample of a series like the whole in at least 96 % of cases", () => {
    const shapes: Shape[] = [noisy(5), warmup(0.1), growing(noisy(3), 80), sawtooth(30, 200, 0), jumps([[0.6, 80]])];
    let same = 0;
    for (const shape of shapes) {
      for (let seed = 1; seed <= 20; seed++) {
        const values = shape(600, prng(seed));
        const all = perStep(values).class;
        same += Number(perStep(values.filter((_, i) => i % 2 === 0)).class === all);
      }
    }
    expect(same / (20 * shapes.length)).toBeGreaterThanOrEqual(0.96);
  });
});
