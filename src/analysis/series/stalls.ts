import { largest } from "./series.ts";

const STALL = {
  /** Gaps on each side that show the usual distance: readings that become rare, or two at the end, are no stall. */
  beside: 4,
  /** A gap this many times as long as each of them is none of the sampler's period, which at most doubles. */
  minRatio: 4,
  /** In such a gap a series that goes on as before changes by more than this share of the mean rate up to its peak. */
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
  for (let i = 1 + STALL.beside; i < n - STALL.beside; i++) {
    const gap = x[i]! - x[i - 1]!;
    if (!(gap > least)) continue;
    let usual = 0;
    for (let k = 1; k <= STALL.beside; k++) {
      usual = Math.max(usual, x[i - k]! - x[i - k - 1]!, x[i + k]! - x[i + k - 1]!);
    }
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
