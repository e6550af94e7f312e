import { mean } from "../../stats/moments.ts";
import { median } from "../../stats/order-statistics.ts";
import type { TrendFit } from "./trend-models.ts";

/** Number of standard errors of a difference of levels that may hide that one is above the other. */
const QUARTER_SLACK = 1;
/** A steady leak is flat at its end for less than this share of the points. */
const MAX_STEADY_FLAT = 0.2;
/** A leak begins before this share of the points: of later growth, a longer run shows whether it goes on. */
const MAX_ONSET = 0.7;
/** Minimum growth share of the second half, slack in standard errors; stricter after a warm-up that may fade out. */
export const TAIL = { plain: { share: 0.2, slack: 1 }, afterWarmup: { share: 0.3, slack: 0.5 } } as const;

/**
 * Whether the levels of four equal parts rise strictly, within the noise: growth is not confined to one stretch.
 * @param restsAllowed quarters without a rise, for a staircase of few steps
 */
export function risesThroughout(y: Float64Array, noise: number, restsAllowed: number): boolean {
  const slack = QUARTER_SLACK * noise * Math.sqrt(8 / y.length);
  let previous = Number.NEGATIVE_INFINITY;
  let rests = 0;
  for (let q = 0; q < 4; q++) {
    const part = y.subarray(Math.floor((q * y.length) / 4), Math.floor(((q + 1) * y.length) / 4));
    const quarter = slack > 0 ? mean(part) : median(part);
    if (!(quarter >= previous - slack)) return false;
    if (quarter === previous - slack && ++rests > restsAllowed) return false;
    previous = quarter;
  }
  return true;
}

/**
 * Whether the second half still grows: at least the given share of the net growth happens between its two ends. One
 * jump of more than a third of the growth is subtracted first, or a leak with a jump on top would seem to level off.
 */
export function stillRising(
  y: Float64Array,
  net: number,
  noise: number,
  tail: { share: number; slack: number },
): boolean {
  const width = Math.max(2, Math.floor(y.length / 6));
  const half = Math.floor(y.length / 2);
  let jump = 0;
  for (let i = 1; i < y.length; i++) jump = Math.max(jump, y[i]! - y[i - 1]!);
  const whole = jump > net / 3 ? Math.max(net - jump, net / 4) : net;
  return (
    mean(y, y.length - width, y.length) - mean(y, half, half + width) >
    tail.share * whole - tail.slack * noise * Math.sqrt(2 / width)
  );
}

/** Whether a model describes growth that continues: not flat, no steps, no ramp that ended long ago or began late. */
export function isSteady({ model, flatShare }: TrendFit): boolean {
  switch (model) {
    case "flat":
    case "one-step":
    case "two-steps":
    case "ended":
      return false;
    case "saturating":
      return flatShare < MAX_STEADY_FLAT;
    case "late-ramp":
      return flatShare < MAX_ONSET;
    default:
      return true;
  }
}
