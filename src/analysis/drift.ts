import type { Metric } from "../telemetry/model.ts";
import { type Cells, mergeCells, sliceCells } from "./cells.ts";
import { detectable, SIGNIFICANCE } from "./detectable.ts";
import type { DriftClass } from "./document.ts";
import { classifyFewCycles } from "./few-cycles.ts";
import { fitLine, type LineFit, studentQuantile, theilSen } from "./fit.ts";
import { chooseFloor, type Floor, partition } from "./floor.ts";
import { quantumNoise } from "./materiality.ts";
import { mean, median, normalMad } from "./order-statistics.ts";
import { FEW_PERIODS, findPeriod } from "./period.ts";
import { compareStories, type Story } from "./stories.ts";
import { teardownStart, warmupCut } from "./warmup.ts";

/** Parts a series is summed up in for the trend test. Twelve keep batch means of AR(1) 0.9 nearly independent from n = 300 on. */
const PARTS = 12;
const MIN_PARTS = 6;
const MAX_BLOCKS = 120;
/** Level of the trend test when the floor was looked for in several ways, which gives chance several tries. */
const CHOSEN_SIGNIFICANCE = 0.998;

/** What was found out about a series that can fall. Sizes in bytes, slopes per unit of the axis. */
export interface Drift {
  readonly class: DriftClass;
  readonly slope: number;
  /** 95 %. */
  readonly interval: readonly [number, number] | null;
  /** Smallest total growth over the observed span that would have been called a leak nine times in ten. */
  readonly mde: number | null;
  /** Whether the slope differs from zero at the 1 % level, one-sided. */
  readonly significant: boolean;
  readonly story: Story | null;
}

export interface DriftInput {
  readonly cells: Cells;
  readonly metric: Metric;
  /** Smallest change worth a word, bytes. */
  readonly change: number;
  /** Smallest growth over the observed span worth a word, bytes (smaller than `change` under a long horizon). */
  readonly growth: number;
  /** Axis position before which the process was only starting; null when there is nothing to know. */
  readonly startupEnd: number | null;
}

/** A ramp that has come to rest for this share of the points has ended. */
const ENDED_SHARE = 0.4;
/** ... and with this much rest it is no longer a steady leak. */
const RESTING_SHARE = 0.25;
/** Jumps must explain a rise this much better than a line (difference of the information criterion), or it stays open. */
const STRONG_EVIDENCE = 6;
/** The floor must rise or fall with the level: this share of what is material, in the lows of the first and last parts. */
const FLOOR_SHARE = 0.75;

const INSUFFICIENT: Drift = {
  class: "insufficient",
  slope: 0,
  interval: null,
  mde: null,
  significant: false,
  story: null,
};

interface Trend {
  readonly parts: Floor;
  readonly fit: LineFit;
  readonly standardError: number;
  readonly significant: boolean;
  /** Last two parts minus first two. */
  readonly net: number;
}

function trendOf(cells: Cells, kind: Floor["kind"], parts: number, noise: number): Trend {
  const floor = partition(cells, kind, parts);
  const fit = fitLine(floor.x, floor.y);
  const variance = fit.sse / (parts - 2) + noise * noise;
  const level = kind === "middle" ? SIGNIFICANCE : CHOSEN_SIGNIFICANCE;
  const standardError = fit.sxx > 0 ? Math.sqrt(variance / fit.sxx) : Number.POSITIVE_INFINITY;
  return {
    parts: floor,
    fit,
    standardError,
    significant: fit.slope > studentQuantile(level, parts - 2) * standardError,
    net: mean(floor.y, parts - 2, parts) - mean(floor.y, 0, 2),
  };
}

/** Medians of four equal parts rise strictly: growth is not confined to one stretch. */
function risesThroughout(y: Float64Array): boolean {
  let previous = Number.NEGATIVE_INFINITY;
  for (let q = 0; q < 4; q++) {
    const quarter = median(y.subarray(Math.floor((q * y.length) / 4), Math.floor(((q + 1) * y.length) / 4)));
    if (!(quarter > previous)) return false;
    previous = quarter;
  }
  return true;
}

/**
 * The second half still grows: at least a fifth of the whole happens between its two ends. One jump that makes up more than
 * a third of the growth is left out of the whole, or a leak with a jump on top would look as if it levelled off.
 */
function stillRising(y: Float64Array, net: number): boolean {
  const width = Math.max(2, Math.floor(y.length / 6));
  const half = Math.floor(y.length / 2);
  let jump = 0;
  for (let i = 1; i < y.length; i++) jump = Math.max(jump, y[i]! - y[i - 1]!);
  const whole = jump > net / 3 ? Math.max(net - jump, net / 4) : net;
  return mean(y, y.length - width, y.length) - mean(y, half, half + width) > 0.2 * whole;
}

/** Slope, interval and class of a series that can fall (allocated, host, differences of two counters). */
export function classifyDrift(input: DriftInput): Drift {
  const { metric, change, growth } = input;
  const noise = quantumNoise(metric);
  const kept = teardownStart(input.cells.low, input.cells.high, change);
  const cells = kept < input.cells.count ? sliceCells(input.cells, 0, kept) : input.cells;
  const period = findPeriod(cells.middle);
  if (period === 1) {
    const few = classifyFewCycles(cells, findPeriod(cells.middle, FEW_PERIODS), input);
    if (few) return few;
  }
  const blocks = mergeCells(cells, Math.max(1, Math.ceil(cells.count / MAX_BLOCKS), period));
  const cut = Math.max(
    warmupCut(blocks.x, period > 1 ? blocks.low : blocks.middle, noise),
    startupCut(blocks, input.startupEnd),
  );
  const settled = sliceCells(blocks, cut, blocks.count);
  const most = Math.min(PARTS, settled.count);
  if (most < MIN_PARTS) return INSUFFICIENT;

  const { kind, parts } = period > 1 ? ({ kind: "low", parts: most } as const) : chooseFloor(settled, most, growth / 8);
  const trend = trendOf(settled, kind, parts, noise);
  const { net, significant, standardError } = trend;
  const y = trend.parts.y;
  const points = kind === "middle" ? partition(settled, kind, settled.count) : trend.parts;
  const slope = theilSen(points.x, points.y);
  const half = studentQuantile(0.975, parts - 2) * standardError;
  const observed = input.cells.x[input.cells.count - 1]! - input.cells.x[0]!;
  const seen = settled.x[settled.count - 1]! - settled.x[0]!;
  const mde = detectable(standardError, parts, observed, seen, growth);
  const finer = kind === "middle" ? Math.min(2 * PARTS, settled.count) : settled.count >= 6 * PARTS ? 2 * PARTS : parts;
  const fine = partition(settled, kind, finer);
  const stories = compareStories(fine.y, Math.max(noise, growth / 50));
  const { story, flatShare, bic } = stories[0]!;
  const lineBic = stories.find((one) => one.story === "line")!.bic;
  const lows = kind === "low" ? y : partition(settled, "low", parts).y;
  const floorNet = mean(lows, parts - 2, parts) - mean(lows, 0, 2);

  const shape = (): DriftClass => {
    if (net > growth && floorNet > FLOOR_SHARE * growth) {
      if (story === "saturating" && flatShare >= ENDED_SHARE) return "plateau";
      if (story === "one-step" || story === "two-steps") {
        if (significant && lineBic - bic < STRONG_EVIDENCE) return "rising";
        return net > change ? "step" : "flat";
      }
      const steady = story !== "flat" && !(story === "saturating" && flatShare >= RESTING_SHARE);
      if (significant && steady && risesThroughout(y) && stillRising(y, net)) return "leak";
      if (significant) return "rising";
    }
    if (net < -change && floorNet < -FLOOR_SHARE * change) return "shrink";
    return boundedShape(blocks, settled, cut, period, kind, change);
  };
  return {
    class: shape(),
    slope,
    interval: Number.isFinite(half) ? [slope - half, slope + half] : null,
    mde,
    significant,
    story,
  };
}

/** Blocks that belong to the start of the process; at most half of them. */
function startupCut(blocks: Cells, end: number | null): number {
  if (end === null) return 0;
  let cut = 0;
  while (cut < blocks.count / 2 && blocks.x[cut]! < end) cut++;
  return cut;
}

function boundedShape(
  blocks: Cells,
  settled: Cells,
  cut: number,
  period: number,
  kind: Floor["kind"],
  change: number,
): DriftClass {
  const high = settled.high;
  const top = median(high);
  const excess = Math.max(...high) - top;
  const above = high.reduce((count, value) => count + (value - top > excess / 2 ? 1 : 0), 0);
  if (excess > Math.max(10 * normalMad(high), 5 * change) && above < Math.max(2, 0.05 * high.length)) return "spike";
  const swing = median(Float64Array.from(high, (value, i) => value - settled.low[i]!));
  if ((period > 1 || kind !== "middle") && swing > change) return "sawtooth";
  if (cut > 0) {
    const early = median(settled.middle.subarray(0, Math.max(3, Math.floor(settled.count / 6))));
    const start = mean(blocks.middle, 0, Math.max(1, Math.floor(blocks.count / 50)));
    if (early - start > change) return "plateau";
  }
  return "flat";
}
