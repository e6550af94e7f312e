const MIB = 2 ** 20;

/** Smallest piece handed out (PyTorch's `kMinBlockSize`). */
const GRAIN = 512;
/** Requests up to this come from small segments (`kSmallSize`). */
const SMALL = MIB;
/** Size of a small segment (`kSmallBuffer`), and what large ones are rounded to (`kRoundLarge`). */
const SMALL_SEGMENT = 2 * MIB;
/** Requests below this share a segment of {@link MIDDLE_SEGMENT} (`kMinLargeAlloc`, `kLargeBuffer`). */
const MIDDLE = 10 * MIB;
const MIDDLE_SEGMENT = 20 * MIB;

/** A piece of a segment. */
export interface Block {
  size: number;
  free: boolean;
  readonly small: boolean;
  before: Block | null;
  after: Block | null;
}

const roundUp = (bytes: number, quantum: number): number => Math.ceil(bytes / quantum) * quantum;

/**
 * A caching allocator as deep-learning frameworks have one: pieces of 512 B, segments of 2 MiB, 20 MiB and multiples of
 * 2 MiB, best fit, neighbours merged when freed, segments kept until asked to give them back. Written from the
 * description of PyTorch's `CUDACachingAllocator`; streams and expandable segments are left out.
 */
export class CachingAllocator {
  allocated = 0;
  reserved = 0;
  /** Free pieces, unordered: there are tens of them at most. */
  readonly #free: Block[] = [];

  alloc(bytes: number): Block {
    const size = Math.max(GRAIN, roundUp(bytes, GRAIN));
    const small = size <= SMALL;
    const block = this.#take(size, small) ?? this.#segment(size, small);
    this.#split(block, size);
    this.allocated += block.size;
    return block;
  }

  release(block: Block): void {
    this.allocated -= block.size;
    block.free = true;
    this.#swallow(block, block.after);
    const { before } = block;
    if (before?.free) this.#swallow(before, block);
    else this.#free.push(block);
  }

  /** `empty_cache()`: whole free segments go back to the driver. */
  emptyCache(): void {
    for (let i = this.#free.length - 1; i >= 0; i--) {
      const block = this.#free[i];
      if (block === undefined || block.before !== null || block.after !== null) continue;
      this.reserved -= block.size;
      this.#remove(block);
    }
  }

  #take(size: number, small: boolean): Block | null {
    let best: Block | null = null;
    for (const block of this.#free) {
      if (block.small === small && block.size >= size && (best === null || block.size < best.size)) best = block;
    }
    if (best !== null) this.#remove(best);
    return best;
  }

  #segment(size: number, small: boolean): Block {
    const whole = small ? SMALL_SEGMENT : size < MIDDLE ? MIDDLE_SEGMENT : roundUp(size, SMALL_SEGMENT);
    this.reserved += whole;
    return { size: whole, free: false, small, before: null, after: null };
  }

  /** Leaves the rest behind as a free piece: from 512 B on in small segments, above 1 MiB in large ones. */
  #split(block: Block, size: number): void {
    block.free = false;
    const rest = block.size - size;
    if (rest < GRAIN || (!block.small && rest <= SMALL)) return;
    const tail: Block = { size: rest, free: true, small: block.small, before: block, after: block.after };
    if (block.after !== null) block.after.before = tail;
    block.after = tail;
    block.size = size;
    this.#free.push(tail);
  }

  /** Joins a free right neighbour into `left`. */
  #swallow(left: Block, right: Block | null): void {
    if (right === null || !right.free) return;
    this.#remove(right);
    left.size += right.size;
    left.after = right.after;
    if (right.after !== null) right.after.before = left;
  }

  #remove(block: Block): void {
    const at = this.#free.indexOf(block);
    const last = this.#free.pop();
    if (at >= 0 && at < this.#free.length && last !== undefined) this.#free[at] = last;
    else if (at < 0 && last !== undefined) this.#free.push(last);
  }
}
