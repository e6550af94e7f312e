import { analyze } from "../../../src/analysis/analyze.ts";
import { measuredRun } from "../../../src/analysis/measured-run.ts";
import type { MeasuredSeries } from "../../../src/analysis/measurements.ts";
import { MIB } from "../../../src/core/units.ts";
import type { Recording } from "../../../src/telemetry/recording/model.ts";
import { normal } from "../random.ts";

/** Shape of every run: a minute at 10 Hz over 60 iterations, on a base of 1 GiB. */
export const SAMPLES = 600;
export const ITERATIONS = 60;
export const BASE = 1024 * MIB;
const PER_ITERATION = SAMPLES / ITERATIONS;

/** Runs of one program without a leak: MiB above the base at every sample, redrawn for every run. */
export interface Family {
  readonly name: string;
  readonly draw: (random: () => number) => (sample: number) => number;
}

const noise = (random: () => number, sd: number) => (): number => sd * normal(random);

/** A first-order process, given at ascending samples. */
function autoregressive(random: () => number, phi: number, innovation: number): (sample: number) => number {
  const values: number[] = [];
  let value = phi < 1 ? (innovation * normal(random)) / Math.sqrt(1 - phi * phi) : 0;
  for (let i = 0; i < SAMPLES; i += 1) {
    values.push(value);
    value = phi * value + innovation * normal(random);
  }
  return (sample) => values[sample] ?? Number.NaN;
}

/** Jumps of the given MiB at random samples of the given part of the run. */
function jumps(random: () => number, sizes: readonly number[], from: number, to: number): (sample: number) => number {
  const times = sizes.map((size) => ({ size, at: SAMPLES * (from + (to - from) * random()) }));
  return (sample) => times.reduce((sum, { size, at }) => sum + (sample >= at ? size : 0), 0);
}

/** Leak-free kinds of runs, from harmless to those that a test within one run is bound to take for a leak. */
export const FAMILIES: readonly Family[] = [
  { name: "white noise, 5 MiB", draw: (random) => noise(random, 5) },
  {
    name: "saw-tooth of 30 %",
    draw: (random) => {
      const jitter = noise(random, 5);
      return (sample) => 0.3 * 1024 * ((sample % PER_ITERATION) / PER_ITERATION) + jitter();
    },
  },
  { name: "AR(1) .97, 3 MiB", draw: (random) => autoregressive(random, 0.97, 3) },
  { name: "random walk, 1 MiB", draw: (random) => autoregressive(random, 1, 1) },
  {
    name: "warm-up, saturating",
    draw: (random) => {
      const tau = (3 + 9 * random()) * (SAMPLES / 60);
      const jitter = noise(random, 1);
      return (sample) => -512 * Math.exp(-sample / tau) + 20 * ((sample % PER_ITERATION) / PER_ITERATION) + jitter();
    },
  },
  {
    name: "three early steps",
    draw: (random) => {
      const steps = jumps(random, [20, 20, 20], 0, 0.5);
      const jitter = noise(random, 1);
      return (sample) => steps(sample) + jitter();
    },
  },
  {
    name: "one late step",
    draw: (random) => {
      const step = jumps(random, [64], 0.6, 0.8);
      const jitter = noise(random, 1);
      return (sample) => step(sample) + jitter();
    },
  },
  {
    name: "constant with four blips",
    draw: (random) =>
      jumps(
        random,
        Array.from({ length: 4 }, () => (random() < 0.5 ? 2 : -2)),
        0,
        1,
      ),
  },
];

/** One run, bytes; `leak` bytes are kept over it, one tensor an iteration. */
export function drawRun(family: Family, leak: number, random: () => number): Float64Array {
  const at = family.draw(random);
  return Float64Array.from({ length: SAMPLES }, (_, sample) => {
    const kept = Math.floor(sample / PER_ITERATION) * (leak / (ITERATIONS - 1));
    return Math.max(0, Math.round((BASE + MIB * at(sample) + kept) / 512) * 512);
  });
}

/** The run as the sampler would have recorded it: memory of one device or of the host, with a clock and iterations. */
export function recordingOf(bytes: Float64Array, metric: "allocated" | "host" = "allocated"): Recording {
  return {
    epochNs: null,
    tables: [
      {
        rank: 0,
        device: metric === "host" ? "host" : "cuda:0",
        timeNs: Float64Array.from({ length: bytes.length }, (_, i) => i * 1e8),
        steps: Float64Array.from({ length: bytes.length }, (_, i) => Math.floor(i / PER_ITERATION)),
        columns: { [metric]: bytes },
        highwater: new Set(),
      },
    ],
    peaks: [],
    marks: [],
    events: null,
    worldSize: null,
    missing: {},
    info: null,
  };
}

/** What the gate stores of a run, by the product's own analysis. */
export function measuredSeries(bytes: Float64Array, metric: "allocated" | "host" = "allocated"): MeasuredSeries {
  const [series] = measuredRun(analyze(recordingOf(bytes, metric)), { session: "run", commit: null }).series;
  if (series === undefined) throw new Error("a run without a series");
  return series;
}
