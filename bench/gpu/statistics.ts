/** The statistics of the figures, without a package: the machine with the GPU has none installed. */

/** @param q 0 to 1; between two samples the line between them */
export function quantile(samples: readonly number[], q: number): number {
  if (samples.length === 0) throw new Error("a quantile of nothing");
  const sorted = [...samples].sort((a, b) => a - b);
  const place = q * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below]! + (place - below) * (sorted[above]! - sorted[below]!);
}

export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

/**
 * Area of Student's density between 0 and `t`, by Simpson's rule over an angle, which keeps the range finite and the
 * integrand smooth.
 */
function areaToT(t: number, freedom: number): number {
  // With t = sqrt(v) tan(a) the density becomes proportional to cos(a)^(v-1).
  const until = Math.atan(t / Math.sqrt(freedom));
  const simpson = (end: number): number => {
    const parts = 2000;
    const width = end / parts;
    let sum = 0;
    for (let i = 0; i <= parts; i++) {
      const weight = i === 0 || i === parts ? 1 : i % 2 === 1 ? 4 : 2;
      sum += weight * Math.cos(i * width) ** (freedom - 1);
    }
    return (sum * width) / 3;
  };
  return (0.5 * simpson(until)) / simpson(Math.PI / 2);
}

/** Student's t that 97.5 % of the distribution lie below. */
export function t975(freedom: number): number {
  let [low, high] = [1.9, 13];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (areaToT(middle, freedom) < 0.475) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

export interface RatioInterval {
  readonly ratio: number;
  /** 95 %; null with fewer than three. */
  readonly low: number | null;
  readonly high: number | null;
  readonly n: number;
}

/** Geometric mean of ratios with its 95 % interval: Student's t on their logarithms. */
export function ratioInterval(ratios: readonly number[]): RatioInterval {
  const logs = ratios.map(Math.log);
  const n = logs.length;
  const mean = logs.reduce((sum, one) => sum + one, 0) / n;
  if (n < 3) return { ratio: Math.exp(mean), low: null, high: null, n };
  const variance = logs.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (n - 1);
  const half = t975(n - 1) * Math.sqrt(variance / n);
  return { ratio: Math.exp(mean), low: Math.exp(mean - half), high: Math.exp(mean + half), n };
}

/**
 * Upper end of the 95 % interval (one-sided) of a rate of which `events` were seen in `trials`: Clopper and Pearson's,
 * by bisection.
 */
export function rateAtMost(events: number, trials: number): number {
  if (trials === 0 || events >= trials) return 1;
  const atMostEvents = (p: number): number => {
    let term = (1 - p) ** trials;
    let sum = term;
    for (let k = 1; k <= events; k++) {
      term *= ((trials - k + 1) / k) * (p / (1 - p));
      sum += term;
    }
    return sum;
  };
  let [low, high] = [events / trials, 1];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (atMostEvents(middle) > 0.05) low = middle;
    else high = middle;
  }
  return high;
}
