import { groupBy } from "../../core/group-by.ts";
import { pooledDeviation } from "../../stats/moments.ts";
import { rankSumPValue } from "../../stats/rank-sum.ts";
import {
  BASE_RERUNS,
  LEVEL_GAP_MARGINS,
  LEVEL_GAP_SPREADS,
  LEVEL_LIKELIHOOD_RATIO,
  LEVEL_SESSION_ALPHA,
  MAX_LEVEL_RUNS,
  MIN_LEVEL_COVER,
  OWN_LEVEL_SHARE,
} from "../model/defaults.ts";
import type { Margin } from "./compare-with-base.ts";
import type { SessionValue } from "./sessions.ts";

/** Sizes between which runs of one program choose: a distribution with gaps, from the lowest up. Bytes. */
interface Levels {
  readonly groups: readonly (readonly number[])[];
  /** The highest value of a run at the lowest frequent level. */
  readonly lowest: number;
  /** By how much a run at a level may lie outside the known ones. */
  readonly slack: number;
  /** Values above which the next level begins; the last is above all known runs. */
  readonly bounds: readonly number[];
}

/** Whether a level has enough of the known runs to be one: the others are outliers. */
export const isFrequent = (runs: number, of: number): boolean => runs >= 2 && runs >= OWN_LEVEL_SHARE * of;

function splitAt(sorted: readonly number[], gap: number): readonly (readonly number[])[] {
  const groups: number[][] = [];
  for (const [at, value] of sorted.entries()) {
    const isNew = at === 0 || value - (sorted[at - 1] as number) > gap;
    if (isNew) groups.push([value]);
    else groups.at(-1)?.push(value);
  }
  return groups;
}

/**
 * The levels of known runs, null where they have one. A gap separates levels when it is twice as wide as the runs of a
 * level differ and a limit would see it, and when at least two levels are frequent. Levels of sessions are none of the
 * program: runs of one session then never differ by a level.
 */
export function levelsOf(known: readonly SessionValue[], margin: Margin): Levels | null {
  const sorted = known.map(({ value }) => value).sort((a, b) => a - b);
  const smallest = LEVEL_GAP_MARGINS * margin(sorted[sorted.length >> 1] ?? 0, 0);
  const gaps = sorted.slice(1).map((value, at) => value - (sorted[at] as number));
  for (const gap of gaps.sort((a, b) => b - a)) {
    if (gap < smallest) return null;
    const groups = splitAt(sorted, gap / 2);
    const spread = pooledDeviation(groups) ?? 0;
    const frequent = groups.filter(({ length }) => isFrequent(length, sorted.length));
    const covered = frequent.reduce((sum, { length }) => sum + length, 0);
    if (frequent.length < 2 || covered < MIN_LEVEL_COVER * sorted.length || gap < LEVEL_GAP_SPREADS * spread) continue;
    const ends = groups.map((group) => group.at(-1) as number);
    const bounds = ends.map((end, at) => (end + (groups[at + 1]?.[0] ?? end + gap)) / 2);
    const [first = []] = frequent;
    const top = first.at(-1) as number;
    const allowed = margin(top, spread);
    const levels = { groups, bounds, slack: Math.max(allowed, gap / 4), lowest: top + allowed };
    return areOfSessions(known, levels) ? null : levels;
  }
  return null;
}

function isAtUpperLevel({ groups: [, ...upper], slack }: Levels, value: number): boolean {
  return upper.some((group) => value >= (group[0] as number) - slack && value <= (group.at(-1) as number) + slack);
}

const levelOfValue = ({ bounds }: Levels, value: number): number => bounds.filter((bound) => value > bound).length;

/** Whether no session with several runs has two levels, and one level has such sessions alone. */
function areOfSessions(known: readonly SessionValue[], levels: Levels): boolean {
  const level = ({ value }: SessionValue): number => levelOfValue(levels, value);
  const sessions = [...groupBy(known, ({ session }) => session).values()];
  const repeated = sessions.filter(({ length }) => length > 1);
  const single = new Set(
    sessions
      .filter(({ length }) => length === 1)
      .flat()
      .map(level),
  );
  return (
    repeated.every((runs) => new Set(runs.map(level)).size === 1) &&
    repeated.flat().some((run) => !single.has(level(run)))
  );
}

type LevelComparison =
  /** No run lies at an upper level: how far they lie above the baseline decides. */
  | { readonly kind: "elsewhere" }
  /** This run, or all of them together, are as likely as without a change. */
  | { readonly kind: "same"; readonly run: number }
  | {
      readonly kind: "open" | "shift";
      readonly pValue: number;
      readonly needsMoreRuns: number;
      readonly needsBaseRuns: number;
      /** Runs that would decide if they were as those so far; null = more than are ever made. */
      readonly missing: number | null;
    };

interface LevelInput {
  readonly candidate: readonly number[];
  readonly known: readonly number[];
  readonly here: readonly number[];
  readonly alpha: number;
  readonly baseRunsPossible: boolean;
}

/**
 * Runs of the change against the distribution of the known ones, by the exact rank-sum test of their levels. Offsets
 * between sessions do not reach from one level to the next. A run at the lowest level excludes a shift. So do runs that
 * are many times as likely without a shift by one level (Wald's sequential test).
 */
export function compareLevels(levels: Levels, input: LevelInput): LevelComparison {
  const { candidate, here, alpha, baseRunsPossible } = input;
  const lowest = candidate.findIndex((value) => value <= levels.lowest);
  if (lowest >= 0) return { kind: "same", run: lowest };
  if (!candidate.some((value) => isAtUpperLevel(levels, value))) return { kind: "elsewhere" };
  const of = (values: readonly number[]) => values.map((value) => levelOfValue(levels, value));
  const [mine, known, base] = [of(candidate), of(input.known), of(here)];
  const runs = (level: number) => known.filter((one) => one === level).length + 0.5;
  const ratio = mine.reduce((product, level) => (product * runs(level)) / runs(level - 1), 1);
  const isOneHere = here.length >= BASE_RERUNS && new Set([...mine, ...base]).size === 1;
  if (ratio >= LEVEL_LIKELIHOOD_RATIO || isOneHere) return { kind: "same", run: candidate.length - 1 };

  const pValue = rankSumPValue(mine, known);
  const isShift = pValue <= alpha;
  const wantedHere = isShift || mine.length >= 2 * BASE_RERUNS ? baseRunsFor(mine.length) : 0;
  const needsBaseRuns = baseRunsPossible && here.length < wantedHere ? 1 : 0;
  // Without a base run, levels that the runs of this session choose between too are not those of sessions.
  const isAboveHere = here.length === 0 ? new Set(mine).size > 1 : rankSumPValue(mine, base) <= LEVEL_SESSION_ALPHA;
  if (isShift && isAboveHere && needsBaseRuns === 0) {
    return { kind: "shift", pValue, needsMoreRuns: 0, needsBaseRuns, missing: 0 };
  }
  const needsMoreRuns = needsBaseRuns === 0 && mine.length < MAX_LEVEL_RUNS ? 1 : 0;
  const more = runsToSignificance(mine, known, alpha);
  const missing = more === null ? null : more + Math.max(0, baseRunsFor(mine.length + more) - here.length);
  return { kind: "open", pValue, needsMoreRuns, needsBaseRuns, missing };
}

/** Base runs beside runs of the change: half as many, because the baseline has further runs to compare with. */
const baseRunsFor = (runs: number): number => Math.max(BASE_RERUNS, runs >> 1);

/** Further runs of the change after which all of them would be significant if they went on as they did. */
function runsToSignificance(mine: readonly number[], known: readonly number[], alpha: number): number | null {
  const runs = [...mine];
  while (runs.length < MAX_LEVEL_RUNS) {
    runs.push(runs[runs.length - mine.length] as number);
    if (rankSumPValue(runs, known) <= alpha) return runs.length - mine.length;
  }
  return null;
}
