/**
 * End of the initial transient by the marginal standard error rule, MSER (White 1997, "An effective truncation
 * heuristic for bias reduction in simulation output"), with residuals of a line instead of deviations from the mean:
 * the classic rule would cut a linear leak to half of its length. For a cut of t points, g(t) = (SSE of a line through
 * y[t:] + N · noise²) / N² with N points left. The t up to n/2 with the smallest g is returned, if g(t) is at most half
 * of g(0).
 * @param noise standard deviation that quantisation leaves at least, in the unit of y
 * @returns number of points to drop
 */
export function residualMser(x: Float64Array, y: Float64Array, noise: number): number {
  const n = y.length;
  if (n < 4) return 0;
  const x0 = x[n - 1]!;
  const y0 = y[n - 1]!;
  let sx = 0;
  let sy = 0;
  let sxx = 0;
  let sxy = 0;
  let syy = 0;
  const criterion = new Float64Array(Math.floor(n / 2) + 1);
  for (let t = n - 1; t >= 0; t--) {
    const dx = x[t]! - x0;
    const dy = y[t]! - y0;
    sx += dx;
    sy += dy;
    sxx += dx * dx;
    sxy += dx * dy;
    syy += dy * dy;
    if (t >= criterion.length) continue;
    const left = n - t;
    const vx = sxx - (sx * sx) / left;
    const vy = syy - (sy * sy) / left;
    const cxy = sxy - (sx * sy) / left;
    const sse = Math.max(0, vx > 0 ? vy - (cxy * cxy) / vx : vy);
    criterion[t] = (sse + left * noise * noise) / (left * left);
  }
  let best = 0;
  for (let t = 1; t < criterion.length; t++) if (criterion[t]! < criterion[best]!) best = t;
  return criterion[best]! < 0.5 * criterion[0]! ? best : 0;
}
