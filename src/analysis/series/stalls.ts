import { largest } from "./series.ts";

const STALL = {
  /** A gap this many times as long as the two beside it is none of the sampler's period, which at most doubles. */
  minRatio: 4,
  /** In such a gap a series that goes on as before changes by more than this share of its mean rate. */
  maxRateShare: 0.5,
  /** A gap of a smaller share of the run changes no class. */
  minShare: 0.05,
  /** With more of them a series is one of events, which come in bursts, and not one of readings. */
  maxNumber: 4,
} as const;

/** Samples along their axis. */
interface TimedSamples {
  readonly x: Float64Array;
  readonly bytes: Float64Array;
}

/**
 * The samples along the time in which the program ran. A machine that is suspended, or loses its processors to others,
 * stops sampler and program alike: a gap after which memory is what it was before. Left in, a leak would rest there.
 * @param samples ascending in time
 */
export function withoutStalls(samples: TimedSamples): TimedSamples {
  const { x, bytes } = samples;
  const n = x.length;
  const span = n < 2 ? 0 : x[n - 1]! - x[0]!;
  const least = STALL.minShare * span;
  const stalls = new Map<number, number>();
  for (let i = 2; i < n - 1; i++) {
    const gap = x[i]! - x[i - 1]!;
    if (!(gap > least)) continue;
    const usual = Math.max(x[i - 1]! - x[i - 2]!, x[i + 1]! - x[i]!);
    const rate = ((largest(bytes) ?? 0) - bytes[0]!) / span;
    const stands = Math.abs(bytes[i]! - bytes[i - 1]!) < STALL.maxRateShare * rate * gap;
    if (stands && gap > STALL.minRatio * usual) stalls.set(i, gap - usual);
  }
  if (stalls.size === 0 || stalls.size > STALL.maxNumber) return samples;
  let stood = 0;
  const running = x.map((at, i) => {
    stood += stalls.get(i) ?? 0;
    return at - stood;
  });
  return { x: running, bytes };
}
