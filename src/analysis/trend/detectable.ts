import { studentQuantile } from "../../stats/student-t.ts";

/** One-sided level of the trend test. */
export const SIGNIFICANCE = 0.99;
const POWER = 0.9;
/**
 * Cost of distinguishing a line from a level step at an unknown position: the variance inflation 1/(1 − 3f(1 − f)) is 4
 * in the middle, a factor of 2. The rest is the measured cost of the model comparison.
 */
const STEP_FACTOR = 2.4;

/**
 * Minimum detectable growth over the observed span at a power of 0.9: the larger of what the noise allows times
 * {@link STEP_FACTOR} and what materiality requires of the first-to-last difference, with the noise of that difference.
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
  // The difference of the outer pairs of parts contains (parts − 2) of `parts` of the growth after the warm-up. It
  // varies like one part, which is the slope's error over the span after the warm-up. Without this margin, growth of
  // exactly the material size would be detected every other time.
  const margin = studentQuantile(POWER, degrees) * standardError * seen;
  const material = (growth + margin) * (parts / (parts - 2)) * (observed / seen);
  return Math.max(STEP_FACTOR * noise, material);
}
