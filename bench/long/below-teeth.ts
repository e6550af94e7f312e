import { rmSync } from "node:fs";
import { analyze } from "../../src/analysis/analyze.ts";
import type { SeriesAnalysis } from "../../src/analysis/series/document.ts";
import { readRecordFile } from "../../src/telemetry/reading/record-file.ts";
import { recordFileToRecording } from "../../src/telemetry/reading/record-recording.ts";
import type { Result } from "../shared/figures.ts";
import { seeded } from "../verdict/random.ts";

/** A saw-tooth: seconds of a tooth and its standard deviation as a share of them, MiB of a tooth and of the noise. */
interface Teeth {
  readonly period: number;
  readonly height: number;
  readonly jitter: number;
  readonly noise: number;
}

/** Makes the record of an hour with teeth above a leak (KiB/s), thinned or not, and gives its path. */
export type MakeRecord = (seed: number, teeth: Teeth, leak: number, thinned: boolean) => string;

interface Reading {
  readonly class: string;
  /** MiB. */
  readonly growth: number;
}

const LEAK = 30;
const SECONDS = 3600;
/** A growth that is further from the real one, as a share of it, counts as wrong. */
const NEAR = 0.15;
/** Percent of the draws. */
const LIMIT_FALSE = 1;
const LIMIT_LESS = 3;

async function readingsOf(file: string): Promise<readonly Reading[]> {
  const { series } = analyze(recordFileToRecording(await readRecordFile(file), null));
  rmSync(file);
  const judged = series.filter(({ metric }: SeriesAnalysis) => metric === "host" || metric === "allocated");
  return judged.map((one) => ({ class: one.class, growth: (one.growth_bytes ?? Number.NaN) / 2 ** 20 }));
}

const distance = ({ growth }: Reading): number => Math.abs(growth / ((LEAK * SECONDS) / 1024) - 1);

/** One tooth of every size and regularity that programs show. */
function drawn(random: () => number): Teeth {
  const one = <T>(of: readonly [T, ...T[]]): T => of[Math.floor(random() * of.length)] ?? of[0];
  return {
    period: 45 ** random(),
    height: 80 + 320 * random(),
    jitter: one([0, 0.02, 0.15, 0.3]),
    noise: one([0, 0.5, 3]),
  };
}

async function exact(make: MakeRecord, period: number): Promise<Result> {
  const teeth = { period, height: 280, jitter: 0, noise: 0 };
  const thin = await readingsOf(make(1, teeth, LEAK, true));
  return {
    name: `a leak of ${LEAK} KiB/s below exact teeth of ${period} s, an hour: error of its growth`,
    value: Math.max(...thin.map((one) => (one.class === "leak" ? distance(one) : Number.NaN))),
    interval: null,
    limit: NEAR,
    unit: "",
  };
}

/** Leaks below teeth, and teeth without one, in thinned records of an hour, against whole records of the same runs. */
export async function belowTeeth(make: MakeRecord, draws: number): Promise<Result[]> {
  const random = seeded(20261127);
  const found = { thinned: 0, whole: 0 };
  const wrong = { thinned: 0, whole: 0 };
  let near = 0;
  for (let draw = 1; draw <= draws; draw++) {
    const teeth = drawn(random);
    for (const kind of ["thinned", "whole"] as const) {
      const leaking = await readingsOf(make(draw, teeth, LEAK, kind === "thinned"));
      const leaks = leaking.filter((one) => one.class === "leak");
      found[kind] += leaks.length;
      if (kind === "thinned") near += leaks.filter((one) => distance(one) <= NEAR).length;
      const level = await readingsOf(make(draw, teeth, 0, kind === "thinned"));
      wrong[kind] += level.filter((one) => one.class === "leak").length;
    }
  }
  const series = 2 * draws;
  const percent = (count: number): number => (100 * count) / series;
  return [
    await exact(make, 7),
    await exact(make, 10),
    {
      name: `a leak of ${LEAK} KiB/s below teeth, ${draws} draws: found less often in the thinned record than in the whole one`,
      value: percent(found.whole - found.thinned),
      interval: null,
      limit: LIMIT_LESS,
      unit: "%",
      note: `found: ${percent(found.thinned).toFixed(1)} % thinned, ${percent(found.whole).toFixed(1)} % whole; growth within ${100 * NEAR} %: ${((100 * near) / found.thinned).toFixed(0)} % of those found`,
    },
    {
      name: `teeth without a leak, ${draws} draws: false leaks in the thinned record`,
      value: percent(wrong.thinned),
      interval: null,
      limit: LIMIT_FALSE,
      unit: "%",
      note: `${percent(wrong.whole).toFixed(1)} % in the whole one`,
    },
  ];
}
