import { assertNever } from "../../core/errors.ts";
import { plural } from "../../core/text.ts";
import { formatSize } from "../../telemetry/recording/metrics.ts";
import { LEVEL_SESSION_ALPHA } from "../model/defaults.ts";
import type { Check } from "../model/judgement.ts";
import { checkOf } from "./check.ts";
import type { Dismissal } from "./compare-with-base.ts";
import type { RelativeContext, RelativeOutcome } from "./relative-rule.ts";

/**
 * Smallest change that a relative check detects in about nine of ten cases, bytes: with three to six runs that must all
 * exceed the threshold, a true change of margin + 2 sigma puts each of them above it with 98 %.
 */
function minimalDetectableChange(margin: number, spread: number): number {
  return Math.ceil(margin + 2 * spread);
}

/** What a relative check compares. */
interface RelativeSubject {
  readonly aspect: "peak" | "growth";
  /** "peak", "growth", "growth at 1000000 steps". */
  readonly name: string;
  /** "at 1000000 steps", where growth is projected. */
  readonly horizon?: string;
  /** First candidate value, for outcomes without one. */
  readonly first: number;
}

function percent(value: number): string {
  return value >= 0.0001 ? `${Number((100 * value).toPrecision(2))} %` : "under 0.01 %";
}

/** Why a breach is dismissed by the base commit's runs in this session; `here` is their median. */
function dismissal(why: Dismissal, here: string): string {
  switch (why) {
    case "offset":
      return `so is the base commit in this session (${here}): the machine changed, not the program (refresh the baseline)`;
    case "reached":
      return "the base commit reaches this level in this session too, and the baseline seldom does (refresh the baseline)";
    case "start":
      return "the run was over while its process started: its peak is compared";
    case "spread":
      return `runs of the baseline differ by as much (the base commit in this session: ${here})`;
    default:
      return assertNever(why);
  }
}

/** Why runs at levels of the baseline do not decide, and how many more would. */
function openLevels({ used, missing }: Extract<RelativeOutcome, { kind: "levels" }>): string {
  const more = missing === null ? "more than are made" : `${missing} more`;
  return `is at levels that runs of the baseline reach too: ${plural(used, "run")} cannot show whether they became more frequent, ${more} would`;
}

/** The check of a relative outcome. A gating check fails, a confirmed breach of another warns. */
export function relativeCheck(
  outcome: RelativeOutcome,
  { key, gating, policy, baseline }: RelativeContext,
  { aspect, name, first, horizon }: RelativeSubject,
): Check {
  const base = { aspect, limit: "baseline", gating, ...(horizon === undefined ? {} : { horizon }) } as const;
  if (outcome.kind === "too-few") {
    return checkOf(key, {
      ...base,
      verdict: "unjudged",
      candidate_bytes: first,
      baseline_bytes: Number.isFinite(outcome.centre) ? outcome.centre : null,
      needs_base_runs: outcome.needsBaseRuns,
      reason:
        `the baseline has ${plural(outcome.runs, "run")} with a ${name}, and ${policy.minBaselineRuns} are needed: ` +
        (baseline.length < policy.minBaselineRuns ? "refresh it with more runs" : "its other runs are too short"),
    });
  }
  const level = {
    baseline_bytes: outcome.centre,
    threshold_bytes: outcome.threshold,
    // A few runs do not show how much the next ones differ, and runs at several levels no size that always shows.
    mde_bytes:
      outcome.kind === "first-runs" || outcome.hasLevels
        ? null
        : minimalDetectableChange(outcome.margin, outcome.spread),
  };
  const size = (bytes: number): string => formatSize(key.metric, bytes);
  const over = `${name} ${size(outcome.value)} is ${size(outcome.value - outcome.centre)} above the baseline's ${size(outcome.centre)}`;
  switch (outcome.kind) {
    case "within": {
      const earlier = outcome.used > 1 ? ` (in run ${outcome.used}; the earlier runs were above)` : "";
      const reason = outcome.improved
        ? `${name} is ${size(outcome.centre - outcome.value)} below the baseline: refresh the baseline to keep the gain`
        : outcome.knownMode
          ? `${over}, which runs of the baseline reach too${earlier}`
          : `${name} ${size(outcome.value)} is within ${size(outcome.margin)} of the baseline's ${size(outcome.centre)}${earlier}`;
      const { value, improved } = outcome;
      return checkOf(key, { ...base, ...level, verdict: "pass", candidate_bytes: value, improved, reason });
    }
    case "dismissed":
      return checkOf(key, {
        ...base,
        ...level,
        verdict: "pass",
        candidate_bytes: outcome.value,
        needs_base_runs: outcome.needsBaseRuns,
        reason: `${over}, but ${dismissal(outcome.why, size(outcome.inSession.centre))}`,
      });
    case "first-runs": {
      const { centre, runs, value } = outcome;
      const missing = plural(policy.minBaselineRuns - runs, "more run");
      const found =
        outcome.verdict === "pass" ? "within the runs" : `${size(value - centre)} above the ${size(centre)}`;
      const certain = outcome.verdict === "warn" ? ", too few runs or too close to be certain" : "";
      return checkOf(key, {
        ...base,
        ...level,
        verdict: outcome.verdict,
        needs_more_runs: outcome.needsMoreRuns,
        needs_base_runs: outcome.needsBaseRuns,
        candidate_bytes: value,
        confirmed: outcome.verdict === "fail",
        reason: `${name} ${size(value)} is ${found} of the base commit in this session (${plural(outcome.used, "run")})${certain}; ${missing} complete the baseline`,
      });
    }
    case "levels":
      return checkOf(key, {
        ...base,
        ...level,
        needs_more_runs: outcome.needsMoreRuns,
        needs_base_runs: outcome.needsBaseRuns,
        verdict: gating && outcome.pValue <= LEVEL_SESSION_ALPHA ? "warn" : "pass",
        candidate_bytes: outcome.value,
        reason: `${name} ${size(outcome.value)} ${openLevels(outcome)}`,
      });
    case "session-unknown":
      return checkOf(key, {
        ...base,
        ...level,
        needs_more_runs: outcome.needsMoreRuns,
        needs_base_runs: outcome.needsBaseRuns,
        verdict: gating ? "warn" : "pass",
        candidate_bytes: outcome.value,
        reason:
          `${over} in ${plural(outcome.used, "run")}, but sessions of the baseline differ so much that one may reach ` +
          `${size(outcome.limit)}, and the base commit did not run in this session`,
      });
    case "breach": {
      const runs = `(limit ${formatSize(key.metric, outcome.margin, "delta")}) in ${plural(outcome.used, "run")}`;
      const open = !gating
        ? outcome.confirmed
          ? ""
          : ", too few to warn"
        : outcome.needsMoreRuns > 0
          ? ", not confirmed by enough runs"
          : outcome.needsBaseRuns > 0
            ? ", to be confirmed by a run of the base commit"
            : outcome.confirmed
              ? ", confirmed"
              : ", unconfirmed because the base commit cannot run in this session";
      return checkOf(key, {
        ...base,
        ...level,
        needs_more_runs: outcome.needsMoreRuns,
        needs_base_runs: outcome.needsBaseRuns,
        verdict: gating ? "fail" : outcome.confirmed ? "warn" : "pass",
        candidate_bytes: outcome.value,
        confirmed: gating && outcome.confirmed,
        reason: `${over} ${runs}${open} (false alarm probability ${percent(outcome.falseAlarm)})`,
      });
    }
    default:
      return assertNever(outcome);
  }
}
