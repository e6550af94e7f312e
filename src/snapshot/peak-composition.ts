import type { Frame } from "./frames.ts";
import { devicesOf } from "./live.ts";
import { Action, State, type TorchSnapshot, type TraceTable } from "./model.ts";
import { NO_LINE, type Owners } from "./owners.ts";
import { deviceSeries, freesAllocation } from "./replay.ts";

/** Memory of one line that is live at the peak. Bytes as requested, where the file has them. */
export interface PeakLine {
  readonly frame: Frame;
  readonly user: boolean;
  readonly bytes: number;
  readonly blocks: number;
  /** The stack with the most bytes, innermost first. */
  readonly stack: readonly Frame[];
}

/** What the memory of one device consists of when it is highest. */
export interface PeakComposition {
  readonly device: number;
  /** "peak": the highest moment of the recorded history. "end": the snapshot's own moment, without a usable history. */
  readonly moment: "peak" | "end";
  /** Allocated bytes, rounded as the allocator does. */
  readonly peakBytes: number;
  readonly lines: readonly PeakLine[];
  /** Peak less all lines: rounding, and memory whose allocation the history does not contain. */
  readonly unexplainedBytes: number;
}

const SHOWN_FRAMES = 40;

/** Bytes and blocks by line, with the largest stack of each. */
class LineSums {
  readonly #sums = new Map<number, { bytes: number; blocks: number; stacks: Map<number, number> }>();
  total = 0;

  add(line: number, stack: number, bytes: number): void {
    const sum = this.#sums.get(line) ?? { bytes: 0, blocks: 0, stacks: new Map<number, number>() };
    this.#sums.set(line, sum);
    sum.bytes += bytes;
    sum.blocks += 1;
    sum.stacks.set(stack, (sum.stacks.get(stack) ?? 0) + bytes);
    this.total += bytes;
  }

  lines({ stacks }: TorchSnapshot, owners: Owners): PeakLine[] {
    return [...this.#sums].flatMap(([line, { bytes, blocks, stacks: own }]) => {
      const owner = owners.lines[line];
      const [largest] = [...own].sort(([, a], [, b]) => b - a)[0] ?? [];
      if (owner === undefined || largest === undefined) return [];
      return [{ ...owner, bytes, blocks, stack: stacks.list(largest, SHOWN_FRAMES) }];
    });
  }
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
function sumsAt(snapshot: TorchSnapshot, owners: Owners, trace: TraceTable, peak: number): LineSums {
  const sums = new LineSums();
  const live = new Map<number, { readonly bytes: number; readonly stack: number }>();
  const seen = new Set<number>();
  const frees = freesAllocation(trace);
  for (let i = 0; i < trace.length; i++) {
    const isRelease = frees(i) || trace.action[i] === Action.freeRequested;
    const address = trace.addr[i] ?? 0;
    const bytes = known(trace.size[i] ?? 0);
    if (trace.action[i] === Action.alloc) {
      seen.add(address);
      if (i <= peak) live.set(address, { bytes, stack: trace.stack[i] ?? 0 });
    } else if (isRelease) {
      if (i <= peak) live.delete(address);
      else if (!seen.has(address)) sums.add(NO_LINE, 0, bytes);
      seen.add(address);
    }
  }
  for (const { bytes, stack } of live.values()) sums.add(owners.line[stack] ?? NO_LINE, stack, bytes);
  for (const { address, bytes, stack } of liveBlocks(snapshot, trace.device)) {
    if (!seen.has(address)) sums.add(owners.line[stack] ?? NO_LINE, stack, bytes);
  }
  return sums;
}

function compositionOf(snapshot: TorchSnapshot, owners: Owners, device: number): PeakComposition {
  const trace = snapshot.traces.find((one) => one.device === device && one.length > 0);
  const series = trace === undefined ? null : deviceSeries(snapshot, trace);
  if (trace !== undefined && series !== null && series.impossible === null) {
    const at = highest(series.allocated);
    const peakBytes = series.allocated[at] ?? 0;
    const sums = sumsAt(snapshot, owners, trace, at);
    const unexplainedBytes = peakBytes - sums.total;
    return { device, moment: "peak", peakBytes, lines: sums.lines(snapshot, owners), unexplainedBytes };
  }
  const sums = new LineSums();
  let peakBytes = 0;
  for (const { bytes, rounded, stack } of liveBlocks(snapshot, device)) {
    sums.add(owners.line[stack] ?? NO_LINE, stack, bytes);
    peakBytes += rounded;
  }
  const unexplainedBytes = peakBytes - sums.total;
  return { device, moment: "end", peakBytes, lines: sums.lines(snapshot, owners), unexplainedBytes };
}

/** What each device's memory consists of when it is highest, in the order of the devices. */
export function peakCompositions(snapshot: TorchSnapshot, owners: Owners): readonly PeakComposition[] {
  return devicesOf(snapshot).map((device) => compositionOf(snapshot, owners, device));
}
