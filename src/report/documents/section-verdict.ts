import type { Check } from "../../verdict/judgement.ts";
import type { Verdict } from "./model.ts";
import type { Section } from "./section.ts";

/** Worst first. */
const BY_URGENCY: readonly Verdict[] = ["fail", "error", "unjudged", "warn", "pass"];

/** Smaller is more urgent. */
export function verdictUrgency(word: Verdict): number {
  return BY_URGENCY.indexOf(word);
}

export interface SectionsVerdict {
  readonly word: Verdict;
  /** False when a failed section was not confirmed. */
  readonly confirmed: boolean;
  /** How many sections say what, the worst first; words that none says are not there. */
  readonly counts: readonly { readonly word: Verdict; readonly count: number }[];
  /** Sections that should be there and are not; 0 where it is not known how many there have to be. */
  readonly missing: number;
}

/**
 * What the sections of one gate come to together: the worst of them, and never a pass while one of them is missing.
 * @param expected how many there have to be; null = as many as there are
 */
export function verdictOfSections(sections: readonly Section[], expected: number | null): SectionsVerdict {
  const counts = BY_URGENCY.map((word) => ({
    word,
    count: sections.filter(({ report }) => report.word === word).length,
  })).filter(({ count }) => count > 0);
  const missing = Math.max(sections.length === 0 ? 1 : 0, (expected ?? 0) - sections.length);
  const worst = counts[0]?.word ?? "unjudged";
  const word = missing > 0 && verdictUrgency(worst) > verdictUrgency("unjudged") ? "unjudged" : worst;
  const failed = sections.filter(({ report }) => report.word === "fail");
  return { word, confirmed: failed.every(({ report }) => report.confirmed), counts, missing };
}

/** The section that came nearest to one of its gating limits; the first one where nothing is known of limits. */
export function tightestSection(sections: readonly Section[]): Section | null {
  let tightest: Section | null = null;
  let most = -1;
  for (const section of sections) {
    const load = loadOfSection(section);
    if (load > most) {
      tightest = section;
      most = load;
    }
  }
  return tightest;
}

/** Largest share of a limit that a gating peak of the section uses; 0 where nothing is known of limits. */
export function loadOfSection({ report }: Section): number {
  let most = 0;
  for (const { judgement } of report.scenarios) {
    for (const check of judgement?.checks ?? []) most = Math.max(most, loadOf(check));
  }
  return most;
}

/** Share of a peak's limit that is used. */
function loadOf({ gating, aspect, candidate_bytes: bytes, threshold_bytes: limit }: Check): number {
  return !gating || aspect !== "peak" || bytes === null || limit === null || limit <= 0 ? 0 : bytes / limit;
}
