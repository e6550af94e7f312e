import { MIB } from "../core/units.ts";
import type { Metric } from "../telemetry/recording/model.ts";
import type { Policy } from "./policy.ts";

/** What a metric's counter can resolve and how far it moves without a cause, bytes. */
export interface MetricScale {
  /** Smallest step of the counter; its uniform rounding error (quantum / sqrt 12) is the least spread ever assumed. */
  readonly quantum: number;
  /** Smallest absolute change of a peak worth a word. */
  readonly peakFloor: number;
}

/**
 * Allocated: blocks of 512 B; 2 MiB is one small allocator segment. Reserved: one large segment is 20 MiB. Device-used:
 * 2 MiB pages plus the driver's own jitter. Host: 4 KiB pages plus allocator trimming, thread stacks and page cache luck.
 */
export const METRIC_SCALES: Readonly<Record<Metric, MetricScale>> = {
  allocated: { quantum: 512, peakFloor: 2 * MIB },
  reserved: { quantum: 2 * MIB, peakFloor: 20 * MIB },
  used: { quantum: 2 * MIB, peakFloor: 8 * MIB },
  host: { quantum: 4096, peakFloor: 8 * MIB },
};

/**
 * The policy when nothing is configured. `bench/verdict` measures these numbers together: false alarms, power and runs per
 * clean change in five noise worlds. A spread factor of 1 (with the efficient spread of `spread.ts`) finds a 5 % change
 * through 1 % noise more than 99.7 times in 100; larger factors lose that, smaller ones cost runs.
 */
export const DEFAULT_POLICY: Policy = {
  budgets: [],
  horizon: null,
  gatingMetrics: null,
  relativeMargin: 0.005,
  spreadFactor: 1,
  alpha: 0.001,
  maxConfirmations: 6,
  minBaselineRuns: 5,
};

/** Fewest runs that may turn a breach red: one run alone never does. */
export const MIN_CONFIRMATIONS = 2;

/** Base-commit runs asked for in the candidate's session before red: the fewest with a median that survives one bad run. */
export const BASE_RERUNS = 3;

/** Sessions without which the baseline says nothing about how much sessions differ. */
export const MIN_SESSIONS = 3;

/** Sessions from which one that lies far off is told from how far they differ, and how many Qn they differ by at most. */
export const STRAGGLER_SESSIONS = 8;
export const STRAGGLER_FACTOR = 1.5;

/** Degrees of freedom from which the baseline's own sessions say how far runs of one session differ. */
export const MIN_SESSION_FREEDOM = 5;

/**
 * Spreads that the median candidate must lie above everything known of the baseline before red: of a peak times the policy's
 * spread factor, of growth as they are.
 */
export const CONFIRMED_SPREADS = 2.2;

/** A red verdict must be this much less likely by chance than a breach, once the base commit ran in the same session. */
export const CONFIRMED_ALPHA_SHARE = 0.2;

/** A breach this many margins beyond the threshold needs no runs beyond the first confirmation. */
export const CLEAR_MARGINS = 3;

/** Share of the baseline's runs (and at least two of them) that makes a level one of the baseline's own. */
export const OWN_LEVEL_SHARE = 0.15;

/** Growth below which nothing is called growth in one run: differential gate, bytes and fraction of the level. */
export const GROWTH_FLOOR_BYTES = 8 * MIB;
export const GROWTH_FLOOR_FRACTION = 0.01;
/** Spreads of the baseline's growth that a run may grow more than its centre. */
export const GROWTH_SPREAD_FACTOR = 1.5;

/** Growth projected to the horizon above which it matters there, with {@link LEAK_FLOOR_FRACTION}. */
export const HORIZON_FLOOR_BYTES = 128 * MIB;
export const LEAK_FLOOR_FRACTION = 0.01;

/** Slow creep against the release anchor, a fraction of its median peak. */
export const ANCHOR_MARGIN = 0.05;
/** Candidate runs an anchor breach takes: its margin lies beyond what runs of one program differ by. */
export const ANCHOR_CONFIRMATIONS = 2;

/** Runs whose series must be called `leak` before a missing baseline lets the class alone be red. */
export const CLASS_CONFIRMATIONS = 2;
