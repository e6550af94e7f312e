import type { LineTrend } from "./line-growth.ts";

/** Where memory was allocated; `line` is 0 and `function` "" where nobody recorded it. */
export interface SourceLocation {
  readonly file: string;
  readonly line: number;
  readonly function: string;
}

/** Which rank and device of which file a row is of. */
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
  /** Blocks that are allocated, and those of them whose stack was recorded. */
  readonly allocated_blocks: number;
  readonly recorded_blocks: number;
  /** Free bytes of the device at each out-of-memory error in the trace, with what was asked for. */
  readonly out_of_memory: readonly { readonly requested_bytes: number | null; readonly free_bytes: number | null }[];
}

export interface LiveRow extends Origin, SourceLocation {
  /** Whether the line is the user's; false where no frame of the stack is. */
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
  /** Of the growth of everything, 0 to 1. */
  readonly share: number;
  readonly blocks_growth: number;
  /** Least share of the bytes it held at one snapshot that is there at the next; null where it never held any. */
  readonly kept_share: number | null;
  /** At each snapshot. */
  readonly bytes: readonly number[];
  readonly stack: readonly SourceLocation[];
}

export interface SurvivorRow extends Origin, SourceLocation {
  readonly trend: LineTrend | null;
  readonly allocations: number;
  readonly allocated_bytes: number;
  readonly survivors: number;
  readonly surviving_bytes: number;
  /** By when they were allocated: the trace in five parts, the oldest first. */
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
  /** Allocated beyond what was asked for. */
  readonly rounding_bytes: number | null;
  readonly pending_free_bytes: number;
  readonly inactive_bytes: number;
  readonly largest_inactive_bytes: number;
  readonly releasable_bytes: number;
  readonly fragmentation: number | null;
}

/** `stormlog.snapshot/1`: what memory snapshots say, as tables. */
export interface SnapshotDocument {
  readonly schema: "stormlog.snapshot/1";
  /** Directory that file names are relative to; null when they stand as recorded. */
  readonly root: string | null;
  readonly snapshots: readonly FileRow[];
  /** Of the last snapshot of each process, most bytes first. */
  readonly live: readonly LiveRow[];
  readonly largest: readonly BlockRow[];
  /** Lines that ended higher, over the snapshots of each process; those that are believed first. Empty with one snapshot. */
  readonly growth: readonly GrowthRow[];
  /** Lines that ended higher and are not believed: churn, and what came once and stayed. */
  readonly discarded: readonly GrowthRow[];
  /** What still lives of what the trace saw allocated, of the last snapshot of each process. */
  readonly survivors: readonly SurvivorRow[];
  readonly pools: readonly PoolRow[];
  readonly notes: readonly string[];
}
