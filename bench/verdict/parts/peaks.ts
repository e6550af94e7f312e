import { MIB } from "../../../src/core/units.ts";
import { describeShare, type Share, shortShare } from "../intervals.ts";
import { NOISE_WORLDS, type NoiseWorld } from "../noise-worlds.ts";
import { seeded } from "../random.ts";
import { publishedPeakRules } from "../rules/peak-all.ts";
import { oursOnPeaks } from "../rules/peak-ours.ts";
import type { PeakRule } from "../rules/peak-rule.ts";
import type { Part, Table } from "./part.ts";

const EFFECTS = [1, 1.02, 1.05, 1.1] as const;
/** The counter of these worlds counts whole MiB pairs. */
const QUANTUM = 2 * MIB;
/** Changes judged per cell: without an effect, with one, and of each in the table of baseline sizes. */
const ROUNDS = {
  quick: { clean: 300, changed: 100, sizes: 100 },
  full: { clean: 10_000, changed: 3000, sizes: 1000 },
} as const;
type Rounds = (typeof ROUNDS)["quick" | "full"];

interface Tried extends Share {
  /** Mean runs a change costs. */
  readonly runs: number;
}

/** A rule in a world: baseline, change and base are redrawn each round, the change's peaks times `effect`. */
function tryRule(rule: PeakRule, world: NoiseWorld, effect: number, rounds: number, seed: number): Tried {
  const random = seeded(seed);
  let hits = 0;
  let runs = 0;
  for (let round = 0; round < rounds; round += 1) {
    const base = () => Math.round(world.draw(random));
    const baseline = Array.from({ length: rule.history }, base);
    const answer = rule.judge({ baseline, run: () => Math.round(world.draw(random) * effect), base });
    hits += Number(answer.alarm);
    runs += answer.runs;
  }
  return { hits, of: rounds, runs: runs / rounds };
}

interface Row {
  readonly rule: PeakRule;
  /** By world, then by effect. */
  readonly tried: readonly (readonly Tried[])[];
}

const sum = (shares: readonly Share[]): Share =>
  shares.reduce((all, { hits, of }) => ({ hits: all.hits + hits, of: all.of + of }), { hits: 0, of: 0 });

function overview(rows: readonly Row[], rounds: Rounds): Table {
  return {
    title: "Peak gate against the rules of other gates: false alarms and power",
    note: `One number a run, 1 GiB, five kinds of noise; baseline runs as the rule wants them (ours: 10, each of a session of its own). Cell: alarms in ${rounds.clean} changes that change nothing · in ${rounds.changed} each of +2 / +5 / +10 %. Runs: mean of a change that changes nothing, over the five worlds.`,
    rows: [
      ["rule", ...NOISE_WORLDS.map(({ name }) => name), "runs per clean change"],
      ...rows.map(({ rule, tried }) => [
        rule.name,
        ...tried.map(([none, ...more]) => `${none ? shortShare(none) : "–"} · ${more.map(powerOf).join(" / ")}`),
        (tried.reduce((all, [none]) => all + (none?.runs ?? Number.NaN), 0) / tried.length).toFixed(2),
      ]),
    ],
  };
}

/** Power as whole percent; 100 only for all. */
function powerOf({ hits, of }: Share): string {
  const percent = (100 * hits) / of;
  return hits === of ? "100" : percent > 99 ? (Math.floor(10 * percent) / 10).toFixed(1) : percent.toFixed(0);
}

function alarmsByWorld(rows: readonly Row[]): Table {
  return {
    title: "Peak gate: false alarms with intervals",
    note: "The same tries without a change: share, hits, tries, 95 % Wilson interval.",
    rows: [
      ["rule", ...NOISE_WORLDS.map(({ name }) => name), "all"],
      ...rows.map(({ rule, tried }) => {
        const none = tried.flatMap((cells) => cells.slice(0, 1));
        return [rule.name, ...none.map(describeShare), describeShare(sum(none))];
      }),
    ],
  };
}

/** Our own rule, with fewer and with more baseline runs. */
function baselineSizes({ sizes: rounds }: Rounds, seed: number): Table {
  const rows = [5, 10, 30].flatMap((history) =>
    NOISE_WORLDS.map((world, index) => {
      const cells = EFFECTS.map((effect) => tryRule(oursOnPeaks(true, history), world, effect, rounds, seed + index));
      const alone = tryRule(oursOnPeaks(false, history), world, 1, rounds, seed + index);
      return [
        String(history),
        world.name,
        describeShare(alone),
        ...cells.map((cell, k) => (k === 0 ? describeShare(cell) : shortShare(cell))),
        ...[cells[0], cells[2]].map((cell) => (cell?.runs ?? Number.NaN).toFixed(2)),
      ];
    }),
  );
  return {
    title: "Peak gate: ours by the number of baseline runs",
    note: `${rounds} changes a cell.`,
    rows: [
      [
        "baseline runs",
        "world",
        "no change, base not run",
        "no change",
        ...EFFECTS.slice(1).map((effect) => `+${Math.round(100 * effect - 100)} %`),
        "runs per clean change",
        "runs at +5 %",
      ],
      ...rows,
    ],
  };
}

/** The peak gate in five worlds of noise, beside the rules that other gates decide by. */
export const peaks: Part = ({ quick, seed }) => {
  const rounds = quick ? ROUNDS.quick : ROUNDS.full;
  const ours = [oursOnPeaks(true), oursOnPeaks(false)];
  const names = [...ours, ...publishedPeakRules({ floor: 2 * MIB, quantum: QUANTUM })];
  const rows = names.map((first, index): Row => {
    const tried = NOISE_WORLDS.map((world, at) => {
      const rule = [...ours, ...publishedPeakRules({ floor: world.floor, quantum: QUANTUM })][index] ?? first;
      return EFFECTS.map((effect, k) =>
        tryRule(rule, world, effect, k === 0 ? rounds.clean : rounds.changed, seed + 1000 * index + 10 * at + k),
      );
    });
    return { rule: first, tried };
  });
  return [overview(rows, rounds), alarmsByWorld(rows), baselineSizes(rounds, seed)];
};
