import { pooledDeviation } from "../../stats/moments.ts";
import { median } from "../../stats/order-statistics.ts";
import { spread } from "../../stats/spread.ts";
import { BASE_RERUNS } from "../model/defaults.ts";
import { knownWithin, type SessionValue } from "./sessions.ts";

interface BaseComparisonInput {
  /** Runs of the change that all lie above the threshold; at least two. */
  readonly breaching: readonly number[];
  /** Runs of the base commit in the same session; at least one. */
  readonly here: readonly number[];
  /** All runs of the baseline, including those of this session. */
  readonly known: readonly number[];
  readonly baseline: readonly SessionValue[];
  /** Spread of the runs the threshold came from. */
  readonly spread: number;
  readonly quantum: number;
  readonly margin: Margin;
  /** Spreads, as the margin counts them, that a change must lie above everything known of the baseline. */
  readonly confirmedSpreads: number;
  /** Values closer than this are the same level. */
  readonly tolerance: number;
}

/**
 * Why a breach is dismissed: the base is as high in this session, reaches the level at times, or spreads that far; or
 * the runs show no more than the start of a process.
 */
export type Dismissal = "offset" | "reached" | "spread" | "start";

/** The breaching runs against runs of the base commit in the same session. */
interface BaseComparison {
  readonly inSession: Level;
  /** Null when the breach is confirmed: the change is above the base here, and above all runs of the baseline. */
  readonly dismissal: Dismissal | null;
  /** Three base runs are not enough for a dismissal: they disagree with each other. */
  readonly inconclusive: boolean;
}

/**
 * Spread of runs within one session. From the baseline's own sessions where they hold enough pairs; else from the runs
 * of this session, doubled because they are few (and the candidate's are there for being high), and never above the
 * spread of the whole baseline, which an offset between sessions only widens.
 */
function sessionSpread(within: number | null, overall: number, here: readonly (readonly number[])[]): number {
  return within ?? Math.min(overall, 2 * (pooledDeviation(here) ?? overall));
}

export function compareWithBase(input: BaseComparisonInput): BaseComparison {
  const { breaching, here, known, quantum, margin, confirmedSpreads, tolerance } = input;
  const within = knownWithin(input.baseline, quantum);
  const inSession = levelOf(here, sessionSpread(within, input.spread, [here, breaching]), margin);
  const middle = median(breaching);
  const lowest = Math.min(...breaching);
  const aboveEach = lowest > Math.min(...here) + inSession.margin;
  // The base may have two modes, with the candidates just above the upper one: six fully separated runs of each decide.
  const apart = here.length >= 2 * BASE_RERUNS && lowest > Math.max(...here) + tolerance;
  const centre = median(known);
  const overall = spread(known, quantum);
  // Where sessions are known to differ, the spread of all runs does not describe this session.
  const offsets = within !== null && overall > 2 * within;
  const aboveAll = offsets || middle > centre + margin(centre, confirmedSpreads * overall);
  const aboveHere = aboveEach && (middle > inSession.threshold || apart);
  // At most one base run of six may be as high as the candidates, whether a second mode or an outlier.
  const top = Math.max(...breaching) + inSession.margin;
  const reached = here.filter((value) => value >= lowest - tolerance && value <= top).length;
  const seldom = 2 * BASE_RERUNS * reached <= here.length;
  const dismissal = !aboveHere ? "offset" : !aboveAll ? "spread" : seldom ? null : "reached";
  const inconclusive = dismissal !== null && aboveEach && aboveAll && here.length < 2 * BASE_RERUNS;
  return { inSession, dismissal, inconclusive };
}

/** Centre and spread of a set of runs, and the highest value that a run may have. Bytes. */
export interface Level {
  readonly centre: number;
  readonly spread: number;
  readonly margin: number;
  readonly threshold: number;
}

/** By how much a value may exceed `centre`, given the spread of the runs it comes from; bytes. */
export type Margin = (centre: number, spread: number) => number;

/** Centre, spread, margin and threshold of a set of runs. */
export function levelOf(values: readonly number[], spread: number, margin: Margin): Level {
  const centre = median(values);
  const allowed = margin(centre, spread);
  return { centre, spread, margin: allowed, threshold: centre + allowed };
}
