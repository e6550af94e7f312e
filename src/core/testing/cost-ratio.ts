/** Upper bound of {@link costRatio} for eight times the input: linear code has 8, quadratic code 64. */
export const MAX_LINEAR_RATIO = 32;

const TRIES = 3;
/** Shorter times are noise of the clock. */
const MIN_US = 2000;

/** Processor time, since other programs on the machine do not add to it. */
function cost(work: () => void): number {
  const from = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(from);
  return user + system;
}

/** The least cost of the large input over that of the small one, which is its control. */
export function costRatio(work: (size: number) => void, small: number, large: number): number {
  const least = (size: number): number =>
    Math.max(MIN_US, Math.min(...Array.from({ length: TRIES }, () => cost(() => work(size)))));
  return least(large) / least(small);
}
