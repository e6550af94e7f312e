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
