import { plural } from "../../core/text.ts";
import { formatBytes } from "../../core/units.ts";
import { METRIC } from "../../telemetry/recording/metrics.ts";
import type { Check, CheckVerdict, FingerprintDifference, Judgement } from "./judgement.ts";
import { nextRuns } from "./judgement-document.ts";
import { describeSeries, seriesName } from "./series-index.ts";

/** Fail before unjudged (any gating check) before warn before pass. Without any check the verdict is unjudged. */
function combineVerdicts(checks: readonly Pick<Check, "verdict" | "gating">[]): CheckVerdict {
  if (checks.some(({ verdict, gating }) => verdict === "fail" && gating)) return "fail";
  const gates = checks.filter(({ gating }) => gating);
  if (gates.some(({ verdict }) => verdict === "unjudged")) return "unjudged";
  if (checks.some(({ verdict }) => verdict === "warn")) return "warn";
  // Metrics that do not gate cannot replace those that should have been measured.
  return gates.length === 0 ? "unjudged" : "pass";
}

function sentence(verdict: CheckVerdict, checks: readonly Check[]): string {
  // A rank above 0 shows that there are others, even where no check concerns them.
  const ranks = new Set([0, ...checks.map(({ rank }) => rank)]).size > 1 ? "many" : "one";
  const leaking = new Set(
    checks.flatMap((one) => (one.kind === "class" && one.verdict === "fail" ? [seriesName(one)] : [])),
  );
  const leaks = (check: Check) => leaking.has(seriesName(check));
  // A leak explains the peak it causes, so its growth comes first.
  const order = (check: Check) => (check.kind === "oom" ? 0 : check.kind === "growth" && leaks(check) ? 1 : 2);
  // One gate over several ranks counts all their pages to its own rank; an allocator's level belongs to one rank.
  const pages = (check: Check) => (METRIC[check.metric].isCounted ? 0 : 1);
  const named = (check: Check) =>
    `${describeSeries(check, ranks)}${check.kind === "growth" && leaks(check) ? " leaks" : ""}: ${check.reason}`;
  const worst = checks
    .filter((check) => check.verdict === verdict && (verdict === "warn" || check.gating))
    .sort((a, b) => Number(b.confirmed) - Number(a.confirmed) || order(a) - order(b) || pages(a) - pages(b));
  if (verdict !== "pass") {
    const [first, ...rest] = worst;
    if (first === undefined) {
      return checks.length === 0
        ? "there is nothing to judge by: no baseline, no budget"
        : "only metrics that do not gate were measured";
    }
    return rest.length === 0 ? named(first) : `${named(first)} (and ${rest.length} more)`;
  }
  const gates = checks.filter(({ gating }) => gating);
  const above = ({ candidate_bytes: value, threshold_bytes: limit }: Check) =>
    value !== null && limit !== null && value > limit;
  const notable = gates.find(above) ?? gates.find(({ improved }) => improved);
  if (notable !== undefined) return named(notable);
  const seen = gates.flatMap(({ mde_bytes, aspect, limit }) =>
    mde_bytes === null || aspect !== "peak" || limit !== "baseline" ? [] : [mde_bytes],
  );
  const least =
    seen.length === 0
      ? ""
      : ` (a peak ${formatBytes(seen.reduce((most, bytes) => Math.max(most, bytes)))} higher would have been detected)`;
  return `${plural(gates.length, "gating check")} within ${gates.length === 1 ? "its limit" : "their limits"}${least}`;
}

/**
 * The judgement of all checks. After a final fail, confirmed or where no further run could confirm it, no more runs are
 * asked for: they cost minutes and change nothing.
 */
export function combine(given: readonly Check[], fingerprint: readonly FingerprintDifference[]): Judgement {
  const fails = given.filter(({ gating, verdict }) => gating && verdict === "fail");
  const confirmed = fails.some((check) => check.confirmed);
  const final = fails.some((one) => one.confirmed || (one.needs_more_runs === 0 && one.needs_base_runs === 0));
  const checks = final ? given.map((one) => ({ ...one, needs_more_runs: 0, needs_base_runs: 0 })) : given;
  const verdict = combineVerdicts(checks);
  // A failing check that only the base commit can still confirm may make further runs of the candidate unnecessary.
  const baseFirst = !final && fails.some((one) => one.needs_more_runs === 0 && one.needs_base_runs > 0);
  const most = (need: (check: Check) => number) => checks.reduce((max, check) => Math.max(max, need(check)), 0);
  return {
    verdict,
    next: nextRuns(
      baseFirst ? 0 : most((check) => check.needs_more_runs),
      most((check) => check.needs_base_runs),
    ),
    confirmed: verdict === "fail" && confirmed,
    checks,
    fingerprint,
    reason: sentence(verdict, checks),
  };
}
