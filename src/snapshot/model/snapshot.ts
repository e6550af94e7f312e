import type { Frame } from "./frames.ts";

/** The stacks of a snapshot, by number. Numbers are valid in one snapshot only. */
export interface Stacks {
  /** Number of stacks. The first two have no frames (not recorded, and empty). */
  readonly count: number;
  readonly depth: (stack: number) => number;
  /** Number of the frame at `depth`, 0 = the innermost. */
  readonly at: (stack: number, place: number) => number;
  readonly frameCount: number;
  readonly frameAt: (frame: number) => Frame;
  /** Frames innermost first, at most `most`. */
  readonly list: (stack: number, most?: number) => Frame[];
}

/** Memory the allocator got from the driver; NaN = unknown. Addresses of the upper half of 64 bits are value - 2^64. */
export interface SegmentTable {
  readonly count: number;
  readonly device: Int32Array;
  readonly address: Float64Array;
  readonly totalSize: Float64Array;
  readonly stream: Float64Array;
  /** Number of the memory pool; see {@link TorchSnapshot.poolName}. */
  readonly pool: Uint32Array;
  /** 1 where the segment is for allocations of 1 MiB and more. */
  readonly large: Uint8Array;
  readonly expandable: Uint8Array;
  /** Its blocks are rows [firstBlock[i], firstBlock[i + 1]). */
  readonly firstBlock: Uint32Array;
}

/** Parts of segments, in the order of their addresses. */
export interface BlockTable {
  readonly count: number;
  readonly segment: Uint32Array;
  readonly address: Float64Array;
  readonly size: Float64Array;
  /** Requested bytes, before rounding; NaN where unknown. */
  readonly requested: Float64Array;
  /** {@link State} */
  readonly state: Uint8Array;
  readonly stack: Uint32Array;
}

/** Trace of one device, oldest first: a ring, so the oldest entries may be lost. NaN where unknown. */
export interface TraceTable {
  readonly device: number;
  readonly length: number;
  /** {@link Action} */
  readonly action: Uint8Array;
  /** Address; of an `oom` entry the free bytes of the device. */
  readonly addr: Float64Array;
  /** Bytes asked for (segments: their size). */
  readonly size: Float64Array;
  readonly stream: Float64Array;
  /** Microseconds of the wall clock. */
  readonly time: Float64Array;
  readonly stack: Uint32Array;
  readonly pool: Uint32Array;
}

/** An annotated scope: `record_function`, or a profiler's step. */
export interface TraceAnnotation {
  readonly name: string;
  readonly stage: "START" | "END";
  readonly device: number | null;
  readonly timeUs: number;
}

/** A memory snapshot of PyTorch, of any version since 1.13. */
export interface TorchSnapshot {
  readonly segments: SegmentTable;
  readonly blocks: BlockTable;
  /** One per device that has entries. */
  readonly traces: readonly TraceTable[];
  readonly stacks: Stacks;
  readonly annotations: readonly TraceAnnotation[];
  /** "a:b", the allocator's own is "0:0". */
  readonly poolName: (pool: number) => string;
}
