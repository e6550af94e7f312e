import type { Measurements } from "../analysis/measurements.ts";
import type { Metric } from "../telemetry/recording/model.ts";
import type { Policy } from "./policy.ts";
import { finite } from "./series-index.ts";

/**
 * Metrics whose peak, growth and class can fail the gate. Allocated is the memory the program holds. Reserved and
 * device-used vary with the allocator's history for identical work. Host memory gates only where no allocator counter
 * of a device was read; a CPU run's heap counters (device "host") gate beside it.
 */
export function gatingMetrics(policy: Policy, candidate: Measurements): ReadonlySet<Metric> {
  if (policy.gatingMetrics !== null) return new Set(policy.gatingMetrics);
  const counted = candidate.runs.some((run) =>
    run.series.some(
      (series) =>
        series.metric === "allocated" &&
        series.device !== "host" &&
        series.class !== "unavailable" &&
        (finite(series.peak_bytes) !== null || finite(series.growth_bytes) !== null),
    ),
  );
  return new Set<Metric>(counted ? ["allocated"] : ["allocated", "host"]);
}
