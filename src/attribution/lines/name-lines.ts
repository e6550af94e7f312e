import type { AttributedLine } from "../../snapshot/growth/attributed-line.ts";
import type { Attribution } from "../../snapshot/growth/attribution.ts";
import type { LiveSample } from "../../snapshot/growth/line-growth.ts";
import { mean, standardDeviation } from "../../stats/moments.ts";
import { studentQuantile } from "../../stats/student-t.ts";
import type { JudgedGrowth } from "../run/judged-growth.ts";

/** Smallest share of the verdict's growth of a line that is named as its cause, and of one that is mentioned. */
export const MIN_LEAK_SHARE = 0.2;
const MIN_CONTRIBUTION = 0.05;
/** Fewer moments show no trend. */
const MIN_MOMENTS = 4;
/**
 * A line keeps rising where the mean of its rises is above 0 by a one-sided t test at this level. One jump, a pool that
 * fills by a few large buffers, and crumbs beside a jump do not; 86, 135, 167 and 200 MB do.
 */
const STEADY_LEVEL = 0.98;
/** A rise counts from this share of the mean rise on. */
const RISE_SHARE = 0.25;
/** A line whose jump falls again by more than this share does not hold it. */
const MAX_RELEASED = 0.2;
/** Fewer new blocks, or a smaller share of all new ones, do not keep a heap from shrinking. */
const MIN_STAYING = 16;
const STAYING_SHARE = 0.5;
/**
 * A run that is slower than this does not run evenly slower: what it shows by the clock is an estimate. A line must be
 * worth mentioning at this slowdown already, and what is left is not called native.
 */
export const MAX_SLOWDOWN = 4;

/** A line with the part of the verdict's growth that it explains. */
export interface NamedLine {
  readonly kind: "leak" | "contributing" | "one-time";
  readonly line: AttributedLine;
  readonly growth: JudgedGrowth;
  /** Of the verdict's growth, 0 to 1. */
  readonly share: number;
  /** Number of further lines of the same package that the share is of, too; absent for none. */
  readonly others?: number;
}

/** What the lines of one device leave unexplained. */
export interface Unexplained {
  readonly growth: JudgedGrowth;
  readonly share: number;
  /**
   * `freed`: most of it was freed by the program and is kept by the C heap. `native`: most of it is outside of what the
   * interpreters and allocators allocate that were recorded. `files`: most of it is in files in RAM.
   */
  readonly memory: "freed" | "native" | "files" | "unknown";
  /** Of freed memory, the line of most of the blocks that stay allocated between; null for none, and else. */
  readonly staying: AttributedLine | null;
}

export interface LineNames {
  readonly named: readonly NamedLine[];
  readonly unexplained: readonly Unexplained[];
}

/** Steps and seconds between the first and the last moment; null where unknown. */
export interface Covered {
  readonly steps: number | null;
  readonly seconds: number | null;
  /** How much slower than the judged run the attribution run went; 1 or more. */
  readonly slowdown: number;
}

/** What the moments of the process that was recorded longest cover. */
export function coveredBy(
  processes: readonly (readonly Pick<LiveSample, "step" | "timeNs">[])[],
  slowdown: number,
): Covered {
  const longest = (of: (moment: Pick<LiveSample, "step" | "timeNs">) => number | null): number | null => {
    const spans = processes.flatMap((moments) => {
      const known = moments.map(of).filter((value) => value !== null);
      return known.length < 2 ? [] : [Math.max(...known) - Math.min(...known)];
    });
    return spans.length === 0 ? null : Math.max(...spans);
  };
  const nanoseconds = longest(({ timeNs }) => timeNs);
  return {
    steps: longest(({ step }) => step),
    seconds: nanoseconds === null ? null : nanoseconds / 1e9,
    slowdown,
  };
}

/** Whether the line rises from moment to moment, not by a few jumps. */
function isSteady(bytes: readonly number[]): boolean {
  const rises = bytes.slice(1).map((value, at) => value - (bytes[at] ?? 0));
  const quantile = studentQuantile(STEADY_LEVEL, rises.length - 1);
  return bytes.length >= MIN_MOMENTS && mean(rises) > (quantile * standardDeviation(rises)) / Math.sqrt(rises.length);
}

/** Whether the line rose in one of the last two intervals: what has stopped growing is not a leak. */
function stillRises(bytes: readonly number[]): boolean {
  const least = (RISE_SHARE * ((bytes.at(-1) ?? 0) - (bytes[0] ?? 0))) / Math.max(1, bytes.length - 1);
  return (bytes.at(-1) ?? 0) - (bytes.at(-3) ?? bytes[0] ?? 0) >= least;
}

/** The largest rise between two moments that is still held at the end; 0 without one. */
function heldJump(bytes: readonly number[]): number {
  const rise = (at: number): number => (bytes[at] ?? 0) - (bytes[at - 1] ?? 0);
  let top = 1;
  for (let at = 2; at < bytes.length; at++) if (rise(at) > rise(top)) top = at;
  const kept = Math.min(...bytes.slice(top)) - (bytes[top - 1] ?? 0);
  return kept >= (1 - MAX_RELEASED) * rise(top) ? Math.max(0, kept) : 0;
}

/** What the line would have grown over the whole stretch of the judged run. */
function overStretch({ bytesPerStep, bytesPerSecond, growthBytes }: AttributedLine, to: JudgedGrowth, of: Covered) {
  const { stretch } = to;
  if (stretch.kind === "jump") return growthBytes;
  const length = stretch.end - stretch.onset;
  if (stretch.unit === "steps" && bytesPerStep !== null) return bytesPerStep * length;
  if (stretch.unit === "seconds" && bytesPerSecond !== null) return bytesPerSecond * of.slowdown * length;
  return growthBytes;
}

function covering({ stretch }: JudgedGrowth, { steps, seconds, slowdown }: Covered): number {
  if (stretch.kind === "jump") return 1;
  const length = stretch.end - stretch.onset;
  if (stretch.unit === "steps") return steps === null || steps <= 0 ? 1 : length / steps;
  return seconds === null || seconds <= 0 ? 1 : (length * slowdown) / seconds;
}

/** Whether the line keeps rising, whatever it explains. */
const keepsRising = ({ trend, bytes }: AttributedLine): boolean =>
  trend === "grows" && stillRises(bytes) && isSteady(bytes);

const isOn = (device: string, growth: JudgedGrowth): boolean => device === growth.device;

/** Shares that are estimates, as parts of the whole. */
function atMostWhole(lines: readonly NamedLine[]): NamedLine[] {
  const sum = lines.reduce((total, { share }) => total + share, 0);
  return lines.map((one) => ({ ...one, share: one.share / Math.max(1, sum) }));
}

function linesOf(attribution: Attribution, growth: JudgedGrowth, covered: Covered): NamedLine[] {
  const share = (bytes: number): number => (growth.bytes > 0 ? Math.max(0, Math.min(1, bytes / growth.bytes)) : 0);
  if (growth.stretch.kind === "jump") {
    return [...attribution.lines, ...attribution.jumps]
      .filter(({ device }) => isOn(device, growth))
      .map((line) => ({ kind: "one-time" as const, line, growth, share: share(heldJump(line.bytes)) }))
      .filter(({ share: own }) => own >= MIN_LEAK_SHARE)
      .sort((a, b) => b.share - a.share)
      .slice(0, 1);
  }
  const cautious = { ...covered, slowdown: Math.min(MAX_SLOWDOWN, covered.slowdown) };
  const growing = attribution.lines
    .filter((line) => isOn(line.device, growth) && keepsRising(line))
    .filter((line) => share(overStretch(line, growth, cautious)) >= MIN_CONTRIBUTION)
    .map((line): NamedLine => ({ kind: "leak", line, growth, share: share(overStretch(line, growth, covered)) }));
  return (covered.slowdown > MAX_SLOWDOWN ? atMostWhole(growing) : growing)
    .map((one): NamedLine => ({ ...one, kind: one.share >= MIN_LEAK_SHARE ? "leak" : "contributing" }))
    .sort((a, b) => b.share - a.share)
    .slice(0, 5);
}

/** The line that allocates most of the blocks which stay while the program frees what is between them. */
function stayingLine({ lines }: Attribution, growth: JudgedGrowth): AttributedLine | null {
  const growing = lines
    .filter((line) => isOn(line.device, growth) && keepsRising(line))
    .sort((a, b) => b.countGrowth - a.countGrowth);
  const all = growing.reduce((sum, { countGrowth }) => sum + Math.max(0, countGrowth), 0);
  const [most] = growing;
  return most !== undefined && most.countGrowth >= Math.max(MIN_STAYING, STAYING_SHARE * all) ? most : null;
}

/**
 * Names the lines that explain the growth which the verdict judged. What grows on a device where nothing was judged to
 * grow is not named.
 */
export function nameLines(attribution: Attribution, growths: readonly JudgedGrowth[], covered: Covered): LineNames {
  const named = growths.flatMap((growth) => linesOf(attribution, growth, covered));
  const unexplained = growths.map((growth): Unexplained => {
    const own = named.filter((one) => one.growth === growth);
    const share = Math.max(0, 1 - own.reduce((sum, one) => sum + one.share, 0));
    const seen = attribution.devices.find(({ device }) => isOn(device, growth))?.growthBytes ?? 0;
    const unseen = growth.bytes > 0 ? 1 - (seen * covering(growth, covered)) / growth.bytes : 0;
    // Without two moments nothing shows what the interpreters allocated.
    const compared = attribution.sources.length > 0 && (covered.seconds ?? covered.steps ?? 0) > 0;
    const evenly = covered.slowdown <= MAX_SLOWDOWN;
    // What an interpreter's own heap gains is not outside of it.
    const isOwn = growth.metric === "js_heap" || growth.metric === "python";
    const native = compared && evenly && !isOwn && growth.device === "host" && unseen >= share / 2;
    const freed = (growth.freed ?? 0) > (share * growth.bytes) / 2;
    const memory = freed ? "freed" : native ? "native" : "unknown";
    return { growth, share, memory, staying: freed ? stayingLine(attribution, growth) : null };
  });
  return { named, unexplained };
}
