import { describe, expect, it } from "vitest";
import { type Prng, prng } from "../../stats/testing/prng.ts";
import type { Recording, RecordingInfo } from "../../telemetry/recording/model.ts";
import { analyze } from "../analyze.ts";
import { isBackground } from "../series/document.ts";
import { recordingOf, tableOf } from "../testing/recordings.ts";
import { growing, jumps, noisy, processRun, type Shape, sawtooth, warmup } from "../testing/shapes.ts";

const MIB = 1024 ** 2;
const RECORDINGS = 100;

const highest = (values: Float64Array): Float64Array => {
  let most = 0;
  return values.map((value) => {
    most = Math.max(most, value);
    return most;
  });
};

/** A device: what the program holds, what the allocator took for it, and what the driver counts. */
const device = (shape: Shape, n: number, random: Prng, rank = 0) => {
  const allocated = shape(n, random);
  const reserved = highest(allocated).map((value) => 64 * MIB + Math.ceil(value / (20 * MIB)) * 20 * MIB);
  const used = reserved.map((value) => value + 400 * MIB);
  return tableOf({ allocated, reserved, used }, { rank, device: `cuda:${rank}`, steps: true, highwater: ["reserved"] });
};

/** The process tree and, of half of the programs, the heap with what its allocator took. */
const host = (shape: Shape, n: number, random: Prng, intervalS = 0.005) => {
  const memory = shape(n, random);
  const heap = memory.map((value) => 0.6 * value);
  const reserved = highest(heap).map((value) => value + 40 * MIB);
  return [
    tableOf({ host: memory }, { device: "host", intervalS }),
    ...(random.uniform() < 0.5
      ? [tableOf({ allocated: heap, reserved }, { device: "host", intervalS, steps: true })]
      : []),
  ];
};

const process = (random: Prng, seconds: number): Shape =>
  processRun(seconds, {
    startupS: 0.3 + random.uniform(),
    levelMib: 30 + 200 * random.uniform(),
    garbageMib: 20 * random.uniform(),
    retainedMib: random.uniform(),
  });

/** Kinds of healthy programs. */
const PROGRAMS: readonly ((random: Prng) => Recording)[] = [
  (random) => recordingOf([device(noisy(2 * random.uniform(), 0.8), 400, random)]),
  (random) => recordingOf([device(warmup(0.1), 400, random), ...host(noisy(1), 400, random, 0.1)]),
  (random) => recordingOf([device(sawtooth(12, 100), 600, random)]),
  // Less growth than is judged, as steady as can be: the constant growth of counters and logs.
  (random) => recordingOf([device(growing(noisy(0), 0.01 + 6 * random.uniform()), 400, random)]),
  (random) => recordingOf(host(growing(noisy(0), 8 * random.uniform()), 500, random)),
  (random) => recordingOf([device(jumps([[0.1, 100]]), 400, random)]),
  (random) => recordingOf(host(process(random, 4), 800, random)),
  (random) => recordingOf(host(process(random, 2), 6 + Math.floor(20 * random.uniform()), random, 0.1)),
  (random) =>
    recordingOf(
      [0, 1, 2, 3].map((rank) => device(noisy(1), 300, random, rank)),
      { worldSize: 4 },
    ),
  (random) => {
    const exit = { kind: "not-started", message: "no such file" };
    const info = { exit, sources: [], identity: { rank: 0, world_size: 1 } } as unknown as RecordingInfo;
    return recordingOf(host(process(random, 1), 5, random), { info });
  },
];

describe("recordings of healthy programs", () => {
  it(`recordings of healthy programs have no finding in ${RECORDINGS} of ${RECORDINGS}`, () => {
    const found = Array.from({ length: RECORDINGS }, (_, seed) => {
      const kind = seed % PROGRAMS.length;
      const { findings } = analyze(PROGRAMS[kind]!(prng(seed + 1)));
      return findings.filter((finding) => !isBackground(finding)).map((finding) => ({ seed, kind, finding }));
    });
    expect(found.flat()).toEqual([]);
  });

  it('a recording of a leaking program has the finding "leak"', () => {
    const leaking = analyze(recordingOf([device(growing(noisy(1), 100), 400, prng(1))]));
    expect(leaking.findings.map(({ classification }) => classification)).toContain("leak");
  });
});
