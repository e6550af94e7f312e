import type { LineTrend } from "../growth/line-growth.ts";
import type { Frame } from "../model/frames.ts";

/** File, rank and device of a row. */
export interface Origin {
  readonly snapshot: string;
  readonly rank: number | null;
  readonly device: string;
}

export interface FileRow {
  readonly snapshot: string;
  readonly rank: number | null;
  readonly step: number | null;
  readonly devices: readonly string[];
  readonly reserved_bytes: number;
  readonly allocated_bytes: number;
  readonly segments: number;
  readonly blocks: number;
  readonly trace_entries: number;
  /** Allocated blocks, and those of them with a recorded stack. */
  readonly allocated_blocks: number;
  readonly recorded_blocks: number;
  /** Free bytes of the device at each out-of-memory error in the trace, with the requested bytes. */
  readonly out_of_memory: readonly { readonly requested_bytes: number | null; readonly free_bytes: number | null }[];
}

/** Memory of one line, at the innermost line of user code; `line` is 0 and `function` "" when not recorded. */
export interface LiveRow extends Origin, Frame {
  /** Whether the line is user code; false where the stack has no such frame. */
  readonly user: boolean;
  /** Rounded sizes of the blocks that are allocated. */
  readonly bytes: number;
  /** Null where a block in the file lacks them. */
  readonly requested_bytes: number | null;
  readonly blocks: number;
  readonly largest_block_bytes: number;
  /** Freed, but possibly still in use by another stream; not in {@link bytes}. */
  readonly pending_free_bytes: number;
  /** The stack with the most bytes, innermost first. */
  readonly stack: readonly Frame[];
}

export interface BlockRow extends Origin, Frame {
  readonly bytes: number;
  readonly requested_bytes: number | null;
}

export interface GrowthRow extends Frame {
  readonly rank: number | null;
  readonly device: string;
  readonly user: boolean;
  readonly trend: LineTrend;
  readonly growth_bytes: number;
  readonly bytes_per_step: number | null;
  readonly bytes_per_s: number | null;
  /** Share of the total growth, 0 to 1. */
  readonly share: number;
  readonly blocks_growth: number;
  /** Minimum share of its bytes that the next snapshot contains; null where it never had any. */
  readonly kept_share: number | null;
  /** In each snapshot. */
  readonly bytes: readonly number[];
  readonly stack: readonly Frame[];
}

/** Fate of one line's allocations within a trace. */
export interface SurvivorRow extends Origin, Frame {
  /** Null when the line does not end higher, or the trace is too short. */
  readonly trend: LineTrend | null;
  readonly allocations: number;
  readonly allocated_bytes: number;
  /** Those still alive at the end. */
  readonly survivors: number;
  readonly surviving_bytes: number;
  /** By time of allocation: the trace in five segments, the oldest first. */
  readonly surviving_bytes_by_age: readonly number[];
  /** Seconds since the oldest and the median survivor were allocated; null without clock or survivors. */
  readonly oldest_s: number | null;
  readonly median_s: number | null;
  /** Steps since then; null without annotated steps. */
  readonly oldest_steps: number | null;
  /** Survivors of the steps that ended within the trace, per step; null without annotated steps. */
  readonly bytes_per_step: number | null;
}

/** Use of the reserved memory of one pool of one device. */
export interface PoolRow extends Origin {
  /** "a:b"; "0:0" is the allocator's own pool, others belong to CUDA graphs and user pools. */
  readonly pool: string;
  readonly segments: number;
  readonly reserved_bytes: number;
  readonly allocated_bytes: number;
  /** Of the allocated ones; null where the file does not contain them. */
  readonly requested_bytes: number | null;
  /** Allocated minus requested. */
  readonly rounding_bytes: number | null;
  /** Freed, but possibly still in use by another stream. */
  readonly pending_free_bytes: number;
  /** Reserved and not in use: reserved - allocated - pending. */
  readonly inactive_bytes: number;
  readonly largest_inactive_bytes: number;
  /** Segments without live blocks, which `empty_cache` would free. */
  readonly releasable_bytes: number;
  /** 1 - largest inactive block / inactive bytes: 0 = one block, near 1 = many; null without free memory. */
  readonly fragmentation: number | null;
}

/** A row as one device of a snapshot gives it. */
export type OnDevice<Row extends Origin> = Omit<Row, keyof Origin> & { readonly device: number };

/** `stormlog.snapshot/1`: the tables of memory snapshots. */
export interface SnapshotDocument {
  readonly schema: "stormlog.snapshot/1";
  /** Directory that file names are relative to; null when they are as recorded. */
  readonly root: string | null;
  readonly snapshots: readonly FileRow[];
  /** Of the last snapshot of each process, most bytes first. */
  readonly live: readonly LiveRow[];
  readonly largest: readonly BlockRow[];
  /** Lines that ended higher, over the snapshots of each process; proven ones first. Empty with one snapshot. */
  readonly growth: readonly GrowthRow[];
  /** Lines that ended higher without a proven trend: churn, and one-time allocations. */
  readonly discarded: readonly GrowthRow[];
  /** Survivors of the allocations in the trace, of the last snapshot of each process. */
  readonly survivors: readonly SurvivorRow[];
  readonly pools: readonly PoolRow[];
  readonly notes: readonly string[];
}
