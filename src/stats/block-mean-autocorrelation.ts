/** Share of the squares that are averaged. The trimmed rest contains the jumps. */
const KEPT_SHARE = 0.9;

/** Trimmed mean of the squared lag differences around their median. */
function trimmedMeanSquare(y: Float64Array, lag: number): number {
  const differences = Float64Array.from({ length: y.length - lag }, (_, i) => y[i + lag]! - y[i]!).sort();
  const middle = differences[differences.length >> 1]!;
  const squares = differences.map((difference) => (difference - middle) ** 2).sort();
  const kept = squares.subarray(0, Math.max(1, Math.floor(KEPT_SHARE * squares.length)));
  return kept.reduce((sum, square) => sum + square, 0) / kept.length;
}

/**
 * Correlation of the means of neighbouring blocks under AR(1) noise. φ comes from the variances of the lag-2 and lag-1
 * differences, whose ratio is 1 + φ (the variogram estimate), which neither a slope nor a few jumps change. The
 * correlation of means of m points follows in closed form: φ(1 − φᵐ)² / (1 − φ)² over m(1 + φ)/(1 − φ) − 2φ(1 − φᵐ)/(1
 * − φ)².
 * @param blocks number of blocks that the points are divided into
 */
export function blockMeanAutocorrelation(y: Float64Array, blocks: number): number {
  const one = trimmedMeanSquare(y, 1);
  if (!(one > 0)) return 0;
  const phi = Math.min(0.97, trimmedMeanSquare(y, 2) / one - 1);
  if (!(phi > 0)) return 0;
  const size = y.length / blocks;
  const faded = 1 - phi ** size;
  const apart = (phi * faded * faded) / (1 - phi) ** 2;
  const same = (size * (1 + phi)) / (1 - phi) - (2 * phi * faded) / (1 - phi) ** 2;
  return apart / same;
}
