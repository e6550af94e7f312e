import { MIB } from "../../src/core/units.ts";
import { type Drawn, tellStory } from "./gate-story.ts";
import { NOISE_WORLDS } from "./noise-worlds.ts";
import { normal, seeded } from "./random.ts";

/**
 * The peak gate in five noise worlds and under offsets between sessions: false alarms before and after the base re-run,
 * power, and runs per clean change. `tsx bench/verdict/worlds.ts [repetitions] [seed]`
 */

const REPETITIONS = Number(process.argv[2] ?? 3000);
const SEED = Number(process.argv[3] ?? 20260921);
const EFFECTS = [1, 1.01, 1.02, 1.03, 1.05, 1.1] as const;

interface Tally {
  breached: number;
  red: number;
  candidateRuns: number;
  baseRuns: number;
}

function tally(repetitions: number, story: () => ReturnType<typeof tellStory>): Tally {
  const sum: Tally = { breached: 0, red: 0, candidateRuns: 0, baseRuns: 0 };
  for (let i = 0; i < repetitions; i += 1) {
    const end = story();
    sum.breached += Number(end.breached);
    sum.red += Number(end.judgement.verdict === "fail");
    sum.candidateRuns += end.candidateRuns;
    sum.baseRuns += end.baseRuns;
  }
  return sum;
}

/** 95 % interval of a proportion (Wilson), percent. */
function wilson(hits: number, of: number): string {
  const z = 1.96;
  const p = hits / of;
  const centre = (p + z ** 2 / (2 * of)) / (1 + z ** 2 / of);
  const half = (z / (1 + z ** 2 / of)) * Math.sqrt((p * (1 - p)) / of + z ** 2 / (4 * of ** 2));
  return `${(100 * Math.max(0, centre - half)).toFixed(2)}–${(100 * Math.min(1, centre + half)).toFixed(2)}`;
}

const percent = (hits: number, of: number) => ((100 * hits) / of).toFixed(2);

function row(cells: readonly string[]): void {
  console.log(`| ${cells.join(" | ")} |`);
}

console.log(`seed ${SEED}, ${REPETITIONS} repetitions a cell; A/A = no change; alarms in % with 95 % intervals\n`);
for (const withGrowth of [false, true]) {
  for (const runs of [5, 10, 30]) {
    console.log(
      `${runs} baseline runs of ${runs} sessions, ${withGrowth ? "peak and growth share alpha" : "peak alone"}`,
    );
    row([
      "world",
      "A/A before base re-run",
      "A/A red",
      ...EFFECTS.slice(1).map((e) => `+${Math.round(100 * e - 100)} % red`),
      "runs per clean change",
      "runs at +5 %",
    ]);
    let clean = 0;
    for (const [index, world] of NOISE_WORLDS.entries()) {
      const random = seeded(SEED + index);
      const draw = (effect: number): Drawn => {
        const peak = world.draw(random) * effect;
        return withGrowth ? { peak, growth: 0 } : { peak };
      };
      const cells = EFFECTS.map((effect) =>
        tally(REPETITIONS, () =>
          tellStory({
            baseline: Array.from({ length: runs }, () => [draw(1)]),
            candidate: () => draw(effect),
            base: () => draw(1),
          }),
        ),
      );
      const none = cells[0] as Tally;
      const five = cells[EFFECTS.indexOf(1.05)] as Tally;
      clean += (none.candidateRuns + none.baseRuns) / REPETITIONS / NOISE_WORLDS.length;
      row([
        world.name,
        `${percent(none.breached, REPETITIONS)} (${wilson(none.breached, REPETITIONS)})`,
        `${percent(none.red, REPETITIONS)} (${wilson(none.red, REPETITIONS)})`,
        ...cells.slice(1).map((cell) => percent(cell.red, REPETITIONS)),
        ((none.candidateRuns + none.baseRuns) / REPETITIONS).toFixed(3),
        `${(five.candidateRuns / REPETITIONS).toFixed(1)} + ${(five.baseRuns / REPETITIONS).toFixed(1)} base`,
      ]);
    }
    console.log(`mean runs per clean change ${clean.toFixed(3)}\n`);
  }
}

console.log("sessions differ, runs of one session differ by 0.2 %; sessions x runs");
row(["offset", "baseline", "A/A before base re-run", "A/A red", "+2 % red", "+5 % red", "runs per clean change"]);
for (const offset of [0.003, 0.01, 0.02]) {
  for (const [sessions, each] of [
    [1, 10],
    [2, 5],
    [5, 2],
    [10, 1],
  ] as const) {
    const random = seeded(SEED);
    const cells = [1, 1.02, 1.05].map((effect) =>
      tally(REPETITIONS, () => {
        const run = (level: number): Drawn => ({ peak: level * (1 + 0.002 * normal(random)) });
        const night = () => 1024 * MIB * (1 + offset * normal(random));
        const today = night();
        return tellStory({
          baseline: Array.from({ length: sessions }, () => {
            const level = night();
            return Array.from({ length: each }, () => run(level));
          }),
          candidate: () => run(today * effect),
          base: () => run(today),
        });
      }),
    );
    const [none, two, five] = cells as [Tally, Tally, Tally];
    row([
      `${100 * offset} %`,
      `${sessions} x ${each}`,
      percent(none.breached, REPETITIONS),
      `${percent(none.red, REPETITIONS)} (${wilson(none.red, REPETITIONS)})`,
      percent(two.red, REPETITIONS),
      percent(five.red, REPETITIONS),
      ((none.candidateRuns + none.baseRuns) / REPETITIONS).toFixed(2),
    ]);
  }
}
