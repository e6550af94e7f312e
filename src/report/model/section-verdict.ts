import type { Check } from "../../verdict/model/judgement.ts";
import type { Verdict } from "./gate-report.ts";
import type { Section } from "./section.ts";
import { VERDICTS_BY_URGENCY, verdictUrgency } from "./severity.ts";

export interface SectionsVerdict {
  readonly verdict: Verdict;
  /** False when a failed section was not confirmed. */
  readonly confirmed: boolean;
  /** Sections per verdict, the worst first, without verdicts that no section has. */
  readonly counts: readonly { readonly verdict: Verdict; readonly count: number }[];
  /** Sections that are expected and missing; 0 where their number is unknown. */
  readonly missing: number;
}

/** The worst verdict of a gate's sections, never a pass while one is missing; `expected` null = as many as given. */
export function verdictOfSections(sections: readonly Section[], expected: number | null): SectionsVerdict {
  const counts = VERDICTS_BY_URGENCY.map((verdict) => ({
    verdict,
    count: sections.filter(({ report }) => report.verdict === verdict).length,
  })).filter(({ count }) => count > 0);
  const missing = Math.max(sections.length === 0 ? 1 : 0, (expected ?? 0) - sections.length);
  const worst = counts[0]?.verdict ?? "unjudged";
  const verdict = missing > 0 && verdictUrgency(worst) > verdictUrgency("unjudged") ? "unjudged" : worst;
  const failed = sections.filter(({ report }) => report.verdict === "fail");
  return { verdict, confirmed: failed.every(({ report }) => report.confirmed), counts, missing };
}

/** The section nearest to one of its gating limits; the first one where no limit is known. */
export function tightestSection(sections: readonly Section[]): Section | null {
  const loads = sections.map((section) => ({ section, load: loadOfSection(section) }));
  return loads.sort((a, b) => b.load - a.load)[0]?.section ?? null;
}

/** The largest share of its limit that a gating peak of the section uses; 0 where no limit is known. */
export function loadOfSection({ report }: Section): number {
  let most = 0;
  for (const { judgement } of report.scenarios) {
    for (const check of judgement?.checks ?? []) most = Math.max(most, loadOf(check));
  }
  return most;
}

function loadOf({ gating, aspect, candidate_bytes: bytes, threshold_bytes: limit }: Check): number {
  return !gating || aspect !== "peak" || bytes === null || limit === null || limit <= 0 ? 0 : bytes / limit;
}
