import type { Horizon } from "../../core/units.ts";
import type { Metric } from "../../telemetry/recording/metrics.ts";

/** Absolute limit on one metric's peak, bytes. `metric` may name any judged metric. */
export interface Budget {
  readonly metric: Metric;
  readonly bytes: number;
}

/** Everything the verdict depends on besides the measurements. Defaults and their sources are in `defaults.ts`. */
export interface Policy {
  readonly budgets: readonly Budget[];
  readonly horizon: Horizon | null;
  /** Metrics whose peak and growth gate; null = the default: allocated, else host where no allocator is counted. */
  readonly gatingMetrics: readonly Metric[] | null;
  /** Phases of the program that are judged too, in the metrics that gate; empty = none. */
  readonly gatingPhases: readonly string[];
  /** Relative margin on peaks, a fraction (0.005 = 0.5 %). */
  readonly relativeMargin: number;
  /** Multiplier of the robust spread. */
  readonly spreadFactor: number;
  /** Family-wise false alarm rate, shared by all gating checks. */
  readonly alpha: number;
  /** Maximum number of candidate runs that a confirmation may ask for. */
  readonly maxConfirmations: number;
  /** Minimum number of baseline runs; with fewer, relative checks are unjudged. */
  readonly minBaselineRuns: number;
}
