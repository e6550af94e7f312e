import { METRIC } from "../../../src/telemetry/recording/metrics.ts";
import { readAcceptedChanges } from "../corpus/golden-history.ts";
import { readReruns } from "../corpus/reruns.ts";
import { describeShare, shortShare } from "../intervals.ts";
import { seeded } from "../random.ts";
import { bencherIqr, bencherT, bencherZ } from "../rules/peak-bencher.ts";
import { anyIncrease, overMean, ratioOverLast } from "../rules/peak-fixed.ts";
import { mannWhitney } from "../rules/peak-mann-whitney.ts";
import { oursOnPeaks } from "../rules/peak-ours.ts";
import { perfCompare } from "../rules/peak-perfcompare.ts";
import { adaptive, adaptiveDuet, maxOfFive, threeOfThree } from "../rules/peak-repeated.ts";
import type { PeakRule } from "../rules/peak-rule.ts";
import { stormlogSpike } from "../rules/peak-stormlog.ts";
import type { Part, Table } from "./part.ts";

const EFFECTS = [1, 1.03, 1.05] as const;
/** Changes judged of each group and effect. */
const ROUNDS = { quick: 10, full: 100 } as const;
/** A baseline needs five runs, and the change one of its own. */
const MIN_RUNS = 6;
const METRICS = ["allocated", "reserved"] as const;

function rulesFor(metric: (typeof METRICS)[number]): readonly PeakRule[] {
  const scale = { floor: METRIC[metric].peakFloorBytes, quantum: METRIC[metric].quantumBytes };
  return [
    oursOnPeaks(true, 10, metric),
    oursOnPeaks(false, 10, metric),
    ...[101, 102, 105].map(ratioOverLast),
    overMean(10),
    bencherZ(10),
    bencherT,
    bencherIqr,
    perfCompare,
    mannWhitney,
    stormlogSpike,
    threeOfThree(scale),
    { ...maxOfFive({ ...scale, floor: 0 }), name: "max of 5 + 2 %, 2 of 3" },
    adaptive(scale),
    adaptiveDuet(scale),
  ];
}

/** One group's runs in a random order. */
function shuffled(runs: readonly number[], random: () => number): readonly number[] {
  const order = [...runs];
  for (let i = order.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j] ?? Number.NaN, order[i] ?? Number.NaN];
  }
  return order;
}

interface Tried {
  readonly hits: number;
  readonly of: number;
  readonly runs: number;
  /** Groups with an alarm. */
  readonly groups: number;
}

/**
 * A rule on every group: as many baseline runs as it wants and the group has without one, that one as the first run of
 * the change, and what is measured again drawn from the whole group, the change's times `effect`.
 */
function tryRule(
  rule: PeakRule,
  groups: readonly (readonly number[])[],
  effect: number,
  rounds: number,
  seed: number,
): Tried {
  const random = seeded(seed);
  let [hits, runs, alarmed] = [0, 0, 0];
  for (const group of groups) {
    let here = 0;
    for (let round = 0; round < rounds; round += 1) {
      const order = shuffled(group, random);
      const baseline = order.slice(0, Math.min(rule.history, order.length - 1));
      const any = () => group[Math.floor(random() * group.length)] ?? Number.NaN;
      let first = order[baseline.length];
      const run = () => {
        const value = first ?? any();
        first = undefined;
        return Math.round(value * effect);
      };
      const answer = rule.judge({ baseline, run, base: any });
      here += Number(answer.alarm);
      runs += answer.runs;
    }
    hits += here;
    alarmed += Number(here > 0);
  }
  const of = groups.length * rounds;
  return { hits, of, runs: runs / of, groups: alarmed };
}

/** Sizes of accepted changes, percent of the value before: above the first, up to the second. */
const SIZES = [
  ["lower", -100, -0.05],
  ["the same", -0.05, 0.05],
  ["up to 0.5 %", 0.05, 0.5],
  ["to 1 %", 0.5, 1],
  ["to 2 %", 1, 2],
  ["to 5 %", 2, 5],
  ["above 5 %", 5, Number.POSITIVE_INFINITY],
] as const;

/** Changes that would have needed an acceptance in a real project's history of peaks. */
function acceptedChanges(data: string): Table {
  const changes = readAcceptedChanges(data);
  const rules = [oursOnPeaks(true), ratioOverLast(102), ratioOverLast(105), anyIncrease];
  const rows = SIZES.map(([name, above, upTo]) => {
    const these = changes.filter(({ before, after }) => {
      const percent = 100 * (after / before - 1);
      return percent > above && percent <= upTo;
    });
    const asked = rules.map((rule) => {
      const alarms = these.filter(({ before, after }) => {
        const baseline = Array<number>(rule.history).fill(before);
        return rule.judge({ baseline, run: () => after, base: () => before }).alarm;
      });
      return String(alarms.length);
    });
    return [name, String(these.length), ...asked];
  });
  return {
    title: "Accepted changes of a real project",
    note: `${changes.length} times a golden peak of Megatron-LM's CI was replaced by a new one, by size; how many of them a rule would have stopped until someone agreed. The old value stands for the whole baseline, as if peaks there were the same in every run, which most are. Improvements never stop.`,
    rows: [["change of the peak", "changes", ...rules.map(({ name }) => name)], ...rows],
  };
}

/** Real runs of identical code, again and again: every alarm without a change is a false one. */
export const reruns: Part = ({ data, quick, seed }) => {
  const all = readReruns(data, MIN_RUNS);
  const rounds = quick ? ROUNDS.quick : ROUNDS.full;
  const tables = METRICS.map((metric, m): Table => {
    const groups = all.map((group) => group[metric]).filter((runs) => runs.length >= MIN_RUNS);
    return {
      title: `Identical code, run again: peaks of ${metric} memory`,
      note: `${groups.length} groups of byte-identical code in one environment (modded-nanogpt, 8 H100), ${groups.reduce((sum, runs) => sum + runs.length, 0)} runs; ${rounds} changes a group: its runs shuffled, up to 10 as the baseline (sessions unknown: each its own), the next as the change, what is measured again drawn from the group.`,
      rows: [
        ["rule", "no change", "groups with an alarm", "+3 %", "+5 %", "runs per clean change"],
        ...rulesFor(metric).map((rule, r) => {
          const [none, ...more] = EFFECTS.map((effect, e) =>
            tryRule(rule, groups, effect, rounds, seed + 1000 * m + 10 * r + e),
          );
          if (none === undefined) throw new Error("no effects");
          return [rule.name, describeShare(none), String(none.groups), ...more.map(shortShare), none.runs.toFixed(2)];
        }),
      ],
    };
  });
  return [...tables, acceptedChanges(data)];
};
