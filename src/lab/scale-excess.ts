import type { Metric } from "../telemetry/recording/metrics.ts";
import type { Check } from "../verdict/model/judgement.ts";

/** The result at one measured size. */
export interface Excess {
  readonly value: number;
  /** By how much the leaky state exceeds the fixed one, and the excess that would fail, bytes. */
  readonly excess: number;
  readonly needed: number;
}

/** The size at which the line through two results reaches the needed excess. */
function crossing(a: Excess, b: Excess): number | null {
  const [low, high] = a.value < b.value ? [a, b] : [b, a];
  const [from, to] = [low.excess / low.needed, high.excess / high.needed];
  const at = low.value + ((1 - from) * (high.value - low.value)) / (to - from);
  return to > from && at > 0 ? at : null;
}

/** The size on the line through the two results nearest to the need, or in proportion to one; null if nothing grows. */
export function measuredSize(seen: readonly Excess[]): number | null {
  const usable = seen.filter(({ excess, needed }) => Number.isFinite(excess) && needed > 0);
  const far = ({ excess, needed }: Excess): number => Math.abs(excess / needed - 1);
  const [nearest, second] = [...usable].sort((a, b) => far(a) - far(b));
  if (nearest === undefined) return null;
  const alone = nearest.excess > 0 ? (nearest.value * nearest.needed) / nearest.excess : null;
  return (second === undefined ? null : crossing(nearest, second)) ?? alone;
}

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
