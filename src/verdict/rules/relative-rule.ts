import { mean } from "../../stats/moments.ts";
import { median } from "../../stats/order-statistics.ts";
import { spread } from "../../stats/spread.ts";
import { studentQuantile } from "../../stats/student-t.ts";
import { METRIC } from "../../telemetry/recording/metrics.ts";
import {
  BASE_RERUNS,
  CLEAR_LEAK_RATE,
  CLEAR_MARGINS,
  CONFIRMED_ALPHA_SHARE,
  FAR_RATE,
  MAX_WARNING_RUNS,
  MIN_SESSIONS,
  WARNING_LOOK_FACTOR,
} from "../model/defaults.ts";
import type { Policy } from "../model/policy.ts";
import type { SeriesKey, SeriesRun } from "../model/series-index.ts";
import { compareWithBase, type Dismissal, type Level, levelOf, type Margin } from "./compare-with-base.ts";
import { confirmations, falseAlarmProbability, falseAlarmRate, separationProbability } from "./confirmation.ts";
import { compareFirstRuns, type FirstRunsComparison } from "./first-runs.ts";
import { compareLevels, isFrequent, levelsOf } from "./levels.ts";
import { type SessionValue, sessionBound } from "./sessions.ts";

/** One series of the candidate and the baseline, with what all relative checks share. */
export interface RelativeContext {
  readonly key: SeriesKey;
  readonly candidate: readonly SeriesRun[];
  readonly baseline: readonly SeriesRun[];
  /** The candidate's: what it shares with baseline runs of this session does not differ. */
  readonly session: string;
  readonly gating: boolean;
  readonly policy: Policy;
  /** This check's share of the alpha of all checks that gate, or of all that warn. */
  readonly alpha: number;
  readonly baseRunsPossible: boolean;
}

/** One quantity of one series: candidate runs in order against baseline runs. All values finite. */
interface RelativeQuantity {
  readonly candidate: readonly number[];
  readonly baseline: readonly SessionValue[];
  readonly margin: Margin;
  /** Spreads, as the margin counts them, that a confirmed breach lies above everything known of the baseline. */
  readonly confirmedSpreads: number;
  /** A value this far above everything known of the baseline warns without confirmation, bytes. */
  readonly singleRunMargin: number;
  /**
   * Which candidate runs leak by their own samples, and no run of the baseline does; absent for peaks. How fast a
   * program leaks may differ between its runs, so one that grows less does not clear the others.
   */
  readonly leaking?: readonly boolean[];
}

interface JudgedValues extends Level {
  /** The baseline's runs lie at several levels, so that no rise of a certain size is always found. */
  readonly hasLevels: boolean;
  readonly runs: number;
  readonly sessions: number;
}

export type RelativeOutcome =
  /** The base commit can run in this session instead. */
  | { readonly kind: "too-few"; readonly runs: number; readonly centre: number; readonly needsBaseRuns: number }
  /** The baseline is incomplete, and the base commit ran in this session. */
  | ({ readonly kind: "first-runs"; readonly runs: number } & FirstRunsComparison)
  | ({
      readonly kind: "within";
      /** The candidate run that decided. */
      readonly value: number;
      /** Candidate runs that were compared. */
      readonly used: number;
      /** The runs lie above the threshold at a level that the baseline reaches too. */
      readonly knownMode: boolean;
      /** The candidate is shown to lie below the baseline. */
      readonly improved: boolean;
    } & JudgedValues)
  /** All runs exceed the historic threshold, but so do the base commit's runs in this session. */
  | ({
      readonly kind: "dismissed";
      readonly value: number;
      readonly why: Dismissal;
      readonly inSession: Level;
      readonly needsBaseRuns: number;
    } & JudgedValues)
  /** All runs exceed the historic threshold, as an unchanged session may, and the base did not run in this one. */
  | ({
      readonly kind: "session-unknown";
      readonly value: number;
      readonly used: number;
      /** The highest level a new session may have without a change. */
      readonly limit: number;
      readonly needsMoreRuns: number;
      readonly needsBaseRuns: number;
    } & JudgedValues)
  /** Runs at levels that the baseline has too, whose shares may have changed. */
  | ({
      readonly kind: "levels";
      readonly value: number;
      readonly used: number;
      readonly pValue: number;
      /** Runs that would show whether they did; null = more than are ever made. */
      readonly missing: number | null;
      readonly needsMoreRuns: number;
      readonly needsBaseRuns: number;
    } & JudgedValues)
  | ({
      readonly kind: "breach";
      readonly value: number;
      readonly used: number;
      /** Estimated false alarm probability of a breach by this many runs. */
      readonly falseAlarm: number;
      /** One at a time: each of them may decide. */
      readonly needsMoreRuns: number;
      readonly needsBaseRuns: number;
      /** Enough candidate runs and, where wanted, base runs of this session agree; else a breach does not warn. */
      readonly confirmed: boolean;
    } & JudgedValues);

type Breach = Extract<RelativeOutcome, { kind: "breach" }>;

/** Whether enough of the baseline reaches this level (down to `tolerance` below): the peaks of a program have modes. */
function isOwnLevel(value: number, baseline: readonly number[], margin: number, tolerance: number): boolean {
  return isFrequent(baseline.filter((b) => b >= value - tolerance && b <= value + margin).length, baseline.length);
}

/**
 * The estimated rate at which runs without a regression are as the breaching ones, and the runs that confirm them: two
 * leaks far above the limit, or two runs further above everything known than programs are known to reach, say more than
 * two values far above it, which a mode of the program may reach.
 */
function evidence(
  { candidate, baseline, leaking = [], singleRunMargin }: RelativeQuantity,
  { threshold, margin }: Level,
  pool: readonly number[],
  { alpha, policy: { maxConfirmations } }: RelativeContext,
): { readonly rate: number; readonly wanted: number; readonly certain: boolean } {
  const rate = falseAlarmRate(pool.filter((b) => b > threshold).length, pool.length);
  const highest = Math.max(threshold, ...baseline.map(({ value }) => value));
  const at = (bound: number) => {
    const lower = Math.min(rate, bound);
    const wanted = confirmations((runs) => falseAlarmProbability(lower, runs), alpha, maxConfirmations);
    return { rate: lower, wanted, certain: bound < 1 };
  };
  const isFar = (value: number) => singleRunMargin > 0 && value > highest + singleRunMargin;
  const isLeak = (value: number, run: number) => leaking[run] === true && value > threshold + CLEAR_MARGINS * margin;
  const [far, leak] = [at(FAR_RATE), at(CLEAR_LEAK_RATE)];
  const allOf = (runs: number, holds: (value: number, run: number) => boolean) =>
    candidate.length >= runs && candidate.slice(0, runs).every(holds);
  if (allOf(far.wanted, isFar)) return far;
  return allOf(leak.wanted, isLeak) ? leak : at(1);
}

/** The values of the baseline by session, and those of accepted runs apart from re-runs of the base commit. */
function runsBySession(baseline: readonly SessionValue[], session: string) {
  const values = (which: (run: SessionValue) => boolean) => baseline.filter(which).map(({ value }) => value);
  return {
    all: values(() => true),
    here: values((run) => run.session === session),
    elsewhere: values((run) => run.session !== session),
    stored: values(({ rerun }) => rerun !== true),
    reruns: values(({ rerun }) => rerun === true),
  };
}

/**
 * Whether the measured runs show an improvement: the rule of a breach, mirrored, which asks for no run. Without the
 * base commit in this session, they must also lie below every level that a new session of the baseline may have. A
 * single run must lie below all runs of the baseline by the margin besides. Of unchanged programs, 0.2 % or fewer
 * are then called improved, and without these conditions up to 43 % (five noise models, three offsets of sessions).
 */
function isImprovement(context: RelativeContext, input: RelativeQuantity): boolean {
  const candidate = input.candidate.map((value) => -value);
  const baseline = input.baseline.map((run) => ({ ...run, value: -run.value }));
  const alpha = Math.min(context.alpha, context.policy.alpha);
  const mirrored = judgeAbove({ ...context, alpha, baseRunsPossible: false }, { ...input, candidate, baseline });
  if (mirrored.kind !== "breach") return false;
  if (mirrored.confirmed) return true;
  const quantum = METRIC[context.key.metric].quantumBytes;
  const bound = sessionBound(baseline, candidate, quantum, alpha);
  if (bound === null) return false;
  const highest = Math.max(mirrored.threshold, ...baseline.map(({ value }) => value));
  const least = mirrored.needsMoreRuns === 0 ? mirrored.threshold : highest + mirrored.margin;
  return candidate.every((value) => value > Math.max(bound, least));
}

/** The runs against the baseline, and whether runs within the limit are an improvement. */
export function judgeRelative(context: RelativeContext, input: RelativeQuantity): RelativeOutcome {
  const outcome = context.gating ? judgeAbove(context, input) : judgeWarning(context, input);
  if (outcome.kind !== "within" || outcome.knownMode) return outcome;
  return { ...outcome, improved: isImprovement(context, input) };
}

/** The baseline's level and limit for one quantity; too few runs have none. */
function limitsOf(context: RelativeContext, input: RelativeQuantity) {
  const { candidate, baseline, margin, confirmedSpreads, leaking } = input;
  const { minBaselineRuns } = context.policy;
  const { all, here, elsewhere, stored } = runsBySession(baseline, context.session);
  if (stored.length < minBaselineRuns || candidate.length === 0) {
    return { kind: "too-few", runs: stored.length, centre: median(all), needsBaseRuns: 0 } as const;
  }
  // Re-runs that a breach asked for do not count, so that asking for them cannot move the threshold. More runs of this
  // session than are ever asked for are the best comparison.
  const isManyHere = here.length >= minBaselineRuns && here.length > 2 * BASE_RERUNS;
  const pool = isManyHere ? here : elsewhere.length >= minBaselineRuns ? elsewhere : stored;
  const quantum = METRIC[context.key.metric].quantumBytes;
  const level = levelOf(pool, spread(pool, quantum), margin);
  const levels = leaking === undefined ? levelsOf(baseline, margin) : null;
  const sessions = new Set(baseline.map((b) => b.session)).size;
  const judged: JudgedValues = { ...level, hasLevels: levels !== null, runs: all.length, sessions };
  const tolerance = margin(level.centre, 0) / 20;
  const within = (value: number) =>
    levels === null
      ? value <= level.threshold || isOwnLevel(value, pool, level.margin, tolerance)
      : value <= levels.lowest;
  const quantities = { baseline, here, spread: level.spread, quantum, margin, confirmedSpreads, tolerance };
  /** Runs that breach, beside the base commit's of this session. */
  const beside = (breaching: readonly number[], known: readonly number[]) =>
    compareWithBase({ ...quantities, breaching, known });
  return { kind: "compared", all, here, pool, level, levels, judged, quantum, within, beside } as const;
}

function withinLimit(value: number, used: number, judged: JudgedValues): RelativeOutcome {
  return { kind: "within", value, used, knownMode: value > judged.threshold, improved: false, ...judged };
}

/**
 * Whether an unconfirmed warning asks for another run: runs that unchanged programs seldom have (a prediction bound by
 * Student's t at ten times alpha, which widens with the number of checks, and a level that few runs of the baseline
 * reach), from which the runs that may be asked for can still become significant.
 */
function isWorthARun(lowest: number, baseline: readonly number[], { centre, spread }: Level, alpha: number): boolean {
  const count = baseline.length;
  const reaching = baseline.filter((b) => b >= lowest).length;
  const looked = Math.min(0.5, WARNING_LOOK_FACTOR * alpha);
  const bound = centre + studentQuantile(1 - looked, count - 1) * spread * Math.sqrt(1 + 1 / count);
  return (
    lowest > bound && !isFrequent(reaching, count) && separationProbability(reaching, count, MAX_WARNING_RUNS) <= alpha
  );
}

/**
 * The rule of a metric that does not gate: a warning is a claim too. It is made when every run of the candidate exceeds
 * the threshold and the exact rank test against the baseline is significant at alpha, which all such checks of a change
 * share. A few runs more may be asked for, runs of the base commit never, which count where there are some. A breach
 * that stays unconfirmed warns only far above everything known.
 */
function judgeWarning(context: RelativeContext, input: RelativeQuantity): RelativeOutcome {
  const { candidate, baseline } = input;
  const limits = limitsOf(context, input);
  if (limits.kind === "too-few") return limits;
  const { all, here, level, judged, quantum, beside } = limits;
  const passing = candidate.findIndex((value) => value <= level.threshold);
  if (passing >= 0) return withinLimit(candidate[passing] as number, passing + 1, judged);

  const value = median(candidate);
  const used = candidate.length;
  const lowest = Math.min(...candidate);
  const reaching = all.filter((b) => b >= lowest).length;
  const falseAlarm = separationProbability(reaching, all.length, used);
  const shown = falseAlarm <= context.alpha || lowest > Math.max(level.threshold, ...all) + input.singleRunMargin;
  const needsMoreRuns = !shown && used < MAX_WARNING_RUNS && isWorthARun(lowest, all, level, context.alpha) ? 1 : 0;
  const found = { value, used, needsMoreRuns, needsBaseRuns: 0, ...judged };
  if (here.length > 0) {
    const { dismissal: why, inSession } = beside(candidate, all);
    if (why !== null) return { kind: "dismissed", value, why, inSession, needsBaseRuns: 0, ...judged };
  } else if (shown) {
    const limit = sessionBound(baseline, candidate, quantum, context.alpha);
    if (limit !== null && value <= limit) return { kind: "session-unknown", limit, ...found };
  }
  return { kind: "breach", falseAlarm, confirmed: shown, ...found };
}

/** The change against the base commit in this session, where the baseline has too few runs. */
function judgeFirstRuns(
  { session, baseRunsPossible }: RelativeContext,
  { candidate, baseline, margin, singleRunMargin: far }: RelativeQuantity,
  tooFew: Extract<RelativeOutcome, { kind: "too-few" }>,
): RelativeOutcome {
  const { reruns: here } = runsBySession(baseline, session);
  if (candidate.length === 0) return tooFew;
  if (here.length === 0) return { ...tooFew, needsBaseRuns: baseRunsPossible ? 1 : 0 };
  return { kind: "first-runs", runs: tooFew.runs, ...compareFirstRuns({ candidate, here, margin, far }) };
}

/**
 * Adaptive confirmation. A candidate run at or below the threshold passes. Runs above it are repeated until the
 * estimated false alarm probability is at most alpha. Before a fail, runs of the base commit in the same session are
 * compared with the same candidate runs, because re-runs of the candidate share the offset of their session. Without
 * such runs, the spread between sessions of the baseline is used instead.
 */
function judgeAbove(context: RelativeContext, input: RelativeQuantity): RelativeOutcome {
  const { baseRunsPossible } = context;
  const { maxConfirmations } = context.policy;
  const limits = limitsOf(context, input);
  if (limits.kind === "too-few") return judgeFirstRuns(context, input, limits);
  const { all, here, pool, level, levels, judged, quantum, within, beside } = limits;
  const { candidate } = input;
  const shares =
    levels === null
      ? null
      : compareLevels(levels, { candidate, known: all, here, alpha: context.alpha, baseRunsPossible });
  if (shares?.kind === "same") return withinLimit(candidate[shares.run] as number, shares.run + 1, judged);
  if (shares?.kind === "open" || shares?.kind === "shift") {
    const { kind, pValue, ...needs } = shares;
    const found = { ...judged, value: mean(candidate), centre: mean(all), used: candidate.length, ...needs };
    if (kind === "open") return { kind: "levels", pValue, ...found };
    return { kind: "breach", falseAlarm: pValue, confirmed: here.length > 0, ...found };
  }
  const { rate, wanted, certain } = evidence(input, level, pool, context);

  const breaching: number[] = [];
  let [misses, allLeak] = [0, true];
  type Found = Pick<Breach, "needsMoreRuns" | "needsBaseRuns" | "confirmed" | "falseAlarm">;
  const breach = (found: Found): Breach => {
    return { kind: "breach", value: median(breaching), used: breaching.length, ...found, ...judged };
  };
  const used = () => breaching.length + misses;
  const chance = (runs = used(), missed = misses) => falseAlarmProbability(rate, runs, missed);
  /** Whether leaks of all other runs can outweigh one that is within the limit. */
  const mayMiss = () => used() > 0 && allLeak && chance(maxConfirmations, misses + 1) <= context.alpha;
  /** Takes runs up to a number of them. @returns one that decides for a pass */
  const take = (most: () => number): RelativeOutcome | null => {
    for (let value = input.candidate[used()]; value !== undefined && used() < most(); value = input.candidate[used()]) {
      if (!within(value)) {
        allLeak &&= input.leaking?.[used()] === true;
        breaching.push(value);
      } else if (mayMiss()) misses += 1;
      else return withinLimit(value, used() + 1, judged);
    }
    return null;
  };
  const first = () =>
    misses === 0 ? wanted : confirmations((runs) => chance(runs), context.alpha, maxConfirmations, misses);
  const cleared = take(first);
  if (cleared !== null) return cleared;
  if (used() < first()) {
    return breach({ needsMoreRuns: 1, needsBaseRuns: 0, confirmed: false, falseAlarm: chance() });
  }

  // A fail needs base runs in this session, and enough runs to exclude a level that the base seldom reaches (Laplace's
  // rule of succession, which is the test of exceedances with one run more).
  const known = pool === here ? here : all;
  const lowestYet = Math.min(...breaching);
  const reaching = known.filter((b) => b >= lowestYet && b <= median(breaching) + level.margin).length;
  const highest = Math.max(level.threshold, ...here);
  const clear = reaching === 0 && lowestYet > highest + CLEAR_MARGINS * level.margin;
  const alpha = context.alpha * CONFIRMED_ALPHA_SHARE;
  const needed =
    clear || (here.length === 0 && !baseRunsPossible)
      ? 0
      : confirmations((runs) => separationProbability(reaching, known.length + 1, runs), alpha, maxConfirmations);
  const enough = () => Math.max(first(), Math.min(maxConfirmations, needed + misses));
  const later = take(enough);
  if (later !== null) return later;
  const needsMoreRuns = used() < enough() ? 1 : 0;
  const value = median(breaching);
  const falseAlarm = Math.min(chance(), separationProbability(reaching, known.length + 1, breaching.length));
  // One base run is enough for a change far above it. Dismissing a breach, or confirming a near one, takes more.
  const fewHere =
    here.length > 0 && ((certain && clear) || (judged.sessions >= MIN_SESSIONS && (clear || !baseRunsPossible)));
  const missing = here.length >= BASE_RERUNS || fewHere ? 0 : BASE_RERUNS - here.length;
  const needsBaseRuns = baseRunsPossible ? missing : 0;

  if (here.length === 0) {
    const limit = sessionBound(input.baseline, breaching, quantum, context.alpha);
    if (limit !== null && value <= limit) {
      return { kind: "session-unknown", value, used: breaching.length, limit, needsMoreRuns, needsBaseRuns, ...judged };
    }
    return breach({ needsMoreRuns, needsBaseRuns, confirmed: false, falseAlarm });
  }
  const { dismissal: why, inSession, inconclusive } = beside(breaching, known);
  if (why !== null) {
    const open = inconclusive && baseRunsPossible ? 2 * BASE_RERUNS - here.length : 0;
    return { kind: "dismissed", value, why, inSession, needsBaseRuns: Math.max(needsBaseRuns, open), ...judged };
  }
  const confirmed = needsMoreRuns === 0 && missing === 0;
  return breach({ needsMoreRuns, needsBaseRuns, confirmed, falseAlarm });
}
