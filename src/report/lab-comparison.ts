import type { LabDocument, LabPattern } from "./lab-document.ts";

/** One pattern on one backend. */
export interface BackendCell {
  readonly pattern: LabPattern;
  /** Part of what is kept by construction that the backend's counter shows growing, 1 = all of it; null = not known. */
  readonly shown: number | null;
}

export interface ComparisonRow {
  readonly name: string;
  readonly title: string;
  /** In the order of the rounds; null where the round has not got the pattern. */
  readonly cells: readonly (BackendCell | null)[];
  /** Peak ratio of the first round over that of each; null where one is not known. */
  readonly ratioOfRatios: readonly (number | null)[];
  /** Index of the round in which the leak weighs least against the fixed state; null when fewer than two are known. */
  readonly dampened: number | null;
}

/** Of a leak that was not seen, the slope is noise, and says nothing about what is shown. */
function shown({ leaky, leak_bytes_per_step: kept, outcome }: LabPattern): number | null {
  const slope = outcome === "caught" || outcome === "warned" ? (leaky?.slope_bytes_per_step ?? null) : null;
  return slope === null || kept === null || kept === 0 ? null : slope / kept;
}

/**
 * Rounds of the lab on several backends side by side. A ratio of peaks says how loud a leak is where it ran; the ratio of two
 * such ratios, how far one would misjudge it on the other. Peaks hold whatever else the process needs, so a backend whose counter begins
 * with the interpreter's libraries dampens every ratio; the part of the kept bytes that is shown does not depend on that.
 */
export function compareRounds(rounds: readonly LabDocument[]): readonly ComparisonRow[] {
  const names = [...new Set(rounds.flatMap(({ patterns }) => patterns.map(({ name }) => name)))];
  return names.map((name) => {
    const found = rounds.map(({ patterns }) => patterns.find((pattern) => pattern.name === name) ?? null);
    const ratios = found.map((pattern) => pattern?.ratio ?? null);
    const [first = null] = ratios;
    const known = ratios.flatMap((ratio, index) => (ratio === null ? [] : [{ ratio, index }]));
    const least = known.reduce<(typeof known)[number] | null>(
      (low, one) => (low === null || one.ratio < low.ratio ? one : low),
      null,
    );
    return {
      name,
      title: found.find((pattern) => pattern !== null)?.title ?? name,
      cells: found.map((pattern) => (pattern === null ? null : { pattern, shown: shown(pattern) })),
      ratioOfRatios: ratios.map((ratio) => (first === null || ratio === null || ratio === 0 ? null : first / ratio)),
      dampened: known.length < 2 || least === null ? null : least.index,
    };
  });
}
