import type { Finding } from "../analysis/series/document.ts";
import { groupBy } from "../core/group-by.ts";

/** Similar findings that are listed one by one; a job may have a thousand. */
const MAX_ALIKE = 16;

/** The size by which similar findings are ordered: growth, peak, slack, gap or share. */
function amountOf({ evidence }: Finding): number {
  for (const key of ["growth_bytes", "peak_bytes", "slack_bytes", "max_gap_bytes", "share"]) {
    const value = evidence[key];
    if (typeof value === "number" && Number.isFinite(value)) return value;
  }
  return 0;
}

const MAX_RANGES = 40;

/** "3, 7, 9 to 12" */
export function rangesText(numbers: readonly number[]): string {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let from = 0; from < sorted.length; ) {
    let to = from;
    while (to + 1 < sorted.length && sorted[to + 1] === (sorted[to] ?? 0) + 1) to += 1;
    if (to - from < 2) for (let at = from; at <= to; at += 1) parts.push(String(sorted[at]));
    else parts.push(`${sorted[from]} to ${sorted[to]}`);
    from = to + 1;
  }
  return parts.length > MAX_RANGES ? `${parts.slice(0, MAX_RANGES).join(", ")} and more` : parts.join(", ");
}

/** Findings of a job; of those that many ranks share the worst, and a summary of the others. */
export function collapsedFindings(findings: readonly Finding[]): readonly Finding[] {
  const keyOf = ({ classification, severity, metric }: Finding) => JSON.stringify([classification, severity, metric]);
  const shown = new Map<Finding, readonly Finding[]>();
  for (const own of groupBy(findings, keyOf).values()) {
    if (own.length <= MAX_ALIKE) continue;
    const sorted = [...own].sort((a, b) => amountOf(b) - amountOf(a) || (a.rank ?? -1) - (b.rank ?? -1));
    const [worst, others] = [sorted.slice(0, MAX_ALIKE), sorted.slice(MAX_ALIKE)];
    for (const finding of own) shown.set(finding, []);
    const [first, next] = [own[0], others[0]];
    if (first !== undefined && next !== undefined) shown.set(first, [...worst, summaryOf(others, next)]);
  }
  return findings.flatMap((finding) => shown.get(finding) ?? [finding]);
}

function summaryOf(others: readonly Finding[], like: Finding): Finding {
  const ranks = rangesText(others.flatMap(({ rank }) => rank ?? []));
  const count = others.length.toLocaleString("en-US");
  return {
    ...like,
    rank: null,
    device: null,
    evidence: { more: others.length, ranks },
    description: `${count} more like these, each smaller: ranks ${ranks}.`,
    remediation: [],
  };
}
