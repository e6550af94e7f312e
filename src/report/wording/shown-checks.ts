import { groupBy } from "../../core/group-by.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import { sortChecks } from "./wording.ts";

interface ShownChecks {
  readonly rows: readonly { readonly check: Check; readonly more: number }[];
  readonly hidden: number;
}

/** More ranks of one kind add nothing for a reader. */
const MAX_ALIKE = 4;

/** How near a check is to its limit, or without one how large its value is: larger is worse. */
function badness({ candidate_bytes: candidate, threshold_bytes: threshold }: Check): number {
  if (candidate === null || !Number.isFinite(candidate)) return Number.NEGATIVE_INFINITY;
  return threshold !== null && threshold > 0 ? candidate / threshold : candidate;
}

/**
 * The checks to show, the worst first: all up to `most`; above that, the worst ranks of each kind (verdict, metric,
 * aspect, limit) with the number of ranks omitted (`more`), and the number of checks of omitted kinds (`hidden`).
 */
export function shownChecks(checks: readonly Check[], most: number): ShownChecks {
  const sorted = sortChecks(checks);
  if (sorted.length <= most) return { rows: sorted.map((check) => ({ check, more: 0 })), hidden: 0 };
  const kinds = [
    ...groupBy(sorted, ({ verdict, gating, aspect, limit, metric }) =>
      JSON.stringify([verdict, gating, aspect, limit, metric]),
    ).values(),
  ];
  const each = Math.max(1, Math.min(MAX_ALIKE, Math.floor(most / kinds.length)));
  const rows = kinds.slice(0, most).flatMap((own) => {
    const worst = [...own].sort((a, b) => badness(b) - badness(a) || a.rank - b.rank).slice(0, each);
    return worst.map((check, at) => ({ check, more: at === worst.length - 1 ? own.length - worst.length : 0 }));
  });
  return { rows, hidden: kinds.slice(most).reduce((sum, own) => sum + own.length, 0) };
}

/** "and 1,020 more like them" */
export function moreText(more: number): string {
  return `and ${more.toLocaleString("en-US")} more like ${more === 1 ? "it" : "them"}`;
}
