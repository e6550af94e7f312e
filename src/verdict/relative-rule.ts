import { bound, confirmations, innocentRate, predictiveChance, predictiveConfirmations } from "./confirmation.ts";
import {
  BASE_RERUNS,
  CLEAR_MARGINS,
  CONFIRMED_ALPHA_SHARE,
  CONFIRMED_SPREADS,
  MIN_SESSION_FREEDOM,
  MIN_SESSIONS,
  OWN_LEVEL_SHARE,
} from "./defaults.ts";
import { median, pooledDeviation, spread, spreadWithin } from "./spread.ts";

/** A value of one baseline run, and the session it was measured in. */
export interface BaselineValue {
  readonly session: string;
  readonly value: number;
}

/** One quantity of one series: candidate runs in order against baseline runs. All values finite. */
export interface RelativeInput {
  readonly candidate: readonly number[];
  readonly baseline: readonly BaselineValue[];
  /** Baseline runs of this session are re-runs of the base commit. */
  readonly session: string;
  /** Smallest step of the quantity. */
  readonly quantum: number;
  /** How far above `centre` a value may lie, given the spread. */
  readonly margin: (centre: number, spread: number) => number;
  /** This check's share of the policy's alpha. */
  readonly alpha: number;
  readonly maxConfirmations: number;
  readonly minBaselineRuns: number;
  readonly baseRunsPossible: boolean;
}

interface Level {
  readonly centre: number;
  readonly spread: number;
  readonly margin: number;
  readonly threshold: number;
}

interface Judged extends Level {
  readonly runs: number;
  readonly sessions: number;
}

export type RelativeOutcome =
  | { readonly kind: "too-few"; readonly runs: number; readonly centre: number }
  | ({
      readonly kind: "within";
      /** The candidate run that ended the matter. */
      readonly value: number;
      /** Candidate runs looked at. */
      readonly used: number;
      /** Runs above the threshold at a level the baseline itself reaches. */
      readonly ownLevel: boolean;
      /** Every candidate run lies more than the margin below the centre. */
      readonly improved: boolean;
    } & Judged)
  /** All runs exceed the historic threshold, but the base commit does so too in this session. */
  | ({
      readonly kind: "session-offset";
      readonly value: number;
      readonly inSession: Level;
      readonly needsBaseRuns: number;
    } & Judged)
  | ({
      readonly kind: "breach";
      readonly value: number;
      readonly used: number;
      /** Estimated chance of an innocent breach of this many runs. */
      readonly bound: number;
      /** One at a time: any of them may end the matter. */
      readonly needsMoreRuns: number;
      readonly needsBaseRuns: number;
      /** Enough candidate runs and, where wanted, base runs of this session agree. */
      readonly confirmed: boolean;
    } & Judged);

/** Centre, spread, margin and threshold of a set of runs. */
function levelOf(values: readonly number[], spreadOfRuns: number, input: RelativeInput): Level {
  const centre = median(values);
  const margin = input.margin(centre, spreadOfRuns);
  return { centre, spread: spreadOfRuns, margin, threshold: centre + margin };
}

/**
 * Whether the baseline itself stands at this level often enough for the level to be its own: peaks of one program come in
 * a few modes, and a run in the upper one is no regression. Baseline runs up to `tolerance` below it count as there.
 */
function isOwnLevel(value: number, baseline: readonly number[], margin: number, tolerance: number): boolean {
  const there = baseline.filter((b) => b >= value - tolerance && b <= value + margin).length;
  return there >= 2 && there >= OWN_LEVEL_SHARE * baseline.length;
}

function groupsOf(values: readonly BaselineValue[]): number[][] {
  const groups = new Map<string, number[]>();
  for (const { session, value } of values) {
    const group = groups.get(session);
    if (group === undefined) groups.set(session, [value]);
    else group.push(value);
  }
  return [...groups.values()];
}

/**
 * Spread of runs within one session. From the baseline's own sessions where they hold enough pairs; else from the runs of
 * this session, doubled because they are few (and the candidate's are there for being high), and never above the spread of
 * the whole baseline, which an offset between sessions only widens.
 */
function sessionSpread(input: RelativeInput, overall: number, here: readonly (readonly number[])[]): number {
  return knownWithin(input) ?? Math.min(overall, 2 * (pooledDeviation(here) ?? overall));
}

/** Spread within the baseline's own sessions; null while they hold too few runs each. */
function knownWithin(input: RelativeInput): number | null {
  const groups = groupsOf(input.baseline);
  const freedom = groups.reduce((sum, group) => sum + group.length - 1, 0);
  return freedom >= MIN_SESSION_FREEDOM ? spreadWithin(groups, input.quantum) : null;
}

/**
 * The runs the threshold comes from. Re-runs that a breach asked for stay out of the threshold the breach was found with,
 * so that asking for them cannot move it; more runs of this session than are ever asked for are the best comparison.
 */
function thresholdRuns(here: readonly number[], elsewhere: readonly number[], least: number): readonly number[] {
  if (here.length >= least && here.length > 2 * BASE_RERUNS) return here;
  return elsewhere.length >= least ? elsewhere : [...elsewhere, ...here];
}

/**
 * Adaptive confirmation. A candidate run at or below the threshold ends the matter (pass); runs above it are repeated until
 * the estimated chance of an innocent breach is at most alpha. Before red, runs of the base commit in the same session are
 * held against the same candidate runs, because re-runs of the candidate alone all share their session's offset.
 */
export function judgeRelative(input: RelativeInput): RelativeOutcome {
  const all = input.baseline.map((b) => b.value);
  const here = input.baseline.filter((b) => b.session === input.session).map((b) => b.value);
  const elsewhere = input.baseline.filter((b) => b.session !== input.session).map((b) => b.value);
  const first = input.candidate[0];
  if (all.length < input.minBaselineRuns || first === undefined) {
    return { kind: "too-few", runs: all.length, centre: median(all) };
  }
  const pool = thresholdRuns(here, elsewhere, input.minBaselineRuns);
  const level = levelOf(pool, spread(pool, input.quantum), input);
  const judged: Judged = { ...level, runs: all.length, sessions: new Set(input.baseline.map((b) => b.session)).size };

  const tolerance = input.margin(level.centre, 0) / 20;
  const above = pool.filter((b) => b > level.threshold).length;
  const rate = innocentRate(above, pool.length);
  const wanted = confirmations(rate, input.alpha, input.maxConfirmations);
  const within = (value: number) => value <= level.threshold || isOwnLevel(value, pool, level.margin, tolerance);

  const breaching: number[] = [];
  const passed = (value: number): RelativeOutcome => ({
    kind: "within",
    value,
    used: breaching.length + 1,
    ownLevel: value > level.threshold,
    improved: input.candidate.every((c) => c < level.centre - level.margin),
    ...judged,
  });
  const breach = (
    needsMoreRuns: number,
    needsBaseRuns: number,
    confirmed: boolean,
    chance: number,
  ): RelativeOutcome => ({
    kind: "breach",
    value: median(breaching),
    used: breaching.length,
    bound: chance,
    needsMoreRuns,
    needsBaseRuns,
    confirmed,
    ...judged,
  });

  for (const value of input.candidate.slice(0, wanted)) {
    if (within(value)) return passed(value);
    breaching.push(value);
  }
  if (breaching.length < wanted) return breach(1, 0, false, bound(rate, breaching.length));

  // The breach stands. Red needs the base commit's word in this session.
  const enoughHere = here.length >= BASE_RERUNS || (here.length > 0 && judged.sessions >= MIN_SESSIONS);
  const needsBaseRuns = enoughHere ? 0 : BASE_RERUNS - here.length;
  if (needsBaseRuns > 0 && !input.baseRunsPossible) return breach(0, 0, false, bound(rate, breaching.length));

  const known = pool.length === elsewhere.length ? [...elsewhere, ...here] : pool;
  const lowestYet = Math.min(...breaching);
  const reaching = known.filter((b) => b >= lowestYet && b <= median(breaching) + level.margin).length;
  const highest = Math.max(level.threshold, ...here);
  const clear = reaching === 0 && lowestYet > highest + CLEAR_MARGINS * level.margin;
  const alpha = input.alpha * CONFIRMED_ALPHA_SHARE;
  const needed = clear
    ? wanted
    : Math.max(wanted, predictiveConfirmations(reaching, known.length, alpha, input.maxConfirmations));
  for (const value of input.candidate.slice(wanted, needed)) {
    if (within(value)) return passed(value);
    breaching.push(value);
  }
  const lowest = Math.min(...breaching);
  const chance = Math.min(bound(rate, breaching.length), predictiveChance(reaching, known.length, breaching.length));
  const needsMoreRuns = breaching.length < needed ? 1 : 0;
  if (needsBaseRuns > 0) return breach(needsMoreRuns, needsBaseRuns, false, chance);

  const inSession = levelOf(here, sessionSpread(input, level.spread, [here, breaching]), input);
  const middle = median(breaching);
  const aboveEach = lowest > Math.min(...here) + inSession.margin;
  // Two modes of the base and candidates just above the upper one: six runs of each, completely apart, settle that.
  const apart = here.length >= 2 * BASE_RERUNS && lowest > Math.max(...here) + tolerance;
  const center = median(known);
  const overall = spread(known, input.quantum);
  const inside = knownWithin(input);
  // Where sessions are known to differ, the spread of all runs says nothing of this session.
  const offsets = inside !== null && overall > 2 * inside;
  const aboveAll = offsets || middle > center + input.margin(center, CONFIRMED_SPREADS * overall);
  const holds = aboveEach && aboveAll && (middle > inSession.threshold || apart);
  if (!holds) {
    // Some base runs lie clearly below every candidate run and some do not: three runs cannot tell two modes from an offset.
    const torn = aboveEach && aboveAll && here.length < 2 * BASE_RERUNS && input.baseRunsPossible;
    const needs = torn ? 2 * BASE_RERUNS - here.length : 0;
    return { kind: "session-offset", value: middle, inSession, needsBaseRuns: needs, ...judged };
  }
  return breach(needsMoreRuns, 0, needsMoreRuns === 0, chance);
}
