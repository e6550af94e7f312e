/**
 * Where warm-up ends: residual MSER. Classic MSER compares with the mean, so a linear leak would be cut to half of its
 * length; here a line is fitted to what remains, and points are cut only when that at least halves the criterion.
 *
 * For every cut t up to half of the points: g(t) = (SSE of a line through y[t:] + N·noise²) / N², N = points left.
 * @param noise standard deviation that quantisation leaves at least, in the unit of y
 * @returns number of points to drop
 */
export function warmupCut(x: Float64Array, y: Float64Array, noise: number): number {
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

/**
 * Where tear-down begins: a process that ends gives its memory back, and the last few samples must not make a run shrink.
 * The longest run of points at the end, at most a tenth of all, that lie below everything seen in the fifth before them.
 * @returns number of points to keep
 */
export function teardownStart(low: Float64Array, high: Float64Array, material: number): number {
  const n = low.length;
  const most = Math.max(1, Math.floor(n / 10));
  if (n < 12) return n;
  const to = n - most;
  let reference = Number.POSITIVE_INFINITY;
  for (let i = to - Math.floor(n / 5); i < to; i++) reference = Math.min(reference, low[i]!);
  let keep = n;
  while (keep > to && low[keep - 1]! < reference - material / 2) keep--;
  // The fall may have begun above everything seen before.
  if (keep < n) while (keep > to && low[keep - 1]! < low[keep - 2]! - material / 4) keep--;
  // A dip from which the series returns is a saw-tooth's floor, not an end.
  if (keep < n && low[n - 1]! <= high[keep - 1]! - material / 2) {
    return abruptEnd(low.subarray(0, keep), high.subarray(0, keep), material);
  }
  return abruptEnd(low, high, material);
}

/** Share of the points in which a process that is ending can still be seen: its pages go within milliseconds. */
const ENDING_SHARE = 0.02;

/**
 * An end that is caught half-way, as in a series that rises fast: it lies below its neighbours, but not below what was there a
 * while ago. A fall near the end by more than half of what is material, as no fall before it was, from which nothing returns.
 */
function abruptEnd(low: Float64Array, high: Float64Array, material: number): number {
  const n = low.length;
  let deepest = material / 2;
  let at = n;
  for (let i = Math.max(1, n - Math.max(1, Math.floor(n * ENDING_SHARE))); i < n; i++) {
    const fall = low[i - 1]! - low[i]!;
    if (fall > deepest) {
      deepest = fall;
      at = i;
    }
  }
  if (at === n || !(low[n - 1]! <= low[at - 1]! - material / 2)) return n;
  for (let i = 1; i < at; i++) if (high[i - 1]! - low[i]! > deepest / 2) return n;
  return at;
}
