import type { Rule } from "../rules/rule.ts";

/** A table of the report: first row is the head. */
export interface Table {
  readonly title: string;
  /** How it was made, in a sentence or two. */
  readonly note: string;
  readonly rows: readonly (readonly string[])[];
}

export interface BenchSettings {
  readonly data: string;
  readonly quick: boolean;
  readonly seed: number;
  /** Ours first, then the one ours is compared with in detail. */
  readonly rules: readonly Rule[];
}

export type Part = (settings: BenchSettings) => Table[];
