import type { Frame } from "../model/frames.ts";
import type { Hint } from "./hints.ts";
import type { GrowthLine } from "./line-growth.ts";

/** A growing line without what only its samples need. */
type GrowingPlace = Omit<GrowthLine, "kind" | "firstBytes" | "lastBytes">;

/**
 * A source line that holds growing memory: where the memory is retained if that is known (the `append`, not the
 * allocation), else where it is allocated. Its share is of the growth of its device over all processes, its bytes are
 * those of the process that holds most.
 */
export interface AttributedLine extends GrowingPlace {
  readonly placed: "kept" | "allocated";
  /** Device of the memory: "host", "mps", "cuda:0", … */
  readonly device: string;
  /** Processes in which it grows, as named in {@link ProcessEvidence}. */
  readonly processes: readonly string[];
  /** The user's line that allocates most of it; null when the allocation was not recorded. */
  readonly allocatedAt: Frame | null;
  /** "the list `losses`"; null when unknown. Contains a name from the program: escape it where it is printed. */
  readonly keptBy: string | null;
  readonly hint: Hint | null;
}

/** What a growing line and an attributed line have in common. */
export function placeOf(line: GrowthLine): GrowingPlace {
  const { kind: _kind, firstBytes: _first, lastBytes: _last, ...place } = line;
  return place;
}
