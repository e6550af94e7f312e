import { fitLine } from "../../stats/least-squares.ts";
import { type Frame, lineKey, NO_FRAMES, ownerOf } from "../model/frames.ts";

/** Live memory of one allocation stack in one sample. */
export interface LiveEntry {
  readonly bytes: number;
  /** Blocks, tensors or objects. */
  readonly count: number;
  /** Kind of the bytes: "python", "tensor", "buffer", "object", "block", … */
  readonly kind: string;
  /** Innermost first; empty when not recorded. */
  readonly stack: readonly Frame[];
}

/** Everything live at one time, from any source: a memory snapshot, tracemalloc, the tensors of a process, a heap. */
export interface LiveSample {
  readonly step: number | null;
  /** Nanoseconds on one clock for all samples. */
  readonly timeNs: number | null;
  /** All live bytes, including those without an entry. */
  readonly totalBytes: number;
  readonly entries: readonly LiveEntry[];
}

/**
 * Movement of a line over the samples.
 * - `grows`: keeps rising, over three samples or more.
 * - `unproven`: higher in the last of two samples, which cannot distinguish a leak from churn or a one-time allocation.
 * - `once`: rose once and stayed, like a cache or an optimizer's state.
 * - `churn`: moves up and down.
 */
export type LineTrend = "grows" | "unproven" | "once" | "churn";

/** One source line and the live memory it allocated. */
export interface GrowthLine {
  readonly file: string;
  readonly line: number;
  readonly function: string;
  /** Whether the line is user code; false where a stack has none. */
  readonly user: boolean;
  /** Kind of the entry that grew most. */
  readonly kind: string;
  readonly trend: LineTrend;
  /** Least-squares slope over the steps; null where samples have no steps. */
  readonly bytesPerStep: number | null;
  /** Least-squares slope over the clock; null where samples have no clock. */
  readonly bytesPerSecond: number | null;
  readonly growthBytes: number;
  readonly countGrowth: number;
  /** Of the whole growth, 0 to 1; see {@link LineGrowth.totalGrowthBytes}. */
  readonly share: number;
  readonly firstBytes: number;
  readonly lastBytes: number;
  /** Live bytes in every sample. */
  readonly bytes: readonly number[];
  /** The stack that grew most, innermost first. */
  readonly stack: readonly Frame[];
}

export interface LineGrowth {
  /** Lines that grow (`grows`, with two samples `unproven`), most growth first. */
  readonly lines: readonly GrowthLine[];
  /** Lines that ended higher without a proven trend (`churn`, `once`), most growth first. */
  readonly discarded: readonly GrowthLine[];
  /** Rise of all live bytes from the first sample to the last; may be negative. */
  readonly totalGrowthBytes: number;
  /** Share of the growth that {@link lines} explain, 0 to 1; null when nothing grew. */
  readonly explainedShare: number | null;
}

/** A line may fall by this share of its growth between two samples, because it may also allocate short-lived memory. */
const ALLOWED_DIP = 0.1;
/** A line that rises at fewer than this share of the intervals is `once`. */
const RISING_SHARE = 0.5;
/** With fewer samples churn looks like a leak (a line between 46 and 72 MiB rose by 26 MiB between two of them). */
const MIN_SAMPLES = 3;

interface LineSums {
  readonly frame: Frame;
  readonly user: boolean;
  readonly bytes: Float64Array;
  readonly counts: Float64Array;
  readonly stacks: Map<string, { stack: readonly Frame[]; kind: string; first: number; last: number }>;
}

const stackKey = (stack: readonly Frame[]): string => stack.map(({ file, line }) => `${file}:${line}`).join("\n");

function sumByLine(samples: readonly LiveSample[], isUserFrame: (frame: Frame) => boolean): Iterable<LineSums> {
  const lines = new Map<string, LineSums>();
  for (const [at, { entries }] of samples.entries()) {
    for (const { bytes, count, kind, stack } of entries) {
      const owner = ownerOf(stack, isUserFrame) ?? { frame: NO_FRAMES, user: false };
      const key = lineKey(owner.frame);
      let line = lines.get(key);
      if (line === undefined) {
        line = {
          ...owner,
          bytes: new Float64Array(samples.length),
          counts: new Float64Array(samples.length),
          stacks: new Map(),
        };
        lines.set(key, line);
      }
      line.bytes[at] = (line.bytes[at] ?? 0) + bytes;
      line.counts[at] = (line.counts[at] ?? 0) + count;
      if (at > 0 && at < samples.length - 1) continue;
      const ownKey = `${kind}\n${stackKey(stack)}`;
      const own = line.stacks.get(ownKey) ?? { stack, kind, first: 0, last: 0 };
      if (at === 0) own.first += bytes;
      if (at === samples.length - 1) own.last += bytes;
      line.stacks.set(ownKey, own);
    }
  }
  return lines.values();
}

/** Least-squares slope of `y` on `x`; null if an x is missing or all equal. */
export function slopeOver(x: readonly (number | null)[], y: ArrayLike<number>): number | null {
  if (!x.every((value) => value !== null)) return null;
  const { slope, sxx } = fitLine(x, y);
  return sxx > 0 ? slope : null;
}

/** Trend of a line's bytes over the samples; null when it did not end higher than it began. */
export function trendOf(bytes: ArrayLike<number>): LineTrend | null {
  const n = bytes.length;
  const at = (i: number): number => bytes[i] ?? 0;
  const growth = at(n - 1) - at(0);
  if (n < 2 || growth <= 0) return null;
  if (n < MIN_SAMPLES) return "unproven";
  let rising = 0;
  let highest = at(0);
  for (let i = 1; i < n; i++) {
    if (highest - at(i) > ALLOWED_DIP * growth) return "churn";
    if (at(i) > at(i - 1)) rising++;
    highest = Math.max(highest, at(i));
  }
  // Still rising in the second half: a line that only fills up early on is a cache, not a leak.
  const late = at(n - 1) - at(Math.floor((n - 1) / 2));
  return rising >= Math.max(2, RISING_SHARE * (n - 1)) && late > 0 ? "grows" : "once";
}

/** Whether a trend counts as growth. */
function isBelieved(trend: LineTrend): boolean {
  return trend === "grows" || trend === "unproven";
}

/** Combines lines and trends: proven and discarded, shares of the whole, proven first, then by growth. */
export function arrangeLines(all: readonly Omit<GrowthLine, "share">[], totalGrowthBytes: number): LineGrowth {
  const explained = all.reduce((sum, { trend, growthBytes }) => sum + (isBelieved(trend) ? growthBytes : 0), 0);
  const whole = Math.max(totalGrowthBytes, explained);
  const lines = all
    .map((line): GrowthLine => ({ ...line, share: whole > 0 ? Math.min(1, line.growthBytes / whole) : 0 }))
    .sort(
      (a, b) =>
        Number(b.trend === "grows") - Number(a.trend === "grows") ||
        b.growthBytes - a.growthBytes ||
        (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line),
    );
  return {
    lines: lines.filter(({ trend }) => isBelieved(trend)),
    discarded: lines.filter(({ trend }) => !isBelieved(trend)),
    totalGrowthBytes,
    explainedShare: whole > 0 ? Math.min(1, explained / whole) : null,
  };
}

/**
 * Growth of live memory by source line (innermost user frame), from samples of equal phase, first to last. A line grows
 * when it keeps rising over three or more; with two, every line that ended higher is `unproven`. Shares are of the
 * growth of all live bytes, or of the growing lines' sum if that is larger.
 */
export function growthByLine(samples: readonly LiveSample[], isUserFrame: (frame: Frame) => boolean): LineGrowth {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined || samples.length < 2) return arrangeLines([], 0);
  const steps = samples.map(({ step }) => step);
  const seconds = samples.map(({ timeNs }) => (timeNs === null ? null : timeNs / 1e9));
  const found: Omit<GrowthLine, "share">[] = [];
  for (const sums of sumByLine(samples, isUserFrame)) {
    const trend = trendOf(sums.bytes);
    if (trend === null) continue;
    const top = [...sums.stacks.values()].reduce((a, b) => (b.last - b.first > a.last - a.first ? b : a));
    const firstBytes = sums.bytes[0] ?? 0;
    const lastBytes = sums.bytes.at(-1) ?? 0;
    found.push({
      ...sums.frame,
      user: sums.user,
      kind: top.kind,
      trend,
      bytesPerStep: slopeOver(steps, sums.bytes),
      bytesPerSecond: slopeOver(seconds, sums.bytes),
      growthBytes: lastBytes - firstBytes,
      countGrowth: (sums.counts.at(-1) ?? 0) - (sums.counts[0] ?? 0),
      firstBytes,
      lastBytes,
      bytes: [...sums.bytes],
      stack: top.stack,
    });
  }
  return arrangeLines(found, last.totalBytes - first.totalBytes);
}
