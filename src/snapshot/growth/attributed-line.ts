import type { Frame } from "../model/frames.ts";
import type { Hint } from "./hints.ts";
import type { LineTrend } from "./line-growth.ts";

/** A source line that holds growing memory. */
export interface AttributedLine {
  /** Where the memory is retained if that is known (the `append`, not the allocation), else where it is allocated. */
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  readonly function: string;
  readonly placed: "kept" | "allocated";
  /** Whether the line is user code. */
  readonly user: boolean;
  /** Device of the memory: "host", "mps", "cuda:0", … */
  readonly device: string;
  /** Processes in which it grows, as named in {@link ProcessEvidence}. */
  readonly processes: readonly string[];
  /** The user's line that allocates most of it; null when the allocation was not recorded. */
  readonly allocatedAt: Frame | null;
  /** "the list `losses`"; null when unknown. Contains a name from the program: escape it where it is printed. */
  readonly keptBy: string | null;
  readonly trend: LineTrend;
  /** Null where the program has no steps. */
  readonly bytesPerStep: number | null;
  readonly bytesPerSecond: number | null;
  readonly growthBytes: number;
  /** Live bytes in every sample of the process that holds most. */
  readonly bytes: readonly number[];
  readonly countGrowth: number;
  /** Share of the growth of its device over all processes, 0 to 1. */
  readonly share: number;
  /** Stack of the line, innermost first. */
  readonly stack: readonly Frame[];
  readonly hint: Hint | null;
}

/** The identity of a source line. */
export function locationKey({ file, line, function: name }: Frame): string {
  return `${file}\0${line}\0${name}`;
}
