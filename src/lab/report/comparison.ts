import type { LabDocument, LabPattern } from "./document.ts";

/** One pattern on one backend. */
export interface BackendCell {
  readonly pattern: LabPattern;
  /** Part of what is kept by construction that the backend's counter shows growing, 1 = all of it; null = not known. */
  readonly shown: number | null;
}

/** A leak on two backends, both of which have a ratio of peaks. */
export interface PairRow {
  /** Indices of the places: where the leak weighs more against the fixed state, and where less. */
  readonly louder: number;
  readonly quieter: number;
  /** Ratio of the louder over that of the quieter, at least 1. */
  readonly factor: number;
  /**
   * What makes the difference, as factors that multiply to that between what the leak adds in terms of the fixed state:
   * how much larger the fixed state of the quieter is, and how much less the leak adds there. Null where the quieter
   * shows no more than its fixed state.
   */
  readonly causes: { readonly largerFixed: number; readonly lessAdded: number } | null;
}

export interface ComparisonRow {
  readonly name: string;
  readonly title: string;
  /** In the order of the places; null where a place has not got the pattern. */
  readonly cells: readonly (BackendCell | null)[];
  /** Every two places whose ratios are known, in their order. */
  readonly pairs: readonly PairRow[];
  /** The places that are furthest apart; null when fewer than two ratios are known. */
  readonly widest: PairRow | null;
}

/** Growth of a leak that was not seen is noise, and says nothing about what is shown. */
function seen({ outcome, leaky }: LabPattern): boolean {
  if (outcome === "replayed") return leaky?.class === "leak" || leaky?.class === "rising";
  return outcome === "caught" || outcome === "warned";
}

function shown(pattern: LabPattern): number | null {
  const { leaky, leak_bytes_per_step: kept } = pattern;
  const slope = seen(pattern) ? (leaky?.slope_bytes_per_step ?? null) : null;
  return slope === null || kept === null || kept === 0 ? null : slope / kept;
}

/** The ratio of peaks, where both states came to their end: one that ran out of memory would have gone on. */
export function wholeRatio(pattern: LabPattern | undefined): number | null {
  return pattern === undefined || pattern.leaky?.out_of_memory ? null : pattern.ratio;
}

/** Bytes that the leak adds to the fixed state's peak. */
function added({ leaky, fixed }: LabPattern): number | null {
  return leaky?.peak_bytes == null || fixed?.peak_bytes == null ? null : leaky.peak_bytes - fixed.peak_bytes;
}

function pairOf(cells: readonly (BackendCell | null)[], a: number, b: number): PairRow | null {
  const [first, second] = [cells[a]?.pattern, cells[b]?.pattern];
  const [ratioA, ratioB] = [wholeRatio(first), wholeRatio(second)];
  if (first === undefined || second === undefined || !ratioA || !ratioB) return null;
  const [louder, quieter] = ratioA >= ratioB ? [a, b] : [b, a];
  const [loud, quiet] = louder === a ? [first, second] : [second, first];
  const [addedLoud, addedQuiet] = [added(loud), added(quiet)];
  const usable = addedLoud !== null && addedQuiet !== null && addedLoud > 0 && addedQuiet > 0;
  const largerFixed = (quiet.fixed?.peak_bytes ?? 0) / (loud.fixed?.peak_bytes ?? 1);
  return {
    louder,
    quieter,
    factor: Math.max(ratioA, ratioB) / Math.min(ratioA, ratioB),
    causes: usable ? { largerFixed, lessAdded: addedLoud / addedQuiet } : null,
  };
}

/**
 * Places (rounds of the lab and replays) side by side. A ratio of peaks says how loud a leak is where it ran; the ratio
 * of two such ratios, how far one would misjudge it on the other. With r = peak leaky / peak fixed, r - 1 is what the
 * leak adds over what the fixed state holds; so (r1 - 1) / (r2 - 1) falls into exactly two factors, one for each of
 * those, and they are what {@link PairRow} tells.
 */
export function compareRounds(rounds: readonly LabDocument[]): readonly ComparisonRow[] {
  const names = [...new Set(rounds.flatMap(({ patterns }) => patterns.map(({ name }) => name)))];
  return names.map((name) => {
    const found = rounds.map(({ patterns }) => patterns.find((pattern) => pattern.name === name) ?? null);
    const cells = found.map((pattern) => (pattern === null ? null : { pattern, shown: shown(pattern) }));
    const pairs = cells.flatMap((_, a) =>
      cells.slice(a + 1).flatMap((__, offset) => pairOf(cells, a, a + 1 + offset) ?? []),
    );
    return {
      name,
      title: found.find((pattern) => pattern !== null)?.title ?? name,
      cells,
      pairs,
      widest: pairs.reduce<PairRow | null>((far, one) => (far === null || one.factor > far.factor ? one : far), null),
    };
  });
}
