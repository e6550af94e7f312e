/** y = intercept + slope · x, fitted by ordinary least squares. */
export interface LineFit {
  readonly slope: number;
  readonly intercept: number;
  /** Sum of squared residuals. */
  readonly sse: number;
  /** Sum of squared deviations of x from its mean. */
  readonly sxx: number;
}

/** Ordinary least squares of y on x over [from, to): slope = Sxy / Sxx (0 for equal x), SSE = Syy − slope · Sxy. */
export function fitLine(x: ArrayLike<number>, y: ArrayLike<number>, from = 0, to = y.length): LineFit {
  const n = to - from;
  const x0 = x[from] ?? 0;
  const y0 = y[from] ?? 0;
  let sx = 0;
  let sy = 0;
  for (let i = from; i < to; i++) {
    sx += x[i]! - x0;
    sy += y[i]! - y0;
  }
  const mx = sx / n;
  const my = sy / n;
  let sxx = 0;
  let sxy = 0;
  let syy = 0;
  for (let i = from; i < to; i++) {
    const dx = x[i]! - x0 - mx;
    const dy = y[i]! - y0 - my;
    sxx += dx * dx;
    sxy += dx * dy;
    syy += dy * dy;
  }
  const slope = sxx > 0 ? sxy / sxx : 0;
  return { slope, intercept: y0 + my - slope * (x0 + mx), sse: Math.max(0, syy - slope * sxy), sxx };
}

/** Bayesian information criterion (Schwarz 1978), n ln(SSE/n + s²) + p ln n, with the variance s² of rounding. */
export const schwarz = (n: number, sse: number, parameters: number, noise: number): number =>
  n * Math.log(sse / n + noise * noise) + parameters * Math.log(n);

/** The line through equally spaced points, by their index. */
export const fitSpaced = (y: Float64Array): LineFit =>
  fitLine(
    y.map((_, i) => i),
    y,
  );

/** Equally spaced points minus the line through them. */
export function detrended(y: Float64Array): Float64Array {
  const { slope, intercept } = fitSpaced(y);
  return y.map((value, i) => value - intercept - slope * i);
}

/** A level up to an onset and a line from there on, fitted by least squares. */
export interface HingeFit {
  /** Index of the last point of the level, where the line begins. */
  readonly onset: number;
  readonly slope: number;
  /** Sum of squared residuals. */
  readonly sse: number;
  /** Share of the squared deviations from the mean that the fit explains. */
  readonly explained: number;
}

/**
 * The rising hinge with the least squares over all onsets in [first, last] (Hinkley 1971, "Inference in two-phase
 * regression"), O(n): the sums over the points after an onset extend to the onset before it.
 * @param x ascending positions
 * @returns null where no hinge rises
 */
export function fitHinge(x: Float64Array, y: Float64Array, first = 0, last = y.length - 2): HingeFit | null {
  const n = y.length;
  const y0 = y[0] ?? 0;
  let total = 0;
  let squares = 0;
  for (const value of y) {
    total += value - y0;
    squares += (value - y0) ** 2;
  }
  const syy = squares - (total * total) / n;
  let best: HingeFit | null = null;
  // Sums over the points after the onset: of y, of the ramp x - x[onset], of its square, and of its product with y.
  let sum = 0;
  let ramp = 0;
  let rampSquares = 0;
  let product = 0;
  for (let onset = n - 2; onset >= Math.max(0, first); onset--) {
    const distance = x[onset + 1]! - x[onset]!;
    const after = n - 1 - onset;
    sum += y[onset + 1]! - y0;
    rampSquares += distance * (2 * ramp + after * distance);
    ramp += after * distance;
    product += distance * sum;
    const sxx = rampSquares - (ramp * ramp) / n;
    const sxy = product - (ramp * total) / n;
    if (onset > last || !(sxx > 0) || !(sxy > 0)) continue;
    const slope = sxy / sxx;
    const sse = Math.max(0, syy - slope * sxy);
    if (best === null || sse < best.sse) best = { onset, slope, sse, explained: 1 - sse / syy };
  }
  return best;
}
