import { normal, seeded } from "../../bench/verdict/random.ts";
import type { Measurements } from "../../src/analysis/measurements.ts";
import { formatBytes, GIB, MIB } from "../../src/core/units.ts";
import { judge } from "../../src/verdict/judge.ts";
import { DEFAULT_POLICY } from "../../src/verdict/model/defaults.ts";
import type { Judgement } from "../../src/verdict/model/judgement.ts";
import {
  axes,
  COLORS,
  dot,
  type Frame,
  frameOf,
  heading,
  label,
  legend,
  lineMark,
  picture,
  polyline,
  xOf,
  yOf,
} from "./frame.ts";

const TICK_ROOM = 96;
const BASELINE_RUNS = 12;
const HERE = "this job";

type Run = Measurements["runs"][number];

export interface Breach {
  readonly baseline: readonly Run[];
  readonly candidates: readonly Run[];
  readonly base: readonly Run[];
  readonly judgement: Judgement;
}

const runOf = (session: string, bytes: number): Run => ({
  session,
  commit: null,
  series: [{ rank: 0, device: "cuda:0", metric: "allocated", peak_bytes: 512 * Math.round(bytes / 512) }],
});

const peakOf = (run: Run): number => run.series[0]?.peak_bytes ?? Number.NaN;
const measured = (runs: readonly Run[]): Measurements => ({ scenario: "train", fingerprint: null, runs });

/** A peak with a rare upper mode: an autotuner that sometimes chooses the kernel with the larger workspace. */
const peakBytes = (random: () => number): number =>
  8 * GIB + 6 * MIB * normal(random) + (random() < 0.08 ? 150 * MIB : 0);

/** Judge and measure the runs that the judgement needs, until it is final. */
function simulateBreach(seed: number, more: number, first: number): Breach {
  const random = seeded(seed);
  const baseline = Array.from({ length: BASELINE_RUNS }, (_, i) => runOf(`night ${i >> 2}`, peakBytes(random)));
  const candidates = [runOf(HERE, 8 * GIB + first)];
  const base: Run[] = [];
  for (;;) {
    const judgement = judge({
      candidate: measured(candidates),
      baseline: measured([...baseline, ...base]),
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: true,
    });
    if (judgement.next.kind === "candidate-runs") candidates.push(runOf(HERE, peakBytes(random) + more));
    else if (judgement.next.kind === "base-runs") base.push(runOf(HERE, peakBytes(random)));
    else return { baseline, candidates, base, judgement };
  }
}

export const BY_CHANCE = (): Breach => simulateBreach(5, 0, 152 * MIB);
export const BY_CHANGE = (): Breach => simulateBreach(5, 150 * MIB, 152 * MIB);

function panel(breach: Breach, side: 0 | 1, caption: string, y: readonly [number, number]): string {
  const { baseline, candidates, base, judgement } = breach;
  const check = judgement.checks.find(({ aspect, limit }) => aspect === "peak" && limit === "baseline");
  if (check?.threshold_bytes == null) throw new Error("the peak was not judged");
  const frame: Frame = frameOf(side, [0, 23], y, TICK_ROOM);
  const limit = yOf(check.threshold_bytes, frame);
  const bad = judgement.verdict === "fail";
  const place = (from: number, runs: readonly Run[], color: string, filled = true) =>
    runs.map((run, i) => dot(xOf(from + i, frame), yOf(peakOf(run), frame), color, 7, filled)).join("");
  const group = (from: number, to: number, words: string) => {
    const at = frame.bottom + 8;
    return (
      polyline(
        [
          [xOf(from - 0.4, frame), at],
          [xOf(to + 0.4, frame), at],
        ],
        COLORS.plain,
        2,
      ) + label(words, xOf((from + to) / 2, frame), frame.bottom + 29, COLORS.plain, "middle")
    );
  };
  const runs = candidates.length;
  return [
    heading(
      frame,
      TICK_ROOM,
      {
        text: bad && judgement.confirmed ? "fail, confirmed" : judgement.verdict,
        color: bad ? COLORS.bad : COLORS.good,
      },
      caption,
      `${runs} ${runs === 1 ? "run" : "runs"} of the change, ${base.length} of its base; sees ≥ ${formatBytes(check.mde_bytes ?? 0)}`,
    ),
    axes(frame, []),
    `<rect x="${frame.left}" y="${frame.top}" width="${frame.right - frame.left}" height="${Math.max(0, limit - frame.top).toFixed(1)}" fill="${COLORS.mark}" fill-opacity="0.09"/>`,
    polyline(
      [
        [frame.left, limit],
        [frame.right, limit],
      ],
      COLORS.mark,
      2.5,
      "8 5",
    ),
    label(`limit ${Math.round(check.threshold_bytes / MIB)} MiB`, frame.right - 6, limit - 9, COLORS.mark, "end"),
    place(1, baseline, COLORS.plain),
    place(14, candidates, COLORS.data),
    place(20, base, COLORS.plain, false),
    group(1, 12, "baseline, three nights"),
    group(14, 14 + Math.max(1.6, candidates.length - 1), "change"),
    base.length > 0 ? group(20, 20 + Math.max(1.6, base.length - 1), "base") : "",
  ].join("");
}

/** The same first breach twice: once by chance, once by the change. */
export function breachPicture(): string {
  const [chance, change] = [BY_CHANCE(), BY_CHANGE()];
  if (chance.judgement.verdict !== "pass") throw new Error("the breach by chance does not pass");
  if (change.judgement.verdict !== "fail" || !change.judgement.confirmed)
    throw new Error("the real breach is not confirmed");
  const all = [chance, change].flatMap(({ baseline, candidates, base }) =>
    [...baseline, ...candidates, ...base].map(peakOf),
  );
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const y = [low - 0.15 * (high - low), high + 0.2 * (high - low)] as const;
  return picture(
    panel(chance, 0, "a rare mode, met first", y),
    panel(change, 1, "the change takes 150 MiB more", y),
    legend([
      { mark: (x, at) => dot(x + 15, at, COLORS.plain, 7), words: "baseline run" },
      { mark: (x, at) => dot(x + 15, at, COLORS.data, 7), words: "run of the change" },
      { mark: (x, at) => dot(x + 15, at, COLORS.plain, 7, false), words: "run of its base commit in the same job" },
      { mark: lineMark(COLORS.mark, 2.5, "8 5"), words: "limit" },
    ]),
  );
}
