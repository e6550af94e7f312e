import { describe, expect, it } from "vitest";
import { type Prng, prng } from "../../stats/testing/prng.ts";
import { analyze } from "../analyze.ts";
import type { DriftClass } from "../series/document.ts";
import { recordingOf, tableOf } from "../testing/recordings.ts";

const MIB = 1024 ** 2;
const N = 240;
const DRAWS = 8;
const ramp = (x: number, from: number, to: number) => Math.max(0, Math.min(1, (x - from) / (to - from)));
const between = (random: Prng, low: number, high: number) => low + (high - low) * random.uniform();

/** Growth of 1 over the share of the run from 0 to 1, another one for each seed. */
type Family = (random: Prng) => (x: number) => number;

/** Classes of a few draws of growth by 160 MiB in noise of 2 MiB, white or autocorrelated. */
function classes(family: Family, sigmaMib = 2): DriftClass[] {
  return Array.from({ length: DRAWS }, (_, k) => {
    const random = prng(4000 + 31 * k);
    const at = family(random);
    const phi = k % 2 === 0 ? 0 : 0.5;
    let noise = 0;
    const values = Float64Array.from({ length: N }, (_, i) => {
      noise = phi * noise + sigmaMib * Math.sqrt(1 - phi * phi) * random.normal();
      return 512 * Math.round(((900 + noise + 160 * at(i / (N - 1))) * MIB) / 512);
    });
    return analyze(recordingOf([tableOf({ allocated: values }, { steps: true })])).series[0]!.class;
  });
}

describe("growth that ended", () => {
  it.each<[string, Family]>([
    [
      "a ramp between two rests",
      (random) => {
        const width = between(random, 0.05, 0.25);
        const from = between(random, 0.1, 0.8 - width);
        return (x) => ramp(x, from, from + width);
      },
    ],
    [
      "two ramps",
      (random) => {
        const from = between(random, 0.05, 0.25);
        const next = from + between(random, 0.2, 0.3);
        return (x) => 0.4 * ramp(x, from, from + 0.12) + 0.6 * ramp(x, next, next + 0.15);
      },
    ],
    [
      "equal stages",
      (random) => {
        const count = 4 + Math.floor(5 * random.uniform());
        const end = between(random, 0.5, 0.7);
        return (x) => Math.min(count, Math.floor((count * x) / end)) / count;
      },
    ],
    [
      "three unlike jumps",
      (random) => {
        const at = [between(random, 0.1, 0.25), between(random, 0.3, 0.45), between(random, 0.5, 0.7)];
        return (x) => [0.5, 0.2, 0.3].reduce((sum, size, k) => sum + (x >= at[k]! ? size : 0), 0);
      },
    ],
  ])("growth that ended by %s is never a leak", (_name, family) => {
    expect(classes(family)).not.toContain("leak");
  });

  it("logarithmic growth is rising: it slows down, but does not end", () => {
    const found = classes((random) => {
      const k = between(random, 8, 60);
      return (x) => Math.log1p(k * x) / Math.log1p(k);
    }, 0.5);
    expect(found).toEqual(found.map(() => "rising"));
  });
});

describe("growth that slows down without an end", () => {
  const BEND = 20;
  const grown = (share: number) => (160 * Math.log1p(BEND * share)) / Math.log1p(BEND);
  const slowing = (horizon: number | null, at = grown) => {
    const random = prng(77);
    const values = Float64Array.from({ length: N }, (_, i) => (900 + at(i / (N - 1)) + 0.5 * random.normal()) * MIB);
    const recording = recordingOf([tableOf({ allocated: values }, { steps: true })]);
    const { findings, series } = analyze(
      recording,
      horizon === null ? {} : { horizon: { kind: "steps", steps: horizon * (N - 1) } },
    );
    return { finding: findings.find(({ classification }) => classification === "rising"), series: series[0]! };
  };

  it("growth that slows down without an end is reported as such, with the projection of its logarithm", () => {
    const { finding, series } = slowing(null);
    expect(series.class).toBe("rising");
    expect(finding?.description).toMatch(/grows ever more slowly: by 1[56]\d.* MiB over 239 steps, at the end by /);
    const later = finding?.evidence.growth_ten_times_as_long_bytes as number;
    expect(Math.abs(later / MIB / grown(10) - 1)).toBeLessThan(0.1);
    const there = slowing(1000).finding?.evidence.growth_at_horizon_bytes as number;
    expect(Math.abs(there / MIB / grown(1000) - 1)).toBeLessThan(0.15);
  });

  it("a ramp that ends is not reported as growth that slows down", () => {
    expect(slowing(null, (x) => 160 * Math.min(1, x / 0.8)).finding?.evidence.slows_down).toBeUndefined();
  });
});

describe("growth until the end", () => {
  it.each<[string, Family]>([
    [
      "that begins at 60 to 88 % of the run",
      (random) => {
        const onset = between(random, 0.6, 0.88);
        return (x) => Math.max(0, x - onset) / (1 - onset);
      },
    ],
    [
      "with one drop",
      (random) => {
        const at = between(random, 0.2, 0.8);
        return (x) => x - (x >= at ? 0.35 : 0);
      },
    ],
    [
      "below teeth that follow a jump",
      (random) => {
        const at = between(random, 0.2, 0.8);
        const teeth = between(random, 8, 20);
        return (x) => x + 0.8 * ((teeth * x) % 1) + (x >= at ? 1.2 : 0);
      },
    ],
  ])("%s is a leak or rising", (_name, family) => {
    for (const found of classes(family)) expect(["leak", "rising"]).toContain(found);
  });

  it("growth that begins late has the size of its hinge", () => {
    const values = Float64Array.from({ length: N }, (_, i) => MIB * (900 + Math.max(0, i - 0.78 * N) * 4));
    const [series] = analyze(recordingOf([tableOf({ allocated: values }, { steps: true })])).series;
    expect(series?.class).toBe("rising");
    expect(series!.growth_bytes! / MIB).toBeCloseTo(4 * 0.22 * N, -1);
  });

  it("growth until the end is not found in two jumps or a late spike", () => {
    for (const [at, next] of [
      [0.5, 0.85],
      [0.7, 0.9],
    ] as const) {
      const found = classes(() => (x) => 0.5 * Number(x >= at) + 0.5 * Number(x >= next));
      expect(found).not.toContain("leak");
      expect(found).not.toContain("rising");
    }
    expect(classes(() => (x) => Number(x > 0.9 && x < 0.93))).not.toContain("rising");
  });
});

describe("large cycles, of which there are two or three", () => {
  const tooth = (x: number, from: number, to: number) => (x >= from && x < to ? x - from : 0);
  const ENDS: readonly (readonly number[])[] = [[0.42], [0.46], [0.5], [0.55], [0.6], [0.22, 0.45], [0.25, 0.5]];

  it.each(ENDS.map((ends) => [ends.join(" and "), ends] as const))(
    "large cycles that end at %s are not a leak",
    (_name, ends) => {
      const teeth = [0, ...ends].map((from, k) => [from, ends[k] ?? 1.1] as const);
      const found = classes(() => (x) => teeth.reduce((sum, [from, to]) => sum + tooth(x, from, to), 0));
      expect(found).not.toContain("leak");
    },
  );

  it("two large cycles of which one is emptied do not grow", () => {
    const values = Float64Array.from({ length: N }, (_, i) => MIB * (48 + (i < 0.52 * N ? i : i - 0.52 * N) / 2));
    const [series] = analyze(recordingOf([tableOf({ allocated: values }, { steps: true })])).series;
    expect(["leak", "rising"]).not.toContain(series?.class);
  });

  it("a spike before a leak does not hide it as a large cycle", () => {
    const found = classes(() => (x) => (x < 0.06 ? 30 * x : 0) + x);
    expect(found).toEqual(found.map(() => "leak"));
  });
});

describe("autocorrelated noise in a short run", () => {
  it("autocorrelated noise in a short run is seldom a leak or rising", () => {
    const found: DriftClass[] = [];
    for (let seed = 1; seed <= 200; seed++) {
      const random = prng(seed);
      let noise = random.normal();
      const values = Float64Array.from({ length: 24 + (seed % 27) }, () => {
        noise = 0.9 * noise + Math.sqrt(0.19) * random.normal();
        return MIB * (1200 + 25 * noise);
      });
      found.push(analyze(recordingOf([tableOf({ allocated: values }, { steps: true })])).series[0]!.class);
    }
    expect(found.filter((one) => one === "leak").length).toBeLessThanOrEqual(5);
    expect(found.filter((one) => one === "rising").length).toBeLessThanOrEqual(20);
  });
});

describe("a warm-up", () => {
  const warmedUp = (leakMib: number) =>
    classes((random) => {
      const constant = between(random, 0.05, 0.2);
      return (x) => 3 * (1 - Math.exp(-x / constant)) + (leakMib / 160) * x;
    }, 1);

  it("a warm-up that approaches a level is a plateau of little growth", () => {
    expect(warmedUp(0)).toEqual(warmedUp(0).map(() => "plateau"));
    const random = prng(11);
    const growths = Array.from({ length: 12 }, () => {
      const constant = between(random, 0.05, 0.2);
      const values = Float64Array.from(
        { length: N },
        (_, i) => MIB * (900 - 480 * Math.exp(-i / (constant * N)) + random.normal()),
      );
      return analyze(recordingOf([tableOf({ allocated: values }, { steps: true })])).series[0]!.growth_bytes! / MIB;
    });
    for (const growth of growths) expect(Math.abs(growth)).toBeLessThan(16);
  });

  it("a warm-up hides no leak", () => {
    expect(warmedUp(80)).toEqual(warmedUp(80).map(() => "leak"));
  });
});
