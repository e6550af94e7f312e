import { MIB } from "../../core/units.ts";
import type { Policy } from "./policy.ts";

/**
 * The policy when nothing is configured. `bench/verdict` measures these numbers together: false alarms, power and runs
 * per clean change in five noise models. A spread factor of 1 (with the efficient spread of `spread.ts`) detects a 5 %
 * change in 1 % noise in more than 99.7 % of cases. Larger factors miss more, smaller ones cost runs.
 */
export const DEFAULT_POLICY: Policy = {
  budgets: [],
  horizon: null,
  gatingMetrics: null,
  gatingPhases: [],
  relativeMargin: 0.005,
  spreadFactor: 1,
  alpha: 0.001,
  maxConfirmations: 6,
  minBaselineRuns: 5,
};

/** Smallest number of runs for a fail: one run never suffices. */
export const MIN_CONFIRMATIONS = 2;

/** Base-commit runs asked for in the candidate's session before a fail: of three, the median tolerates an outlier. */
export const BASE_RERUNS = 3;

/** Runs of each side that decide while the baseline is incomplete, and their gap in widths of the wider of the two. */
export const FIRST_RUNS = 5;
export const FIRST_RUNS_GAP = 0.5;

/** Smallest number of baseline sessions from which the spread between sessions is estimated. */
export const MIN_SESSIONS = 3;

/** Number of sessions from which one outlier is excluded from their spread, which is then at most this many Qn. */
export const STRAGGLER_SESSIONS = 8;
export const STRAGGLER_FACTOR = 1.5;

/** Degrees of freedom from which the baseline's sessions give the spread within a session. */
export const MIN_SESSION_FREEDOM = 5;

/**
 * Spreads by which the median candidate must exceed all runs of the baseline to fail: for a peak times the policy's
 * spread factor, for growth unscaled.
 */
export const CONFIRMED_SPREADS = 2.2;

/** A fail must have this share of a breach's false alarm probability, once the base commit ran in the same session. */
export const CONFIRMED_ALPHA_SHARE = 0.2;

/** A breach this many margins above the threshold needs no runs beyond the first confirmation. */
export const CLEAR_MARGINS = 3;

/**
 * Upper bound of the rate at which a run that keeps nothing is classified as a `leak` and lies {@link CLEAR_MARGINS}
 * above its limit as well: twice what `bench/verdict` measures for the worst short synthetic series before their size
 * counts (0 of 894 healthy real series). The class comes from the samples within a run. The size of a breach gives no
 * such bound: after n runs no number of spreads bounds the next run better than 1/(n + 1) without an assumption about
 * their distribution (Saw, Yang and Mo, 1984), and programs have far modes.
 */
export const CLEAR_LEAK_RATE = 0.05;

/** Share of the baseline's runs (and at least two runs) that makes a level one of the baseline's. */
export const OWN_LEVEL_SHARE = 0.15;
/** Levels are this many smallest margins apart, and this many spreads of their own runs. */
export const LEVEL_GAP_MARGINS = 5;
export const LEVEL_GAP_SPREADS = 3;
/** Share of the known runs that frequent levels contain. */
export const MIN_LEVEL_COVER = 0.9;
/** A program with several levels is unchanged when its runs are this many times as likely without a shift of levels. */
export const LEVEL_LIKELIHOOD_RATIO = 20;
/** A shift of levels must be as significant against the base runs of this session alone. */
export const LEVEL_SESSION_ALPHA = 0.05;
/** Number of candidate runs up to which the shares of levels are compared. */
export const MAX_LEVEL_RUNS = 16;

/** Smallest growth of a run that is judged against the baseline, bytes and fraction of the level. */
export const GROWTH_FLOOR_BYTES = 8 * MIB;
export const GROWTH_FLOOR_FRACTION = 0.01;
/** The same of a counter of live blocks: what the same program keeps differs between its runs by less. */
export const EXACT_GROWTH_FLOOR_BYTES = 768 * 1024;
/** Spreads by which the growth of a run may exceed the centre of the baseline's growth. */
export const GROWTH_SPREAD_FACTOR = 1.5;

/** Slow creep against the release anchor, a fraction of its median peak. */
export const ANCHOR_MARGIN = 0.05;
/** Candidate runs that an anchor breach takes: its margin exceeds the spread of one program's runs. */
export const ANCHOR_CONFIRMATIONS = 2;

/**
 * False alarm rate of the warnings of one change, shared by all checks that do not gate (Bonferroni, which is the first
 * step of Holm's rule: a change is yellow from its first warning on).
 */
export const WARNING_ALPHA = 0.01;
/** A warning asks for runs at this many times its alpha: of clean changes, about one in ten may cost another run. */
export const WARNING_LOOK_FACTOR = 10;
/** Number of candidate runs up to which an unconfirmed warning asks for another. */
export const MAX_WARNING_RUNS = 5;
/**
 * Part of the peak by which a run lies above everything known of the baseline and warns without confirmation. Identical
 * work moved reserved memory by up to 8.6 % (sglang issue 38172); of 399 real runs in 41 groups of identical code none
 * lay more than 2 % above the others.
 */
export const LONE_WARNING_SHARE = 0.25;
/**
 * Upper bound of the rate at which a run without a regression lies that far above everything known: 95 % for none of
 * those 399 runs (the rule of three; Hanley and Lippman-Hand, 1983).
 */
export const FAR_RATE = 0.0075;
