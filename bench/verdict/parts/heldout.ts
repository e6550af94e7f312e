import { analyze } from "../../../src/analysis/analyze.ts";
import type { SeriesAnalysis } from "../../../src/analysis/series/document.ts";
import { FAMILIES, type HeldOutCase, heldOutCase } from "../heldout/case.ts";
import { describeShare, shortShare, Tally } from "../intervals.ts";
import { SEEDS } from "../seeds.ts";
import type { Part, Table } from "./part.ts";

const MIB = 2 ** 20;
const CASES = { healthy: 200, leak: 500, ambiguous: 200 } as const;
const SIZES = ["1.5 to 3 floors", "3 to 8 floors", "8 to 20 floors"] as const;

/** The engine's result for one case. */
export interface HeldOutAnswer {
  readonly falseLeak: SeriesAnalysis | null;
  /** The series that carries the truth. */
  readonly series: SeriesAnalysis;
  /** True growth over a floor of max(16 MiB, 1 % of the level). */
  readonly floors: number;
  /** A leak that the run states as detectable: at least twice the printed limit, and above the floor. */
  readonly visible: boolean;
}

function medianOf(values: Float64Array): number {
  const present = values.filter((value) => !Number.isNaN(value)).sort();
  return present[present.length >> 1] ?? Number.NaN;
}

export function answered({ recording, family, rank, leaked }: HeldOutCase): HeldOutAnswer {
  const { series } = analyze(recording);
  const found = series.find((one) => one.metric === family.metric && one.rank === rank);
  const device = family.metric === "host" ? "host" : `cuda:${rank}`;
  const column = recording.tables.find((table) => table.rank === rank && table.device === device)?.columns[
    family.metric
  ];
  if (found === undefined || column === undefined)
    throw new Error(`${family.name}: no series ${family.metric} of rank ${rank}`);
  const level = medianOf(column);
  const floors = leaked / Math.max(16 * MIB, 0.01 * level);
  const healthy = family.truth === "healthy" ? series : series.filter((one) => one.rank !== rank);
  return {
    falseLeak: healthy.find((one) => one.class === "leak") ?? null,
    series: found,
    floors,
    visible: floors >= 1.2 && found.mde_bytes !== null && leaked >= 2 * found.mde_bytes,
  };
}

const sizeOf = (floors: number): string => SIZES[floors < 3 ? 0 : floors < 8 ? 1 : 2];

/** Whole recordings by an author without knowledge of the rules, judged by the whole analysis. */
export const heldout: Part = ({ quick, seed }) => {
  const calls = new Tally();
  const rising = new Tally();
  const recall = new Tally();
  const all = { healthy: "all healthy families", leak: "all leaking families", ambiguous: "all" } as const;
  for (const family of FAMILIES) {
    const cases = quick ? Math.ceil(CASES[family.truth] / 10) : CASES[family.truth];
    for (let index = 0; index < cases; index++) {
      const answer = answered(heldOutCase(seed ^ SEEDS.heldout, family, index));
      const called = family.truth === "healthy" ? answer.falseLeak !== null : answer.series.class === "leak";
      for (const name of [family.name, all[family.truth]]) {
        calls.add(name, called);
        rising.add(name, ["rising", "leak"].includes(answer.series.class));
        if (family.truth !== "leak") continue;
        calls.add(`${name}/healthy`, answer.falseLeak !== null);
        recall.add(`${name}/not visible`, !answer.visible);
        if (!answer.visible) continue;
        recall.add(name, called);
        recall.add(`${name}/${sizeOf(answer.floors)}`, called);
        recall.add(`${name}/warned`, ["rising", "leak"].includes(answer.series.class));
      }
    }
  }
  const named = (truth: keyof typeof all) => [
    ...FAMILIES.filter((family) => family.truth === truth).map(({ name }) => name),
    all[truth],
  ];
  const negatives: Table = {
    title: "Held-out recordings: healthy",
    note: "Whole recordings (allocator, steps, sampler) of a generator whose author had not read the detector. Two rules were fixed since because of it, with other seeds. A case counts as a false leak when any of its series is called one.",
    rows: [
      ["family", "false leaks", "rising or leak"],
      ...named("healthy").map((name) => [name, describeShare(calls.get(name)), shortShare(rising.get(name))]),
    ],
  };
  const positives: Table = {
    title: "Held-out recordings: leaking",
    note: "Found as `leak`, of those the run could have shown by its own words: the leak is above the floor and at least twice the printed limit. By size of the leak in floors, max(16 MiB, 1 % of the level): larger than the one in force for an allocator’s count.",
    rows: [
      ["family", "found", ...SIZES, "leak or rising", "not visible"],
      ...named("leak").map((name) => [
        name,
        describeShare(recall.get(name)),
        ...SIZES.map((size) => shortShare(recall.get(`${name}/${size}`))),
        shortShare(recall.get(`${name}/warned`)),
        shortShare(recall.get(`${name}/not visible`)),
      ]),
    ],
  };
  const open: Table = {
    title: "Held-out recordings: growth without an end in sight",
    note: "Healthy one day, but growing through the whole run: no rule can tell these from a leak by the run alone. Shown, not counted.",
    rows: [
      ["family", "leak", "rising or leak"],
      ...named("ambiguous")
        .slice(0, -1)
        .map((name) => [name, describeShare(calls.get(name)), shortShare(rising.get(name))]),
    ],
  };
  return [negatives, positives, open];
};
