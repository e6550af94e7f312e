import type { Metric } from "../telemetry/recording/metrics.ts";
import type { Check } from "../verdict/model/judgement.ts";

/** A check of a change against the baseline, in bytes. */
export interface LeadingCheck {
  readonly aspect: "peak" | "growth";
  readonly metric: Metric;
  readonly device: string;
  readonly rank: number;
  readonly excess_bytes: number;
  readonly mde_bytes: number;
}

/**
 * The check against the baseline that shows a leak best: failed checks first, then allocator counters before pages (a
 * long run takes more pages without a leak), then the largest share of the limit. Null when there is none.
 */
export function leadingCheck(checks: readonly Check[]): LeadingCheck | null {
  const known = checks.flatMap((check): readonly (LeadingCheck & { readonly weight: number })[] => {
    const { aspect, limit, gating, candidate_bytes: value, baseline_bytes: base, mde_bytes: mde } = check;
    if (limit !== "baseline" || !gating || (aspect !== "peak" && aspect !== "growth")) return [];
    if (value === null || base === null || mde === null || !(mde > 0)) return [];
    const { metric, device, rank, verdict } = check;
    const weight = (verdict === "fail" ? 0 : 2) + (metric === "allocated" ? 0 : 1);
    return [{ aspect, metric, device, rank, excess_bytes: value - base, mde_bytes: mde, weight }];
  });
  const ratio = ({ excess_bytes: excess, mde_bytes: mde }: LeadingCheck): number => excess / mde;
  const [first] = known.sort((a, b) => a.weight - b.weight || ratio(b) - ratio(a));
  if (first === undefined) return null;
  const { weight, ...check } = first;
  return check;
}
