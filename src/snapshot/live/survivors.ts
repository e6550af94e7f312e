import { firstAfter } from "../../telemetry/recording/common-clock.ts";
import { GrowableColumn } from "../../telemetry/recording/growable.ts";
import { trendOf } from "../growth/line-growth.ts";
import type { Frame } from "../model/frames.ts";
import { Action, State } from "../model/keys.ts";
import type { TorchSnapshot, TraceTable } from "../model/snapshot.ts";
import { NO_LINE, type Owners } from "./owners.ts";
import type { Origin, SurvivorRow } from "./tables.ts";
import { TracePhases } from "./trace-phases.ts";

/** Number of segments of a window whose minimum of live memory is compared; also the number of age classes. */
const PARTS = 5;
/** Fewer segments show no trend; see {@link trendOf}. */
const MIN_PARTS = 3;
/** A segment must be longer by this factor than this quantile of the lifetimes, so that it contains whole lifetimes. */
const LIFETIMES = 1.5;
const LIFETIME_SHARE = 0.75;
/** Fewer entries show no trend. */
const MIN_ENTRIES = 40;
/** Fewer steps, backward passes or returns of the level show none: within one pass every layer adds to its lines. */
const MIN_REPETITIONS = 3;
/** The level returns when it falls by this share of its range. One layer's temporary memory is far less. */
const RETURN_SHARE = 0.5;

/** Entries [from, to) of a trace, and what was live before them if known: a line by address. */
export interface TraceWindow {
  readonly from: number;
  readonly to: number;
  readonly before: ReadonlyMap<number, { readonly line: number; readonly bytes: number }> | null;
}

/** Fate of one line's allocations within a window of a trace. */
export type LineSurvivors = Omit<SurvivorRow, keyof Origin | keyof Frame>;

/** Fate of everything allocated within a window of a trace. */
export interface Survivors {
  readonly lines: ReadonlyMap<number, LineSurvivors>;
  /** Whether the window is long enough for a trend: in repetitions, and beside the lifetime of short-lived memory. */
  readonly conclusive: boolean;
}

/**
 * When each entry of a window happened, microseconds since its first, without halts; null without a clock. A halt is as
 * long as a segment: nothing happens in it, so it would be a segment without evidence. Taking a snapshot is one: 0.1 to
 * 3 s, where 200 steps before and after it took 10 ms each.
 */
function workingTime({ time }: TraceTable, { from, to }: TraceWindow): Float64Array | null {
  const gap = (entry: number): number => (time[entry] as number) - (time[entry - 1] as number);
  let limit = Number.POSITIVE_INFINITY;
  for (;;) {
    let span = 0;
    let longest = 0;
    for (let i = from + 1; i < to; i++) {
      const own = gap(i);
      if (own >= limit) continue;
      span += own;
      longest = Math.max(longest, own);
    }
    if (!(span > 0)) return null;
    if (longest * PARTS <= span) break;
    limit = longest;
  }
  const working = new Float64Array(to - from);
  for (let i = from + 1; i < to; i++) {
    const own = gap(i);
    working[i - from] = (working[i - from - 1] as number) + (own >= limit ? 0 : own);
  }
  return working;
}

/** Ends of segments, by time if there is one (a burst of entries needs no extra segments), else by entries. */
function partEnds({ from, to }: TraceWindow, working: Float64Array | null, parts: number): number[] {
  const ends: number[] = [];
  const span = working === null ? to - from : (working[to - from - 1] as number);
  let at = from;
  for (let part = 1; part < parts; part++) {
    const end = (span * part) / parts;
    if (working === null) at = from + Math.ceil(end);
    else while (at < to && (working[at - from] as number) <= end) at++;
    ends.push(at);
  }
  return [...ends, to];
}

/** Number of segments in a window, each longer than most lifetimes of released memory; at most {@link PARTS}. */
function partsOf(trace: TraceTable, window: TraceWindow, working: Float64Array | null): number {
  const place = (entry: number): number => (working === null ? entry : (working[entry - window.from] as number));
  const open = new Map<number, number>();
  const lifetimes = new GrowableColumn();
  for (let i = window.from; i < window.to; i++) {
    const address = trace.addr[i] as number;
    if (trace.action[i] === Action.alloc) open.set(address, i);
    else if (trace.action[i] === Action.freeCompleted) {
      const born = open.get(address);
      if (born === undefined) continue;
      lifetimes.push(place(i) - place(born));
      open.delete(address);
    }
  }
  if (lifetimes.length === 0) return PARTS;
  const sorted = lifetimes.take().sort();
  const most = sorted[Math.min(sorted.length - 1, Math.floor(LIFETIME_SHARE * sorted.length))] as number;
  const span = place(window.to - 1) - place(window.from);
  return most > 0 ? Math.min(PARTS, Math.floor(span / (LIFETIMES * most))) : PARTS;
}

/** How often the level of all memory rises and falls again by {@link RETURN_SHARE} of its range. */
function returnsOf(trace: TraceTable, { from, to }: TraceWindow): number {
  const levels = new Float64Array(to - from);
  let level = 0;
  for (let i = from; i < to; i++) {
    const size = (trace.size[i] as number) || 0;
    if (trace.action[i] === Action.alloc) level += size;
    else if (trace.action[i] === Action.freeCompleted) level -= size;
    levels[i - from] = level;
  }
  let [lowest, highest] = [0, 0];
  for (const one of levels) [lowest, highest] = [Math.min(lowest, one), Math.max(highest, one)];
  const fall = RETURN_SHARE * (highest - lowest);
  let [returns, peak, trough] = [0, 0, 0];
  let rises = true;
  for (const one of levels) {
    peak = Math.max(peak, one);
    trough = Math.min(trough, one);
    if (rises && fall > 0 && peak - one >= fall) [returns, rises, trough] = [returns + 1, false, one];
    else if (!rises && one - trough >= fall) [rises, peak] = [true, one];
  }
  return returns;
}

/** Steps, backward passes or returns of the level within a window, whichever are most. */
function repetitionsOf(snapshot: TorchSnapshot, trace: TraceTable, window: TraceWindow, steps: Float64Array): number {
  const [startUs, endUs] = [trace.time[window.from] as number, trace.time[window.to - 1] as number];
  const ended = Number.isNaN(endUs - startUs) ? 0 : firstAfter(steps, endUs) - firstAfter(steps, startUs);
  const passes = new TracePhases(snapshot.stacks, trace).backwardPasses(window.from, window.to);
  return Math.max(ended, passes, returnsOf(trace, window));
}

/** Entry with the least live memory in each segment: between two steps, when activations are freed. */
function floorEntries(trace: TraceTable, window: TraceWindow, ends: readonly number[]): number[] {
  const floors: number[] = [];
  let level = 0;
  let at = window.from;
  for (const end of ends) {
    let lowest = Number.POSITIVE_INFINITY;
    let place = Math.max(window.from, end - 1);
    for (; at < end; at++) {
      const size = trace.size[at] as number;
      const action = trace.action[at];
      if (action === Action.alloc) level += size || 0;
      else if (action === Action.freeCompleted) level -= size || 0;
      // The last of equal minima, so that memory that stays is counted from the segment in which it was allocated.
      if (level <= lowest) {
        lowest = level;
        place = at;
      }
    }
    floors.push(place);
  }
  return floors;
}

interface LineTally {
  allocations: number;
  allocatedBytes: number;
  live: number;
  readonly floors: number[];
  readonly survivors: { readonly entry: number; readonly bytes: number }[];
}

function addressesAlive({ blocks, segments }: TorchSnapshot, device: number): ReadonlySet<number> {
  const alive = new Set<number>();
  for (let i = 0; i < blocks.count; i++) {
    if (blocks.state[i] === State.inactive || segments.device[blocks.segment[i] as number] !== device) continue;
    alive.add(blocks.address[i] as number);
  }
  return alive;
}

/**
 * Pairs allocations with the releases of their addresses within a window, and computes by line what is left and when it
 * was allocated. A line that churns has only recent survivors, one that leaks has them in every segment.
 */
export function survivorsByLine(
  snapshot: TorchSnapshot,
  owners: Owners,
  trace: TraceTable,
  window: TraceWindow,
  steps: Float64Array,
): Survivors {
  const tallies = new Map<number, LineTally>();
  const tally = (line: number): LineTally => {
    let own = tallies.get(line);
    if (own === undefined) {
      own = { allocations: 0, allocatedBytes: 0, live: 0, floors: [], survivors: [] };
      tallies.set(line, own);
    }
    return own;
  };
  const live = new Map<number, { readonly entry: number; readonly line: number; readonly bytes: number }>();
  for (const [address, { line, bytes }] of window.before ?? []) {
    live.set(address, { entry: -1, line, bytes });
    tally(line).live += bytes;
  }
  const working = workingTime(trace, window);
  const parts = partsOf(trace, window, working);
  const conclusive =
    parts >= MIN_PARTS &&
    window.to - window.from >= MIN_ENTRIES &&
    repetitionsOf(snapshot, trace, window, steps) >= MIN_REPETITIONS;
  const floors = floorEntries(trace, window, partEnds(window, working, Math.max(1, parts)));
  let next = 0;
  for (let i = window.from; i < window.to; i++) {
    const address = trace.addr[i] as number;
    if (trace.action[i] === Action.alloc) {
      const line = owners.line[trace.stack[i] as number] ?? NO_LINE;
      const bytes = (trace.size[i] as number) || 0;
      const own = tally(line);
      const lost = live.get(address);
      // The release is missing: recording was paused.
      if (lost !== undefined) tally(lost.line).live -= lost.bytes;
      live.set(address, { entry: i, line, bytes });
      own.allocations++;
      own.allocatedBytes += bytes;
      own.live += bytes;
    } else if (trace.action[i] === Action.freeCompleted) {
      const own = live.get(address);
      if (own !== undefined) {
        tally(own.line).live -= own.bytes;
        live.delete(address);
      }
    }
    while (i === floors[next]) {
      for (const own of tallies.values()) {
        while (own.floors.length < next) own.floors.push(0);
        own.floors.push(own.live);
      }
      next++;
    }
  }
  const alive = addressesAlive(snapshot, trace.device);
  for (const [address, { entry, line, bytes }] of live) {
    if (entry >= 0 && alive.has(address)) tally(line).survivors.push({ entry, bytes });
  }
  const ends = partEnds(window, working, PARTS);
  const endUs = trace.time[window.to - 1] as number;
  const startUs = trace.time[window.from] as number;
  const result = new Map<number, LineSurvivors>();
  for (const [line, own] of tallies) {
    result.set(line, describe(own, { trace, ends, startUs, endUs, steps, parts: floors.length, conclusive }));
  }
  return { lines: result, conclusive };
}

interface WindowFacts {
  readonly trace: TraceTable;
  readonly ends: readonly number[];
  readonly startUs: number;
  readonly endUs: number;
  readonly steps: Float64Array;
  /** Segments of the minima. */
  readonly parts: number;
  readonly conclusive: boolean;
}

function perStep(survivors: LineTally["survivors"], { trace, steps, startUs, endUs }: WindowFacts): number | null {
  const first = firstAfter(steps, startUs);
  const last = firstAfter(steps, endUs);
  const lastEnd = steps[last - 1];
  if (last <= first || lastEnd === undefined) return null;
  let bytes = 0;
  // The current step has not released its memory yet.
  for (const survivor of survivors) if ((trace.time[survivor.entry] as number) <= lastEnd) bytes += survivor.bytes;
  return bytes / (last - first);
}

function describe(own: LineTally, facts: WindowFacts): LineSurvivors {
  const { trace, ends, endUs, steps } = facts;
  while (own.floors.length < facts.parts) own.floors.push(own.live);
  const bytesByPart = new Array<number>(PARTS).fill(0);
  let survivingBytes = 0;
  const survivors = own.survivors.sort((a, b) => a.entry - b.entry);
  for (const { entry, bytes } of survivors) {
    const part = ends.findIndex((end) => entry < end);
    bytesByPart[part] = (bytesByPart[part] ?? 0) + bytes;
    survivingBytes += bytes;
  }
  const age = (survivor: { readonly entry: number } | undefined): number | null => {
    const time = survivor === undefined ? Number.NaN : (trace.time[survivor.entry] as number);
    return Number.isNaN(endUs - time) ? null : (endUs - time) / 1e6;
  };
  const oldest = survivors[0];
  const oldestTime = oldest === undefined ? Number.NaN : (trace.time[oldest.entry] as number);
  const spread = bytesByPart.filter((bytes) => bytes > 0).length;
  const moved = facts.conclusive ? trendOf(own.floors) : null;
  // Churn may hide retained memory of the same line, so survivors of nearly every segment count as well.
  const keepsAdding = facts.conclusive && spread >= PARTS - 1 && (own.floors.at(-1) ?? 0) > (own.floors[0] ?? 0);
  return {
    allocations: own.allocations,
    allocated_bytes: own.allocatedBytes,
    survivors: survivors.length,
    surviving_bytes: survivingBytes,
    surviving_bytes_by_age: bytesByPart,
    oldest_s: age(oldest),
    median_s: age(survivors[survivors.length >> 1]),
    oldest_steps:
      steps.length > 0 && !Number.isNaN(oldestTime) ? firstAfter(steps, endUs) - firstAfter(steps, oldestTime) : null,
    bytes_per_step: perStep(survivors, facts),
    trend: keepsAdding ? "grows" : moved,
  };
}
