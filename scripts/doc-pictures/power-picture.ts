import { normal, seeded } from "../../bench/verdict/random.ts";
import { formatBytes, GIB, MIB } from "../../src/core/units.ts";
import { axes, COLORS, frameOf, heading, legend, lineMark, picture, polyline, xOf, yOf } from "./frame.ts";
import { analysed, type ExampleSeries } from "./series.ts";

const TICK_ROOM = 72;
const TRIALS = 100;
const STEPS = 400;
const GROWTHS_MIB = [0, 8, 12, 16, 20, 22, 24, 26, 28, 30, 32, 36, 40, 44, 48, 56, 64, 72, 80, 96] as const;

/** Memory with AR(1) noise (coefficient `memory`), growing by `growth` bytes over the run. */
function series(random: () => number, growth: number, sigma: number, memory: number): ExampleSeries {
  let state = normal(random);
  const bytes = Float64Array.from({ length: STEPS }, (_, step) => {
    state = memory * state + Math.sqrt(1 - memory ** 2) * normal(random);
    return 512 * Math.round((2 * GIB + (growth * step) / STEPS + sigma * state) / 512);
  });
  return { name: "trial", caption: "", metric: "allocated", expected: "leak", bytes };
}

interface Power {
  readonly growth: number;
  readonly leak: number;
  readonly seen: number;
}

function powerOf(
  seed: number,
  sigma: number,
  memory: number,
): { readonly curve: readonly Power[]; readonly mde: number } {
  const random = seeded(seed);
  const detectable: number[] = [];
  const curve = GROWTHS_MIB.map((growth) => {
    let leak = 0;
    let seen = 0;
    for (let trial = 0; trial < TRIALS; trial++) {
      const analysis = analysed(series(random, growth * MIB, sigma, memory));
      if (analysis.class === "leak") leak++;
      if (analysis.class === "leak" || analysis.class === "rising") seen++;
      if (growth === 0 && analysis.mde_bytes !== null) detectable.push(analysis.mde_bytes);
    }
    return { growth: growth * MIB, leak: leak / TRIALS, seen: seen / TRIALS };
  });
  detectable.sort((a, b) => a - b);
  return { curve, mde: detectable[detectable.length >> 1]! };
}

function panel(side: 0 | 1, seed: number, caption: string, sigma: number, memory: number): string {
  const { curve, mde } = powerOf(seed, sigma, memory);
  if (curve[0]!.leak > 0) throw new Error("a run without a leak was called one");
  const last = curve[curve.length - 1]!.growth;
  const frame = frameOf(side, [0, last], [0, 1.06], TICK_ROOM);
  const at = xOf(mde, frame);
  const line = (of: (power: Power) => number) =>
    curve.map((power) => [xOf(power.growth, frame), yOf(of(power), frame)] as const);
  return [
    heading(
      frame,
      TICK_ROOM,
      { text: `sees ≥ ${formatBytes(mde)}`, color: COLORS.plain },
      caption,
      `${TRIALS} runs of ${STEPS} steps each; without a leak none was called one`,
    ),
    axes(
      frame,
      [0, 16, 32, 48, 64, 80, 96].map((mib) => [mib * MIB, mib === 96 ? "96 MiB" : String(mib)] as const),
      [0, 0.25, 0.5, 0.75, 1].map((share) => [share, `${share * 100} %`] as const),
    ),
    `<rect x="${frame.left}" y="${frame.top}" width="${(at - frame.left).toFixed(1)}" height="${frame.bottom - frame.top}" fill="#bcc4cd" fill-opacity="0.4"/>`,
    polyline(
      [
        [at, frame.top],
        [at, frame.bottom],
      ],
      COLORS.mark,
      2.5,
      "8 5",
    ),
    polyline(
      line(({ seen }) => seen),
      "#56b4e9",
      2.5,
      "3 5",
    ),
    polyline(
      line(({ leak }) => leak),
      COLORS.data,
      3,
    ),
  ].join("");
}

/** The share of leaks found, by their size, and the detectable minimum that the run states. */
export function powerPicture(): string {
  return picture(
    panel(0, 31, "a quiet run", 6 * MIB, 0),
    panel(1, 32, "a restless one", 8 * MIB, 0.8),
    legend([
      {
        mark: (x, y) => `<rect x="${x}" y="${y - 8}" width="30" height="16" fill="#bcc4cd" fill-opacity="0.4"/>`,
        words: "could pass unseen",
      },
      { mark: lineMark(COLORS.data, 3), words: "called leak" },
      { mark: lineMark("#56b4e9", 2.5, "3 5"), words: "leak or rising" },
      { mark: lineMark(COLORS.mark, 2.5, "8 5"), words: "smallest leak the run says it would have shown" },
    ]),
  );
}
