import { fitHinge, schwarz } from "../../stats/least-squares.ts";
import { median } from "../../stats/order-statistics.ts";
import { slopePValue } from "../../stats/slope-p-value.ts";
import { fitJumps } from "./segments.ts";
import { STRONG_EVIDENCE } from "./trend-models.ts";

/** Range of the onset, in shares of the points. Earlier growth is significant as a line. */
const ONSETS = { first: 0.45, last: 0.94 } as const;
/** Points after the onset. */
const MIN_POINTS = 4;
/** False alarm rate, one-sided, at the best of all onsets. */
const MAX_P_VALUE = 0.001;

export interface LateRise {
  /** Rise from the onset to the end, in the unit of the points. */
  readonly bytes: number;
  /** Share of the points before it. */
  readonly onset: number;
}

/**
 * A level followed by growth that lasts until the end, which is too short for a line through all points to be
 * significant: the hinge with the least squares over all onsets.
 * The last quarter of the rise lies above all that was before it, one jump or two do not fit as well, and the rise is
 * significant in autocorrelated noise.
 * @param y equally spaced points of the level
 * @param least smallest rise to report
 * @param rounding smallest standard deviation to assume
 */
export function findLateRise(y: Float64Array, least: number, rounding: number): LateRise | null {
  const n = y.length;
  const last = Math.min(n - 1 - MIN_POINTS, Math.floor(ONSETS.last * n));
  const hinge = fitHinge(
    y.map((_, i) => i),
    y,
    Math.floor(ONSETS.first * n),
    last,
  );
  if (hinge === null) return null;
  const { onset, slope, sse } = hinge;
  const bytes = slope * (n - 1 - onset);
  if (!(bytes > least)) return null;
  const end = median(y.subarray(n - Math.max(2, Math.round((n - onset) / 4))));
  for (let i = 0; i < onset; i++) if (!(y[i]! < end)) return null;
  const criterion = (squares: number, parameters: number) => schwarz(n, squares, parameters, rounding);
  const { one, two } = fitJumps(y);
  if (criterion(sse, 3) > Math.min(criterion(one, 3), criterion(two, 5)) - STRONG_EVIDENCE) return null;
  return slopePValue(y, rounding, onset) < MAX_P_VALUE ? { bytes, onset: onset / (n - 1) } : null;
}
