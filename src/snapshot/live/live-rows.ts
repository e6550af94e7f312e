import { NO_FRAMES } from "../model/frames.ts";
import { State } from "../model/keys.ts";
import type { TorchSnapshot } from "../model/snapshot.ts";
import { deviceOf, devicesOf } from "./live.ts";
import type { Owners } from "./owners.ts";
import type { BlockRow, LiveRow, OnDevice } from "./tables.ts";

/** Maximum number of frames shown of a stack, innermost first. */
const SHOWN_FRAMES = 40;

const isPending = (state: number): boolean => state === State.pendingFree || state === State.awaitingFree;

/** Bytes of the largest stack, by line. */
class LargestStack {
  readonly #bytes: Float64Array;
  readonly #largest = new Map<number, { stack: number; bytes: number }>();

  constructor(stacks: number) {
    this.#bytes = new Float64Array(stacks);
  }

  add(line: number, stack: number, bytes: number): void {
    const sum = (this.#bytes[stack] as number) + bytes;
    this.#bytes[stack] = sum;
    const known = this.#largest.get(line);
    if (known === undefined || sum > known.bytes) this.#largest.set(line, { stack, bytes: sum });
  }

  of(line: number): number {
    return this.#largest.get(line)?.stack ?? 0;
  }
}

/** Live memory by device and line, most bytes first. */
export function liveByLine(snapshot: TorchSnapshot, owners: Owners): OnDevice<LiveRow>[] {
  const { blocks, stacks } = snapshot;
  const all: OnDevice<LiveRow>[] = [];
  for (const device of devicesOf(snapshot)) {
    const sums = new Map<
      number,
      { bytes: number; requested: number; blocks: number; largest: number; pending: number }
    >();
    const largest = new LargestStack(stacks.count);
    for (let i = 0; i < blocks.count; i++) {
      const state = blocks.state[i] as number;
      if ((state !== State.allocated && !isPending(state)) || deviceOf(snapshot, i) !== device) continue;
      const stack = blocks.stack[i] as number;
      const line = owners.line[stack] as number;
      const size = blocks.size[i] as number;
      const sum = sums.get(line) ?? { bytes: 0, requested: 0, blocks: 0, largest: 0, pending: 0 };
      sums.set(line, sum);
      if (isPending(state)) {
        sum.pending += size;
        continue;
      }
      sum.bytes += size;
      sum.requested += blocks.requested[i] as number;
      sum.blocks++;
      sum.largest = Math.max(sum.largest, size);
      largest.add(line, stack, size);
    }
    for (const [line, sum] of sums) {
      const owner = owners.lines[line];
      if (owner === undefined) continue;
      all.push({
        device,
        ...owner.frame,
        user: owner.user,
        bytes: sum.bytes,
        requested_bytes: Number.isNaN(sum.requested) ? null : sum.requested,
        blocks: sum.blocks,
        largest_block_bytes: sum.largest,
        pending_free_bytes: sum.pending,
        stack: stacks.list(largest.of(line), SHOWN_FRAMES),
      });
    }
  }
  return all.sort((a, b) => b.bytes - a.bytes || b.pending_free_bytes - a.pending_free_bytes);
}

/** The largest allocated blocks, at most `most`. */
export function largestBlocks(snapshot: TorchSnapshot, owners: Owners, most: number): OnDevice<BlockRow>[] {
  const { blocks } = snapshot;
  const live: number[] = [];
  for (let i = 0; i < blocks.count; i++) if (blocks.state[i] === State.allocated) live.push(i);
  live.sort((a, b) => (blocks.size[b] as number) - (blocks.size[a] as number) || a - b);
  return live.slice(0, most).map((block) => {
    const owner = owners.lines[owners.line[blocks.stack[block] as number] as number] ?? owners.lines[0];
    const requested = blocks.requested[block] as number;
    return {
      device: deviceOf(snapshot, block),
      bytes: blocks.size[block] as number,
      requested_bytes: Number.isNaN(requested) ? null : requested,
      ...(owner?.frame ?? NO_FRAMES),
    };
  });
}
