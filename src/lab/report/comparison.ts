import type { LabDocument, LabPattern } from "./document.ts";

/** One pattern on one backend. */
export interface BackendCell {
  readonly pattern: LabPattern;
  /** Share of the bytes kept by construction that the backend's counter shows, 1 = all; null = unknown. */
  readonly shown: number | null;
}

/** A leak on two backends, both of which have a ratio of peaks. */
export interface PairRow {
  /** Indices of the rounds: where the ratio of leaky to fixed is larger, and where it is smaller. */
  readonly louder: number;
  readonly quieter: number;
  /** Ratio of the louder over that of the quieter, at least 1. */
  readonly factor: number;
  /** How much larger the fixed state of the quieter round is, and how much less is added; null where nothing is. */
  readonly causes: { readonly largerFixed: number; readonly lessAdded: number } | null;
}

export interface ComparisonRow {
  readonly name: string;
  readonly title: string;
  /** In the order of the rounds; null where a round has no such pattern. */
  readonly cells: readonly (BackendCell | null)[];
  /** Every pair of rounds with known ratios, in their order. */
  readonly pairs: readonly PairRow[];
  /** The pair that is furthest apart; null when fewer than two ratios are known. */
  readonly widest: PairRow | null;
}

/** Whether the leak was seen. The growth of any other is noise. */
function seen({ outcome, leaky }: LabPattern): boolean {
  if (outcome === "replayed") return leaky?.class === "leak" || leaky?.class === "rising";
  return outcome === "caught" || outcome === "warned";
}

function shown(pattern: LabPattern): number | null {
  const { leaky, leak_bytes_per_step: kept } = pattern;
  const slope = seen(pattern) ? (leaky?.slope_bytes_per_step ?? null) : null;
  return slope === null || kept === null || kept === 0 ? null : slope / kept;
}

/** The ratio of peaks where both states ended. A state that ran out of memory has no final peak. */
function wholeRatio(pattern: LabPattern | undefined): number | null {
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
 * Compare rounds of the lab and replays. A ratio of peaks measures how visible a leak is on one backend, and the ratio
 * of two such ratios how much it is misjudged on the other. With r = peak leaky / peak fixed, r - 1 is what the leak
 * adds over what the fixed state holds. So (r1 - 1) / (r2 - 1) is the product of exactly two factors, one for each,
 * which {@link PairRow} reports.
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
