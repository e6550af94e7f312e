import { studentQuantile } from "../../stats/fit.ts";

/** One-sided level of the trend test. */
export const SIGNIFICANCE = 0.99;
const POWER = 0.9;
/**
 * A plain line needs half of what a line needs that must be told from a level step at an unknown place (the variance
 * inflation 1/(1 − 3f(1 − f)) is 4 in the middle); the rest is what the story comparison costs, measured.
 */
const STEP_FACTOR = 2.4;

/**
 * Smallest growth over the whole observed span that this series would have shown nine times in ten: what the noise allows
 * times {@link STEP_FACTOR}, or what materiality demands of the first-to-last difference with its own noise on top, whichever
 * is larger.
 */
export function detectable(
  standardError: number,
  parts: number,
  observed: number,
  seen: number,
  growth: number,
): number | null {
  if (!Number.isFinite(standardError) || !(seen > 0)) return null;
  const degrees = parts - 2;
  const noise = (studentQuantile(SIGNIFICANCE, degrees) + studentQuantile(POWER, degrees)) * standardError * observed;
  // The difference of the outer pairs of parts sees (parts − 2) of `parts` of the growth after the warm-up. It varies like one
  // part, which is the slope's error over the whole of what is seen: without its own margin the floor is passed every other time.
  const margin = studentQuantile(POWER, degrees) * standardError * seen;
  const material = (growth + margin) * (parts / (parts - 2)) * (observed / seen);
  return Math.max(STEP_FACTOR * noise, material);
}
