import type { LineTrend } from "../growth/line-growth.ts";

/** Where memory was allocated; `line` is 0 and `function` "" when not recorded. */
export interface SourceLocation {
  readonly file: string;
  readonly line: number;
  readonly function: string;
}

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

export interface LiveRow extends Origin, SourceLocation {
  /** Whether the line is user code; false where the stack has no such frame. */
  readonly user: boolean;
  readonly bytes: number;
  readonly requested_bytes: number | null;
  readonly blocks: number;
  readonly largest_block_bytes: number;
  readonly pending_free_bytes: number;
  readonly stack: readonly SourceLocation[];
}

export interface BlockRow extends Origin, SourceLocation {
  readonly bytes: number;
  readonly requested_bytes: number | null;
}

export interface GrowthRow extends SourceLocation {
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
  readonly stack: readonly SourceLocation[];
}

export interface SurvivorRow extends Origin, SourceLocation {
  readonly trend: LineTrend | null;
  readonly allocations: number;
  readonly allocated_bytes: number;
  readonly survivors: number;
  readonly surviving_bytes: number;
  /** By time of allocation: the trace in five segments, the oldest first. */
  readonly surviving_bytes_by_age: readonly number[];
  readonly oldest_s: number | null;
  readonly median_s: number | null;
  readonly oldest_steps: number | null;
  readonly bytes_per_step: number | null;
}

export interface PoolRow extends Origin {
  readonly pool: string;
  readonly segments: number;
  readonly reserved_bytes: number;
  readonly allocated_bytes: number;
  readonly requested_bytes: number | null;
  /** Allocated minus requested. */
  readonly rounding_bytes: number | null;
  readonly pending_free_bytes: number;
  readonly inactive_bytes: number;
  readonly largest_inactive_bytes: number;
  readonly releasable_bytes: number;
  readonly fragmentation: number | null;
}

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
