import type { MeasuredSeries } from "../../analysis/measurements.ts";
import type { Horizon } from "../../core/units.ts";
import { finite } from "../model/series-index.ts";

/** Growth over the whole production length at the measured slope, bytes; null without a slope in the horizon's unit. */
export function projectedGrowth(series: MeasuredSeries, horizon: Horizon): number | null {
  const slope = finite(horizon.kind === "steps" ? series.slope_bytes_per_step : series.slope_bytes_per_s);
  return slope === null ? null : slope * (horizon.kind === "steps" ? horizon.steps : horizon.seconds);
}

/** "at 1000000 steps", "after 72 h". */
export function describeHorizon(horizon: Horizon): string {
  return horizon.kind === "steps"
    ? `at ${horizon.steps} steps`
    : `after ${Number((horizon.seconds / 3600).toFixed(2))} h`;
}

/** The horizon, unless a slope in its unit is missing or the observed span is longer, whose growth is then larger. */
export function applicableHorizon(series: readonly MeasuredSeries[], horizon: Horizon | null): Horizon | null {
  if (horizon === null || series.length === 0) return null;
  const reaches = series.every((one) => {
    const projected = projectedGrowth(one, horizon);
    return projected !== null && Math.abs(projected) >= Math.abs(finite(one.growth_bytes) ?? 0);
  });
  return reaches ? horizon : null;
}
