import { arrangeLines, type GrowthLine, growthByLine, type LineGrowth, type LineTrend } from "../growth/line-growth.ts";
import { type Frame, lineKey } from "../model/frames.ts";
import { State } from "../model/keys.ts";
import type { TorchSnapshot, TraceTable } from "../model/snapshot.ts";
import { devicesOf, liveSample } from "./live.ts";
import { NO_LINE, type Owners, ownersOf } from "./owners.ts";
import { stepEnds } from "./steps.ts";
import { type LineSurvivors, survivorsByLine, type TraceWindow } from "./survivors.ts";

/** One snapshot of a process, with its step. */
export interface TakenSnapshot {
  readonly snapshot: TorchSnapshot;
  /** Completed steps; null when unknown. */
  readonly step: number | null;
}

/** A line with the share of its memory that stayed. */
export interface SnapshotLine extends GrowthLine {
  /** Minimum share of its bytes that the next snapshot has at the same address and size; null without any. */
  readonly keptShare: number | null;
}

/** Growth on one device of a process. */
export interface DeviceGrowth {
  readonly device: number;
  readonly growth: Omit<LineGrowth, "lines" | "discarded"> & {
    readonly lines: readonly SnapshotLine[];
    readonly discarded: readonly SnapshotLine[];
  };
  /** Whether the last trace reaches back to the first snapshot, so that it shows which lines kept growing. */
  readonly traced: boolean;
}

/** A line with a smaller share of one snapshot's blocks in the next is replaced. */
const KEPT_SHARE = 0.5;
/** A line of which at least this share was allocated within the trace, and which did not rise there, churns. */
const TRACED_SHARE = 0.8;
/** Levels of a line that churns keep rising over this many snapshots once in 120 times, over three once in 6. */
const ENOUGH_FOR_REPLACED = 5;

/** The trace of a device since the first snapshot, and what was live then; null without a trace. */
function windowSince(
  first: TorchSnapshot,
  last: TorchSnapshot,
  device: number,
  lineOf: (frame: Frame) => number,
  owners: Owners,
): { readonly trace: TraceTable; readonly window: TraceWindow } | null {
  const trace = last.traces.find((one) => one.device === device);
  if (trace === undefined || trace.length === 0) return null;
  const earlier = first.traces.find((one) => one.device === device);
  const from = earlier === undefined ? null : placeAfter(earlier, trace);
  if (from === null) return { trace, window: { from: 0, to: trace.length, before: null } };
  const before = new Map<number, { line: number; bytes: number }>();
  const { blocks, segments } = first;
  for (let i = 0; i < blocks.count; i++) {
    if (blocks.state[i] === State.inactive || segments.device[blocks.segment[i] as number] !== device) continue;
    const owner = owners.lines[owners.line[blocks.stack[i] as number] ?? NO_LINE];
    const requested = blocks.requested[i] as number;
    before.set(blocks.address[i] as number, {
      line: owner === undefined ? NO_LINE : lineOf(owner.frame),
      bytes: Number.isNaN(requested) ? (blocks.size[i] as number) : requested,
    });
  }
  return { trace, window: { from, to: trace.length, before } };
}

/** The entry of `later` that follows the last one of `earlier`; null when the ring has lost it or it is ambiguous. */
function placeAfter(earlier: TraceTable, later: TraceTable): number | null {
  const last = earlier.length - 1;
  if (last < 0) return null;
  const time = earlier.time[last] as number;
  const same = (at: number): boolean =>
    later.addr[at] === earlier.addr[last] && later.action[at] === earlier.action[last];
  if (Number.isNaN(time)) return last < later.length && same(last) ? last + 1 : null;
  const next = later.time.findIndex((value) => value > time);
  if (next < 0) return later.length;
  return next > 0 ? next : null;
}

/** Minimum share of each line's memory in a snapshot that the next one contains; see {@link SnapshotLine.keptShare}. */
function keptShares(snapshots: readonly TakenSnapshot[], owners: readonly Owners[]): ReadonlyMap<string, number> {
  const least = new Map<string, number>();
  for (const [i, { snapshot }] of snapshots.entries()) {
    const next = snapshots[i + 1]?.snapshot;
    const own = owners[i];
    const nextOwners = owners[i + 1];
    if (next === undefined || own === undefined || nextOwners === undefined) break;
    const there = new Map<number, { readonly size: number; readonly key: string }>();
    for (const [address, size, key] of heldBlocks(next, nextOwners)) there.set(address, { size, key });
    const sums = new Map<string, { before: number; kept: number }>();
    for (const [address, size, key] of heldBlocks(snapshot, own)) {
      const sum = sums.get(key) ?? { before: 0, kept: 0 };
      sums.set(key, sum);
      sum.before += size;
      const now = there.get(address);
      if (now !== undefined && now.size === size && now.key === key) sum.kept += size;
    }
    for (const [key, { before, kept }] of sums) {
      if (before > 0) least.set(key, Math.min(least.get(key) ?? 1, kept / before));
    }
  }
  return least;
}

/** Sorts lines: growing ones, then those whose memory stayed, then the rest; most growth first. */
export function compareLines(
  a: Pick<SnapshotLine, "trend" | "keptShare" | "growthBytes">,
  b: Pick<SnapshotLine, "trend" | "keptShare" | "growthBytes">,
): number {
  const rank = ({ trend, keptShare }: typeof a): number =>
    trend === "grows" ? 2 : (keptShare ?? 0) >= KEPT_SHARE ? 1 : 0;
  return rank(b) - rank(a) || b.growthBytes - a.growthBytes;
}

function* heldBlocks(
  { blocks }: TorchSnapshot,
  owners: Owners,
): Generator<readonly [number, number, string], void, undefined> {
  const keys = owners.lines.map(({ frame }) => lineKey(frame));
  for (let i = 0; i < blocks.count; i++) {
    if (blocks.state[i] !== State.allocated) continue;
    const key = keys[owners.line[blocks.stack[i] as number] ?? NO_LINE] ?? "";
    yield [blocks.address[i] as number, blocks.size[i] as number, key];
  }
}

/** Trend of a line from the trace, three snapshots or the blocks, in this order of reliability. */
function judge(
  line: GrowthLine,
  snapshots: number,
  trace: { readonly complete: boolean; readonly own: LineSurvivors | undefined },
  kept: number | null,
): LineTrend {
  const { own } = trace;
  if (own !== undefined && trace.complete) return own.trend ?? "churn";
  if (own !== undefined && snapshots < 3) {
    if (own.trend !== null) return own.trend;
    if (own.surviving_bytes >= TRACED_SHARE * line.lastBytes) return "churn";
  }
  const replaced = kept !== null && kept < KEPT_SHARE;
  if (snapshots < 3) return replaced ? "churn" : line.trend;
  return replaced && line.trend === "grows" && snapshots < ENOUGH_FOR_REPLACED ? "unproven" : line.trend;
}

/**
 * Growth by line over the snapshots of one process, oldest first. If the last trace reaches back to the first snapshot,
 * two are enough. Else three of equal phase must keep rising (five where the line's earlier blocks are gone); with two,
 * a line whose earlier blocks are gone is churn, and the others are `unproven`.
 */
export function growthOverSnapshots(
  snapshots: readonly TakenSnapshot[],
  isUserFrame: (frame: Frame) => boolean,
): readonly DeviceGrowth[] {
  const first = snapshots[0]?.snapshot;
  const last = snapshots.at(-1)?.snapshot;
  if (first === undefined || last === undefined || snapshots.length < 2) return [];
  const owners = snapshots.map(({ snapshot }) => ownersOf(snapshot.stacks, isUserFrame));
  const firstOwners = owners[0] as Owners;
  const lastOwners = owners.at(-1) as Owners;
  const numbers = new Map(lastOwners.lines.map(({ frame }, line) => [lineKey(frame), line]));
  const lineOf = (frame: Frame): number => {
    const key = lineKey(frame);
    const known = numbers.get(key);
    if (known !== undefined) return known;
    numbers.set(key, numbers.size);
    return numbers.size - 1;
  };
  const kept = keptShares(snapshots, owners);
  const devices = new Set(snapshots.flatMap(({ snapshot }) => devicesOf(snapshot)));
  return [...devices]
    .sort((a, b) => a - b)
    .map((device) => {
      const samples = snapshots.map(({ snapshot, step }, i) => liveSample(snapshot, owners[i] as Owners, device, step));
      const growth = growthByLine(samples, isUserFrame);
      const since = windowSince(first, last, device, lineOf, firstOwners);
      const survivors =
        since === null
          ? null
          : survivorsByLine(last, lastOwners, since.trace, since.window, stepEnds(last.annotations));
      const complete = survivors?.conclusive === true && since?.window.before !== null;
      const judged = [...growth.lines, ...growth.discarded].map((line) => {
        const own = survivors?.conclusive ? survivors.lines.get(lineOf(line)) : undefined;
        const keptShare = kept.get(lineKey(line)) ?? null;
        const trend = judge(line, snapshots.length, { complete, own }, keptShare);
        const bytesPerStep = line.bytesPerStep ?? own?.bytes_per_step ?? null;
        return { ...line, trend, bytesPerStep };
      });
      const arranged = arrangeLines(judged, growth.totalGrowthBytes);
      const withKept = (lines: readonly GrowthLine[]): SnapshotLine[] =>
        lines.map((line) => ({ ...line, keptShare: kept.get(lineKey(line)) ?? null })).sort(compareLines);
      return {
        device,
        growth: { ...arranged, lines: withKept(arranged.lines), discarded: withKept(arranged.discarded) },
        traced: complete,
      };
    });
}
