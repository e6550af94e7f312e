import { largest } from "./series.ts";

/** A gap this many times as long as the two beside it is none of the sampler's period, which at most doubles. */
const MIN_GAP_RATIO = 8;
/** In such a gap a series that goes on as before changes by more than this share of its mean rate. */
const MAX_RATE_SHARE = 0.5;

/** Samples along their axis. */
interface Samples {
  readonly x: Float64Array;
  readonly bytes: Float64Array;
}

/**
 * The samples along the time in which the program ran. A machine that is suspended, or loses its processors to others,
 * stops sampler and program alike: a gap after which memory is what it was before. Left in, a leak would rest there.
 * @param samples ascending in time
 */
export function withoutStalls({ x, bytes }: Samples): Samples {
  const n = x.length;
  const rate = n < 2 ? 0 : ((largest(bytes) ?? 0) - bytes[0]!) / (x[n - 1]! - x[0]!);
  let [shift, shifted] = [0, x];
  for (let i = 2; i < n - 1; i++) {
    const usual = Math.max(x[i - 1]! - x[i - 2]!, x[i + 1]! - x[i]!);
    const gap = x[i]! - x[i - 1]!;
    if (gap > MIN_GAP_RATIO * usual && Math.abs(bytes[i]! - bytes[i - 1]!) < MAX_RATE_SHARE * rate * gap) {
      if (shifted === x) shifted = x.slice();
      shift += gap - usual;
    }
    if (shift > 0) shifted[i] = x[i]! - shift;
  }
  if (shift > 0) shifted[n - 1] = x[n - 1]! - shift;
  return { x: shifted, bytes };
}
