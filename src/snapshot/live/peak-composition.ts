import { groupBy } from "../../core/group-by.ts";
import { type Frame, lineKey } from "../model/frames.ts";
import { Action, State } from "../model/keys.ts";
import type { TorchSnapshot, TraceTable } from "../model/snapshot.ts";
import { devicesOf } from "./live.ts";
import { NO_LINE, type Owners } from "./owners.ts";
import { deviceSeries, freesAllocation } from "./replay.ts";
import { type Category, categoryByLifetime, phaseOfStack, type Release } from "./tensor-category.ts";
import { TracePhases } from "./trace-phases.ts";

/** Memory of one line that is live at the peak. Bytes as requested, where the file has them. */
export interface PeakLine {
  readonly frame: Frame;
  readonly user: boolean;
  readonly bytes: number;
  readonly blocks: number;
  /** The stack with the most bytes, innermost first. */
  readonly stack: readonly Frame[];
}

/** Memory of one stack and category that is live at the peak. */
export interface PeakPart extends Omit<PeakLine, "stack"> {
  readonly stack: readonly Frame[];
  /** In which it was allocated, by its stack; null where that does not show it. */
  readonly phase: "forward" | "backward" | "optimizer" | null;
  /** By the phases of its allocation and release; null where they do not show it. */
  readonly category: Category | null;
}

/** What the memory of one device consists of when it is highest. */
export interface PeakComposition {
  readonly device: number;
  /** "peak": the highest moment of the recorded history. "end": the snapshot's own moment, without a usable history. */
  readonly moment: "peak" | "end";
  /** Allocated bytes, rounded as the allocator does. */
  readonly peakBytes: number;
  /** They add up to the lines. */
  readonly parts: readonly PeakPart[];
  readonly lines: readonly PeakLine[];
  /** Peak less all lines: rounding, and memory whose allocation the history does not contain. */
  readonly unexplainedBytes: number;
}

/** Bytes and blocks by stack and category. */
class StackSums {
  readonly #snapshot: TorchSnapshot;
  readonly #owners: Owners;
  readonly #sums = new Map<string, { stack: number; category: Category | null; bytes: number; blocks: number }>();
  /** By stack and release. */
  readonly #categories = new Map<string, Category | null>();
  total = 0;

  constructor(snapshot: TorchSnapshot, owners: Owners) {
    this.#snapshot = snapshot;
    this.#owners = owners;
  }

  /** @param released after the peak; null where the history does not contain it */
  add(stack: number, bytes: number, released: Release | null = null): void {
    const category = this.#category(stack, released);
    const key = `${stack} ${category}`;
    const sum = this.#sums.get(key) ?? { stack, category, bytes: 0, blocks: 0 };
    this.#sums.set(key, sum);
    sum.bytes += bytes;
    sum.blocks += 1;
    this.total += bytes;
  }

  #category(stack: number, released: Release | null): Category | null {
    const key = `${stack} ${released?.before} ${released?.after}`;
    const known = this.#categories.get(key);
    if (known !== undefined) return known;
    const category = categoryByLifetime(this.#snapshot.stacks.list(stack), released);
    this.#categories.set(key, category);
    return category;
  }

  parts(): PeakPart[] {
    const { stacks } = this.#snapshot;
    return [...this.#sums.values()].flatMap(({ stack, category, bytes, blocks }) => {
      const owner = this.#owners.lines[this.#owners.line[stack] ?? NO_LINE];
      if (owner === undefined) return [];
      const frames = stacks.list(stack, 40);
      return [{ ...owner, bytes, blocks, stack: frames, phase: phaseOfStack(stacks.list(stack)), category }];
    });
  }
}

/** The parts by line, each with its largest stack. */
function linesOf(parts: readonly PeakPart[]): PeakLine[] {
  return [...groupBy(parts, ({ frame }) => lineKey(frame)).values()].flatMap((own) => {
    const [largest] = [...own].sort((a, b) => b.bytes - a.bytes);
    if (largest === undefined) return [];
    const sum = (of: (part: PeakPart) => number): number => own.reduce((total, part) => total + of(part), 0);
    const { frame, user, stack } = largest;
    return [{ frame, user, stack, bytes: sum(({ bytes }) => bytes), blocks: sum(({ blocks }) => blocks) }];
  });
}

const known = (bytes: number): number => (Number.isNaN(bytes) ? 0 : bytes);

/** Blocks of a device that are allocated when the snapshot is taken. */
function liveBlocks(
  { segments, blocks }: TorchSnapshot,
  device: number,
): readonly { readonly address: number; readonly bytes: number; readonly rounded: number; readonly stack: number }[] {
  const live = [];
  for (let i = 0; i < blocks.count; i++) {
    if (blocks.state[i] !== State.allocated || segments.device[blocks.segment[i] ?? 0] !== device) continue;
    const rounded = blocks.size[i] ?? 0;
    const requested = blocks.requested[i] ?? Number.NaN;
    const bytes = Number.isNaN(requested) ? rounded : requested;
    live.push({ address: blocks.address[i] ?? 0, bytes, rounded, stack: blocks.stack[i] ?? 0 });
  }
  return live;
}

function highest(values: Float64Array): number {
  let at = 0;
  for (let i = 1; i < values.length; i++) if ((values[i] ?? 0) > (values[at] ?? 0)) at = i;
  return at;
}

/**
 * Live memory after entry `peak` of the history. An address whose first entry is a release was allocated earlier: its
 * line is known only where the block is still there at the end.
 */
function sumsAt(snapshot: TorchSnapshot, owners: Owners, trace: TraceTable, peak: number): StackSums {
  const sums = new StackSums(snapshot, owners);
  const phases = new TracePhases(snapshot.stacks, trace);
  const live = new Map<number, { readonly bytes: number; readonly entry: number; released: Release | null }>();
  const seen = new Set<number>();
  const frees = freesAllocation(trace);
  for (let i = 0; i < trace.length; i++) {
    const isRelease = frees(i) || trace.action[i] === Action.freeRequested;
    const address = trace.addr[i] ?? 0;
    const bytes = known(trace.size[i] ?? 0);
    if (trace.action[i] === Action.alloc) {
      seen.add(address);
      if (i <= peak) live.set(address, { bytes, entry: i, released: null });
    } else if (isRelease) {
      const own = live.get(address);
      if (i <= peak) live.delete(address);
      else if (!seen.has(address)) sums.add(0, bytes);
      else if (own?.released === null) own.released = phases.release(i, trace.stack[own.entry] ?? 0);
      seen.add(address);
    }
  }
  for (const { bytes, entry, released } of live.values()) sums.add(phases.stack(entry), bytes, released);
  for (const { address, bytes, stack } of liveBlocks(snapshot, trace.device)) {
    if (!seen.has(address)) sums.add(stack, bytes);
  }
  return sums;
}

function compositionOf(snapshot: TorchSnapshot, owners: Owners, device: number): PeakComposition {
  const trace = snapshot.traces.find((one) => one.device === device && one.length > 0);
  const series = trace === undefined ? null : deviceSeries(snapshot, trace);
  const composed = (moment: PeakComposition["moment"], peakBytes: number, sums: StackSums): PeakComposition => {
    const parts = sums.parts();
    return { device, moment, peakBytes, parts, lines: linesOf(parts), unexplainedBytes: peakBytes - sums.total };
  };
  if (trace !== undefined && series !== null && series.impossible === null) {
    const at = highest(series.allocated);
    return composed("peak", series.allocated[at] ?? 0, sumsAt(snapshot, owners, trace, at));
  }
  const sums = new StackSums(snapshot, owners);
  let peakBytes = 0;
  for (const { bytes, rounded, stack } of liveBlocks(snapshot, device)) {
    sums.add(stack, bytes);
    peakBytes += rounded;
  }
  return composed("end", peakBytes, sums);
}

/** What each device's memory consists of when it is highest, in the order of the devices. */
export function peakCompositions(snapshot: TorchSnapshot, owners: Owners): readonly PeakComposition[] {
  return devicesOf(snapshot).map((device) => compositionOf(snapshot, owners, device));
}
