import type { MeasuredRun, Measurements } from "../analysis/measurements.ts";
import { plural } from "../core/text.ts";
import { isCounted, METRIC, type Metric } from "../telemetry/recording/metrics.ts";
import {
  compareFingerprints,
  describeMismatches,
  mismatches,
  otherCommand,
  stepsDifference,
  withoutComparedSteps,
} from "./fingerprint.ts";
import { comparedSeries, countsForAlpha, gatingMetrics, withoutExplainedGrowth, withoutNewMetrics } from "./gating.ts";
import { combine } from "./model/combine.ts";
import { WARNING_ALPHA } from "./model/defaults.ts";
import type { Check, FingerprintDifference, Judgement } from "./model/judgement.ts";
import type { Policy } from "./model/policy.ts";
import {
  CUT_EVERYWHERE,
  hasSummedHost,
  indexSeries,
  isWhole,
  knownValues,
  pairSeries,
  type SeriesHistory,
  type SeriesKey,
  type SeriesRun,
  withSummedHost,
} from "./model/series-index.ts";
import { anchorRule, anchorUnjudged } from "./rules/anchor-rule.ts";
import { budgetRule } from "./rules/budget-rule.ts";
import { checkOf } from "./rules/check.ts";
import { classRule } from "./rules/class-rule.ts";
import { garbageRule } from "./rules/garbage-rule.ts";
import { growthRule, hasGrowth, OTHER_ANALYSIS, observedGrowth, ofSameAnalysis } from "./rules/growth-rule.ts";
import { keptRule } from "./rules/kept-rule.ts";
import { peakRule, peaks } from "./rules/peak-rule.ts";
import type { RelativeContext } from "./rules/relative-rule.ts";

/** Everything a verdict depends on. Same input, same judgement. */
export interface JudgeInput {
  /** Runs of the change, in the order they were measured, all of one session. */
  readonly candidate: Measurements;
  /** Accepted runs, of any session. */
  readonly baseline: Measurements | null;
  /** Re-runs of the base commit in the candidate's session. Default none. */
  readonly baseRuns?: readonly MeasuredRun[];
  /** Why the baseline is missing, and what to do about it, where that is known. */
  readonly noBaseline?: string | null;
  /** The last release, against slow creep. */
  readonly anchor: Measurements | null;
  readonly policy: Policy;
  /** Whether the base commit can still be run in this session. */
  readonly baseRunsPossible: boolean;
  /** False once no further candidate run is possible, so that none is asked for. Default true. */
  readonly moreRunsPossible?: boolean;
  /** False: only budgets, the anchor, out-of-memory and a leak that needs no baseline are checked. Default true. */
  readonly baselineWanted?: boolean;
  /** Runs of any number of steps are comparable, as in a search for what memory depends on. Default false. */
  readonly anySteps?: boolean;
  /** Further runs of the change in which collected heaps were forced to collect: evidence, and never judged. */
  readonly collected?: readonly MeasuredRun[];
}

type Pair = ReturnType<typeof pairSeries>[number];

/** The input with the re-runs of the base commit among the runs of the baseline. */
function withBaseRuns(input: JudgeInput): JudgeInput {
  const { candidate, baseline, baseRuns = [] } = input;
  if (baseRuns.length === 0) return input;
  const reruns = baseRuns.map((run) => ({ ...run, rerun: true as const }));
  return { ...input, baseline: { ...(baseline ?? candidate), runs: [...(baseline?.runs ?? []), ...reruns] } };
}

/** Why nothing can be compared with the baseline; null when something can. */
function incomparable(input: JudgeInput, differences: readonly FingerprintDifference[]): string | null {
  if (input.baseline === null) {
    const mayRunBase = input.baseRunsPossible && input.baselineWanted !== false;
    return mayRunBase ? null : (input.noBaseline ?? "no baseline yet: create one with `baseline refresh`");
  }
  const command = otherCommand(input.candidate.fingerprint, differences);
  if (command !== null) return command;
  const differing = mismatches(differences);
  if (differing.length > 0) {
    return `the baseline comes from another environment: ${describeMismatches(differing)}`;
  }
  return null;
}

/** Number of checks that share an alpha: peaks and growths with enough baseline runs to compare with. */
function sharedBy(pairs: readonly Pair[], counts: (key: SeriesKey) => boolean, minRuns: number): number {
  let count = 0;
  for (const { key, candidate, baseline } of pairs) {
    if (!counts(key)) continue;
    if (peaks(candidate).length > 0 && peaks(baseline).length >= minRuns) count += 1;
    if (hasGrowth(candidate) && knownValues(baseline, observedGrowth).length >= minRuns) count += 1;
  }
  return Math.max(1, count);
}

/** Accepted runs without the series whose samples end early: their sizes are too low to compare with. */
function wholeHistories(histories: readonly SeriesHistory[]): readonly SeriesHistory[] {
  return histories.map(({ key, runs }) => ({ key, runs: runs.filter(isWhole) })).filter(({ runs }) => runs.length > 0);
}

function cutCheck(check: Check): Check {
  const { kind: _, ...document } = check;
  return checkOf(check, {
    ...document,
    verdict: "unjudged",
    needs_more_runs: check.gating ? 1 : 0,
    needs_base_runs: 0,
    confirmed: false,
    improved: false,
    reason: CUT_EVERYWHERE,
  });
}

/**
 * The checks of one series by a rule over its runs. The sizes of a run whose samples end early are lower bounds: above
 * a limit they count, within it they do not, and the other runs decide.
 */
function checkedWhole(
  runs: readonly SeriesRun[],
  rule: (runs: readonly SeriesRun[]) => readonly Check[],
): readonly Check[] {
  const all = rule(runs);
  const whole = runs.filter(isWhole);
  if (whole.length === runs.length) return all;
  const decided = whole.length === 0 ? [] : rule(whole);
  const sameLimit = (a: Check) => (b: Check) => a.kind === b.kind && a.limit === b.limit;
  const added = decided.filter((one) => !all.some(sameLimit(one)));
  const kept = all.map((one) => {
    if (one.verdict === "fail") return one;
    return decided.find(sameLimit(one)) ?? (one.verdict === "pass" ? cutCheck(one) : one);
  });
  return [...kept, ...added];
}

/** What is the same for all series of a comparison. */
interface Comparison {
  /** Why the baseline cannot be compared with; null when it can. */
  readonly why: string | null;
  readonly candidateRuns: number;
  /** Whether nothing was accepted yet, and the base commit did not run either. */
  readonly isFirst: boolean;
  /** Ranks whose host memory is judged, so that a part of it that could not be read is left out. */
  readonly hostRanks: ReadonlySet<number>;
}

/** What a class is judged by where no baseline is wanted. */
const ALONE = { baseline: [], older: false, growth: null } as const;

/** What the baseline has and the candidate lacks. A part of host memory is measured once more, then left out. */
function missingCheck(
  key: SeriesKey,
  aspect: "peak" | "growth",
  reason: string,
  { gating, candidateRuns, hostRanks }: Comparison & { readonly gating: boolean },
): Check {
  const isPart = key.device === "host" && key.metric !== "host" && hostRanks.has(key.rank);
  const again = isPart && gating && candidateRuns < 2;
  const left = isPart && !again;
  return checkOf(key, {
    aspect,
    limit: "baseline",
    gating: gating && !left,
    verdict: "unjudged",
    ...(again ? { needs_more_runs: 1 } : {}),
    reason: `${reason}${left ? "; the host memory that it is a part of is judged" : ""}`,
  });
}

/** Peak, growth and class of one series against the baseline. */
function seriesChecks(pair: Pair, context: RelativeContext, comparison: Comparison): readonly Check[] {
  const { why, isFirst } = comparison;
  const { key, candidate, baseline } = pair;
  const { gating, policy } = context;
  // A pool that fills, or that the change makes larger, is not a leak.
  if (isCounted(key.metric) && !candidate.some(({ series }) => series.class === "leak")) return [];
  const unjudged = (aspect: "peak" | "growth", reason: string, bytes: number | null = null) =>
    checkOf(key, { aspect, limit: "baseline", gating, verdict: "unjudged", candidate_bytes: bytes, reason });
  const lacks = (aspect: "peak" | "growth", reason: string) =>
    missingCheck(key, aspect, reason, { ...comparison, gating });
  if (candidate.length === 0)
    return why === null ? [lacks("peak", "the baseline has this series, but the candidate does not")] : [];
  const first = peaks(candidate)[0]?.value ?? null;
  const grown = knownValues(candidate, observedGrowth)[0]?.value ?? null;
  const missing = why ?? (baseline.length === 0 && !isFirst ? "the baseline does not have this series" : null);
  const stored = baseline.filter(({ rerun }) => !rerun);
  const same = ofSameAnalysis(candidate, baseline);
  // Peaks alone, as a file by hand may have them, are of no version.
  const analysed = ({ series }: SeriesRun) => series.class !== undefined || observedGrowth(series) !== null;
  const older = missing === null && baseline.some((run) => !same.includes(run) && analysed(run));
  const checks: Check[] = [];
  if (METRIC[key.metric].hasPeak) {
    if (missing !== null) checks.push(unjudged("peak", missing, first));
    else if (first === null) checks.push(unjudged("peak", "no run of the candidate has a known peak"));
    else checks.push(peakRule(context));
  }

  // Collections may be too few for a curve in one run and enough in another: then the peak of the heap decides.
  const growths = knownValues(stored, observedGrowth).length;
  const isOpen = missing === null && (grown === null || growths < policy.minBaselineRuns);
  const { isLiveHeap } = METRIC[key.metric];
  if (isLiveHeap && isOpen && stored.length > 0) return checks;
  let growth: Check | null = null;
  // Readings of what is counted may be too few for a growth in some runs: then the class decides alone.
  if (missing === null && !((isCounted(key.metric) || isLiveHeap) && isOpen)) {
    if (grown !== null) growth = growthRule(older ? { ...context, baseline: same } : context);
    else if (growths >= policy.minBaselineRuns) {
      growth = lacks("growth", "the growth is known in the baseline, but in no run of the candidate");
    }
    if (older && growth?.verdict === "unjudged") growth = { ...growth, reason: OTHER_ANALYSIS };
    if (growth !== null) checks.push(growth);
  }
  // While the baseline is incomplete, a leak fails as it does without one, also where the base commit leaks.
  const isComplete = older || stored.length >= policy.minBaselineRuns;
  const accepted = missing === null ? same.filter(({ rerun }) => isComplete || !rerun) : [];
  const compared = isComplete || growth === null ? growth : { ...growth, verdict: "unjudged" as const };
  const drift = classRule({ key, candidate, baseline: accepted, older, gating, policy, growth: compared });
  if (drift !== null) checks.push(drift);
  return checks;
}

/** Removes needs that can no longer be met. */
function withoutNeeds(checks: readonly Check[], input: JudgeInput): readonly Check[] {
  if (input.moreRunsPossible !== false && input.baseRunsPossible) return checks;
  return checks.map((one) => ({
    ...one,
    needs_more_runs: input.moreRunsPossible === false ? 0 : one.needs_more_runs,
    needs_base_runs: input.baseRunsPossible ? one.needs_base_runs : 0,
  }));
}

/** A phase that is to be judged and occurs nowhere is not passed: its name may be misspelt. */
function missingPhases(pairs: readonly Pair[], policy: Policy, gating: ReadonlySet<Metric>): readonly Check[] {
  const [metric = "allocated"] = gating;
  return policy.gatingPhases
    .filter((phase) => !pairs.some(({ key }) => key.phase === phase))
    .map((phase) =>
      checkOf(
        { rank: 0, device: "*", metric, phase },
        { aspect: "growth", limit: "baseline", gating: true, verdict: "unjudged", reason: "no run has this phase" },
      ),
    );
}

const isMemory = ({ key }: SeriesHistory): boolean => !isCounted(key.metric);

function anchorChecks(
  input: JudgeInput,
  candidate: readonly SeriesHistory[],
  gating: ReadonlySet<Metric>,
): readonly Check[] {
  if (input.anchor === null) return [];
  const gates = ({ metric }: SeriesKey): boolean => gating.has(metric);
  const differing = mismatches(compareFingerprints(input.anchor.fingerprint, input.candidate.fingerprint));
  if (differing.length > 0) {
    return anchorUnjudged(
      candidate,
      gates,
      `the anchor comes from another environment: ${describeMismatches(differing)}`,
    );
  }
  // By series: each is judged by those of its runs that count for it.
  const anchor = comparedSeries(wholeHistories(indexSeries(input.anchor)), gating, input.policy);
  return pairSeries(candidate, anchor).flatMap(({ key, candidate: runs, baseline }) =>
    checkedWhole(runs, (counted) =>
      anchorRule(
        counted.length === 0 ? [] : [{ key, runs: counted }],
        baseline.length === 0 ? [] : [{ key, runs: baseline }],
        gates,
      ),
    ),
  );
}

/**
 * The verdict on a candidate: out-of-memory, absolute budgets, the baseline and the release anchor, each separately,
 * for every rank, device and metric. An unknown value makes a check unjudged, never a pass.
 */
export function judge(given: JudgeInput): Judgement {
  const input = withBaseRuns(given);
  const { candidate, policy } = input;
  const measured = indexSeries(candidate);
  const comparable = (one: Measurements): Measurements => (hasSummedHost(input.baseline) ? withSummedHost(one) : one);
  const steps = input.anySteps === true ? null : stepsDifference(input.baseline, candidate);
  const compared = compareFingerprints(input.baseline?.fingerprint ?? null, candidate.fingerprint);
  const differences = steps === null ? compared : [...compared, steps];
  const why = incomparable(input, differences);
  const session = candidate.runs[0]?.session ?? "";
  // Re-runs of the base commit do not show which metrics a baseline knows.
  const stored = why === null ? given.baseline : null;
  const gating = gatingMetrics(policy, candidate, stored);
  const gates = (key: SeriesKey) => gating.has(key.metric);
  const series = comparedSeries(indexSeries(comparable(candidate)), gating, policy);
  const known = why === null && input.baseline !== null ? wholeHistories(indexSeries(comparable(input.baseline))) : [];
  const baseline = comparedSeries(known, gating, policy);
  const pairs = pairSeries(stored !== null ? withoutNewMetrics(series, baseline) : series, baseline);
  const alpha = policy.alpha / sharedBy(pairs, (key) => countsForAlpha(key, gating), policy.minBaselineRuns);
  const warningAlpha = WARNING_ALPHA / sharedBy(pairs, (key) => !gates(key), policy.minBaselineRuns);
  const judgedHosts = pairs.filter(
    ({ key, candidate: runs }) => key.metric === "host" && gates(key) && runs.length > 0,
  );
  const facts: Comparison = {
    why,
    candidateRuns: candidate.runs.length,
    isFirst: input.baseline === null,
    hostRanks: new Set(judgedHosts.map(({ key }) => key.rank)),
  };
  // How much memory a run needed that ran out of it is not known.
  const died = candidate.runs.some((run) => run.oom === true);
  const relative = died
    ? []
    : input.baselineWanted === false
      ? pairs.flatMap(({ key, candidate: runs }) => {
          const drift = classRule({ ...ALONE, key, candidate: runs, gating: gates(key), policy });
          return drift === null ? [] : [drift];
        })
      : pairs.flatMap((pair) =>
          checkedWhole(pair.candidate, (runs) => {
            const counted = { ...pair, candidate: runs };
            const gating = gates(pair.key);
            const share = gating ? alpha : warningAlpha;
            const { baseRunsPossible } = input;
            return seriesChecks(
              counted,
              { ...counted, session, gating, policy, alpha: share, baseRunsPossible },
              facts,
            );
          }),
        );
  const checks = [
    ...oomRule(candidate, gating),
    ...budgetRule(policy, measured, known),
    ...(died || input.baselineWanted === false ? [] : missingPhases(pairs, policy, gating)),
    ...withoutComparedSteps(
      keptRule(garbageRule(withoutExplainedGrowth(relative, gating), input), candidate.runs),
      candidate.fingerprint,
      steps,
    ),
    ...(died ? [] : anchorChecks(input, series.filter(isMemory), gating)),
  ];
  return combine(withoutNeeds(checks, input), differences);
}

/**
 * Running out of memory fails at once, because the limit is the machine's. Output of the program alone is only a
 * warning: a program may print anything. The check names the gating series with the highest peak of those runs. Empty
 * when there is none.
 */
function oomRule(candidate: Measurements, gating: ReadonlySet<Metric>): readonly Check[] {
  const certain = candidate.runs.filter((run) => run.oom === true);
  const died = certain.length > 0 ? certain : candidate.runs.filter((run) => run.oom_suspected === true);
  if (died.length === 0) return [];
  const established = certain.length > 0;
  const [highest] = indexSeries({ ...candidate, runs: died })
    .filter(({ key }) => gating.has(key.metric))
    .map(({ key, runs }) => ({
      key,
      peak: Math.max(Number.NEGATIVE_INFINITY, ...peaks(runs).map(({ value }) => value)),
    }))
    .sort((a, b) => b.peak - a.peak);
  const key = highest?.key ?? { rank: 0, device: "*", metric: [...gating][0] ?? "allocated" };
  return [
    checkOf(key, {
      aspect: "oom",
      limit: "budget",
      gating: true,
      verdict: established ? "fail" : "warn",
      confirmed: established,
      candidate_bytes: highest !== undefined && Number.isFinite(highest.peak) ? highest.peak : null,
      reason: `${established ? "ran" : "may have run"} out of memory in ${died.length} of ${plural(candidate.runs.length, "run")}`,
    }),
  ];
}
