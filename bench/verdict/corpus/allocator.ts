import { MIB } from "../../../src/core/units.ts";

/**
 * A small model of a caching allocator: requests are rounded to 512 bytes; up to 1 MiB they come from segments of 2
 * MiB, up to 10 MiB from segments of 20 MiB, above from a segment of their own in whole 2 MiB; the best fitting free
 * block is split; freed blocks are joined with free neighbours and kept for the next request.
 */
export class CachingAllocator {
  allocated = 0;
  reserved = 0;
  readonly #free = { small: [] as Block[], large: [] as Block[] };

  malloc(bytes: number): Block {
    const size = Math.max(512, Math.ceil(bytes / 512) * 512);
    const pool = size <= MIB ? "small" : "large";
    const free = this.#free[pool];
    let best = -1;
    for (let i = 0; i < free.length; i++) {
      const candidate = free[i]!;
      if (candidate.size >= size && (best < 0 || candidate.size < free[best]!.size)) best = i;
    }
    let block: Block;
    if (best >= 0) {
      block = free[best]!;
      free[best] = free[free.length - 1]!;
      free.pop();
    } else {
      block = { size: segmentSize(size), pool, free: false, previous: null, next: null };
      this.reserved += block.size;
    }
    block.free = false;
    const rest = block.size - size;
    if (rest >= (pool === "small" ? 512 : MIB)) {
      const tail: Block = { size: rest, pool, free: true, previous: block, next: block.next };
      if (block.next) block.next.previous = tail;
      block.next = tail;
      block.size = size;
      free.push(tail);
    }
    this.allocated += block.size;
    return block;
  }

  release(block: Block): void {
    this.allocated -= block.size;
    const free = this.#free[block.pool];
    const take = (other: Block) => {
      const at = free.indexOf(other);
      free[at] = free[free.length - 1]!;
      free.pop();
    };
    let whole = block;
    if (whole.next?.free) {
      const next = whole.next;
      take(next);
      whole.size += next.size;
      whole.next = next.next;
      if (next.next) next.next.previous = whole;
    }
    if (whole.previous?.free) {
      const previous = whole.previous;
      take(previous);
      previous.size += whole.size;
      previous.next = whole.next;
      if (whole.next) whole.next.previous = previous;
      whole = previous;
    }
    whole.free = true;
    free.push(whole);
  }
}

export interface Block {
  size: number;
  readonly pool: "small" | "large";
  free: boolean;
  previous: Block | null;
  next: Block | null;
}

function segmentSize(size: number): number {
  if (size <= MIB) return 2 * MIB;
  return size < 10 * MIB ? 20 * MIB : Math.ceil(size / (2 * MIB)) * 2 * MIB;
}
