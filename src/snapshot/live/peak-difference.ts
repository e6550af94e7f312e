import { groupBy } from "../../core/group-by.ts";
import { type Frame, relativePath, userFrames } from "../model/frames.ts";
import { deviceName, type NamedSnapshot, rootOf } from "./document.ts";
import { poolUse } from "./fragmentation.ts";
import { type LinePair, linePairs } from "./line-pairs.ts";
import { ownersOf } from "./owners.ts";
import { type PeakComposition, type PeakLine, type PeakPart, peakCompositions } from "./peak-composition.ts";

/** One line at both peaks; a side without it has 0 bytes and no location. */
export interface LineDifference extends Frame {
  readonly user: boolean;
  /** Its number before, where it moved. */
  readonly line_before: number | null;
  readonly before_bytes: number;
  readonly after_bytes: number;
  readonly difference_bytes: number;
  readonly before_blocks: number;
  readonly after_blocks: number;
  /** The stack with the most bytes, innermost first. */
  readonly stack: readonly Frame[];
}

/** Reserved memory of a pool when the snapshots were taken; null where a snapshot does not have the pool. */
interface PoolDifference {
  readonly pool: string;
  readonly before_reserved_bytes: number | null;
  readonly after_reserved_bytes: number | null;
  /** Reserved, free, and in segments that hold something: what cannot be released. */
  readonly before_held_free_bytes: number | null;
  readonly after_held_free_bytes: number | null;
}

/** Memory of one category or phase at both peaks; null = the stacks do not show which. */
export interface KindDifference {
  readonly name: string | null;
  readonly before_bytes: number;
  readonly after_bytes: number;
  readonly difference_bytes: number;
}

export interface DeviceDifference {
  readonly device: string;
  readonly before_bytes: number;
  readonly after_bytes: number;
  readonly difference_bytes: number;
  /** "end" where a snapshot has no usable history. */
  readonly before_moment: PeakComposition["moment"];
  readonly after_moment: PeakComposition["moment"];
  /** Largest difference first. */
  readonly lines: readonly LineDifference[];
  /** By category and by phase of a training step, the same memory as the lines; largest difference first. */
  readonly categories: readonly KindDifference[];
  readonly phases: readonly KindDifference[];
  /** The part of the difference that no line has: rounding, and memory from before the history. */
  readonly unexplained_bytes: number;
  readonly pools: readonly PoolDifference[];
}

/** `stormlog.snapshot-difference/1`: the peaks of two snapshots, by line. Bytes. */
export interface SnapshotDifference {
  readonly schema: "stormlog.snapshot-difference/1";
  readonly before: string;
  readonly after: string;
  readonly devices: readonly DeviceDifference[];
  readonly notes: readonly string[];
}

interface Side {
  readonly compositions: readonly PeakComposition[];
  readonly place: (frame: Frame) => Frame;
  readonly pools: ReturnType<typeof poolUse>;
}

function sideOf(one: NamedSnapshot, root: string | null): Side {
  const shared = rootOf([one], root);
  const owners = ownersOf(one.snapshot.stacks, userFrames({ root, exclude: [] }));
  return {
    compositions: peakCompositions(one.snapshot, owners),
    place: ({ file, line, function: name }) => ({ file: relativePath(file, shared), line, function: name }),
    pools: poolUse(one.snapshot),
  };
}

type PlacedLine = PeakLine & { readonly at: Frame };

function lineDifference({ before, after }: LinePair<PlacedLine>, sides: Sides): LineDifference {
  const shown = after ?? before;
  if (shown === null) throw new Error("a pair has a line");
  const { place } = after === null ? sides.before : sides.after;
  const moved = before !== null && after !== null && before.at.line !== after.at.line;
  return {
    ...shown.at,
    user: shown.user,
    line_before: moved ? before.at.line : null,
    before_bytes: before?.bytes ?? 0,
    after_bytes: after?.bytes ?? 0,
    difference_bytes: (after?.bytes ?? 0) - (before?.bytes ?? 0),
    before_blocks: before?.blocks ?? 0,
    after_blocks: after?.blocks ?? 0,
    stack: shown.stack.map(place),
  };
}

interface Sides {
  readonly before: Side;
  readonly after: Side;
}

function poolDifferences({ before, after }: Sides, device: number): readonly PoolDifference[] {
  const of = ({ pools }: Side) => new Map(pools.filter((one) => one.device === device).map((one) => [one.pool, one]));
  const [a, b] = [of(before), of(after)];
  const held = (use: ReturnType<typeof poolUse>[number] | undefined): number | null =>
    use === undefined ? null : use.inactive_bytes - use.releasable_bytes;
  return [...new Set([...a.keys(), ...b.keys()])].sort().map((pool) => ({
    pool,
    before_reserved_bytes: a.get(pool)?.reserved_bytes ?? null,
    after_reserved_bytes: b.get(pool)?.reserved_bytes ?? null,
    before_held_free_bytes: held(a.get(pool)),
    after_held_free_bytes: held(b.get(pool)),
  }));
}

function kindDifferences(
  before: readonly PeakPart[],
  after: readonly PeakPart[],
  kindOf: (part: PeakPart) => string | null,
): readonly KindDifference[] {
  const [a, b] = [groupBy(before, kindOf), groupBy(after, kindOf)];
  const sum = (parts: readonly PeakPart[] = []): number => parts.reduce((total, { bytes }) => total + bytes, 0);
  return [...new Set([...a.keys(), ...b.keys()])]
    .map((name) => {
      const [from, to] = [sum(a.get(name)), sum(b.get(name))];
      return { name, before_bytes: from, after_bytes: to, difference_bytes: to - from };
    })
    .sort((x, y) => Math.abs(y.difference_bytes) - Math.abs(x.difference_bytes) || y.after_bytes - x.after_bytes);
}

const EMPTY = { moment: "end", peakBytes: 0, parts: [], lines: [], unexplainedBytes: 0 } as const;

function deviceDifference(sides: Sides, device: number): DeviceDifference {
  const of = ({ compositions }: Side) => compositions.find((one) => one.device === device) ?? { device, ...EMPTY };
  const [a, b] = [of(sides.before), of(sides.after)];
  const located = (lines: readonly PeakLine[], { place }: Side) =>
    lines.map((line): PlacedLine => ({ ...line, at: place(line.frame) }));
  const lines = linePairs(located(a.lines, sides.before), located(b.lines, sides.after)).map((pair) =>
    lineDifference(pair, sides),
  );
  const size = ({ difference_bytes: bytes }: LineDifference) => Math.abs(bytes);
  return {
    device: deviceName(device),
    before_bytes: a.peakBytes,
    after_bytes: b.peakBytes,
    difference_bytes: b.peakBytes - a.peakBytes,
    before_moment: a.moment,
    after_moment: b.moment,
    lines: lines.sort((x, y) => size(y) - size(x) || y.after_bytes - x.after_bytes || (x.file < y.file ? -1 : 1)),
    categories: kindDifferences(a.parts, b.parts, ({ category }) => category),
    phases: kindDifferences(a.parts, b.parts, ({ phase }) => phase),
    unexplained_bytes: b.unexplainedBytes - a.unexplainedBytes,
    pools: poolDifferences(sides, device),
  };
}

/**
 * The difference of the peaks of two snapshots by line, per device.
 * @param root directory that source files are named from; a snapshot without files in it has its own
 */
export function snapshotDifference(
  before: NamedSnapshot,
  after: NamedSnapshot,
  { root }: { readonly root: string | null },
): SnapshotDifference {
  const sides: Sides = { before: sideOf(before, root), after: sideOf(after, root) };
  const numbers = [sides.before, sides.after].flatMap(({ compositions }) => compositions.map(({ device }) => device));
  const devices = [...new Set(numbers)].sort((a, b) => a - b).map((device) => deviceDifference(sides, device));
  const atEnd = devices.some(({ before_moment, after_moment }) => before_moment === "end" || after_moment === "end");
  return {
    schema: "stormlog.snapshot-difference/1",
    before: before.file,
    after: after.file,
    devices,
    notes: atEnd
      ? ["a snapshot without a usable history is compared as it was when it was taken, which may be below its peak"]
      : [],
  };
}
