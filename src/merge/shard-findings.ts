import type { Finding } from "../analysis/document.ts";
import { groupBy } from "../core/group-by.ts";

/** Ranks of which the same is told one by one; of a thousand nobody reads more. */
const MAX_ALIKE = 16;

/** What makes one rank worse than another of which the same is told: how much it grew, peaked or holds. */
function amountOf({ evidence }: Finding): number {
  for (const key of ["growth_bytes", "peak_bytes", "slack_bytes", "max_gap_bytes", "share"]) {
    const value = evidence[key];
    if (typeof value === "number" && Number.isFinite(value)) return value;
  }
  return 0;
}

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
  const most = 40;
  return parts.length > most ? `${parts.slice(0, most).join(", ")} and more` : parts.join(", ");
}

/**
 * Findings that a job's ranks have in common, told of the worst ranks, the worst first, and then once for all others. Jobs of few
 * ranks stay as they are.
 */
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
    description: `${count} more like these, each less than they: ranks ${ranks}.`,
    remediation: [],
  };
}
