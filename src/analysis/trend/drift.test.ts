import { describe, expect, it } from "vitest";
import { prng } from "../../stats/testing/prng.ts";
import { analyze } from "../analyze.ts";
import { recordingOf, tableOf } from "../testing/recordings.ts";

const MIB = 1024 ** 2;
const N = 400;
/** Growth over a whole run, MiB. */
const RATE = 160;
/** Memory of a start of the program over the share of the run from 0 to 1, MiB. */
const STARTS = {
  none: () => 0,
  "a load of 60 MiB over 8 %": (x: number) => Math.min(60, (60 * x) / 0.08),
  "a load of 60 MiB over 15 %": (x: number) => Math.min(60, (60 * x) / 0.15),
  "an exponential warm-up": (x: number) => 60 * (1 - Math.exp(-x / 0.02)),
} as const;
/** Share of the run in which each start loads, and nothing is retained. */
const LOADING = {
  none: 0,
  "a load of 60 MiB over 8 %": 0.08,
  "a load of 60 MiB over 15 %": 0.15,
  "an exponential warm-up": 0,
};

function analysed(level: (x: number) => number, noiseMib: number, seed: number) {
  const random = prng(seed);
  const allocated = Float64Array.from({ length: N }, (_, i) => {
    const noise = noiseMib * random.normal();
    return 512 * Math.round(((100 + level(i / (N - 1)) + noise) * MIB) / 512);
  });
  return analyze(recordingOf([tableOf({ allocated }, { steps: true })])).series[0]!;
}

describe("stated growth", () => {
  it.each(Object.keys(STARTS) as (keyof typeof STARTS)[])(
    "stated growth is the leak's own whenever the leak begins, with a start of the kind: %s",
    (start) => {
      for (const onset of [0, 0.3, 0.6]) {
        for (const noise of [0.2, 2]) {
          const from = Math.max(onset, LOADING[start]);
          const series = analysed((x) => STARTS[start](x) + RATE * Math.max(0, x - from), noise, 17);
          expect(series.class).toBe("leak");
          expect(Math.abs(series.growth_bytes! / (RATE * (1 - from) * MIB) - 1)).toBeLessThan(0.05);
          expect(Math.abs((series.slope_bytes_per_step! * (N - 1)) / (RATE * MIB) - 1)).toBeLessThan(0.06);
        }
      }
    },
  );

  it("contains all stairs of a leak that an allocator rounds up", () => {
    const series = analysed((x) => 20 * Math.floor((RATE * x) / 20), 0.2, 3);
    expect(series.class).toBe("leak");
    expect(Math.abs(series.growth_bytes! / (RATE * MIB) - 1)).toBeLessThan(0.08);
  });

  it("stated growth is below the noise where nothing grows", () => {
    const series = analysed(() => 0, 2, 5);
    expect(series.class).toBe("flat");
    expect(Math.abs(series.growth_bytes!)).toBeLessThan(2 * MIB);
  });
});
