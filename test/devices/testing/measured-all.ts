import { beforeAll } from "vitest";

/** How many runs go on at once: most of a run is waiting, and its start is not. */
const AT_ONCE = 3;
const TIMEOUT_MS = 280_000;

/**
 * Look at every machine before the tests of a file, a few at once; what comes back gives the outcome on one, or why
 * there is none.
 */
export function measuredAll<Outcome>(
  machines: Readonly<Record<string, () => Promise<Outcome>>>,
): (name: string) => Outcome {
  const ended = new Map<string, PromiseSettledResult<Outcome>>();
  beforeAll(async () => {
    const waiting = Object.entries(machines).values();
    const work = async (): Promise<void> => {
      for (const [name, measure] of waiting) {
        const [result] = await Promise.allSettled([measure()]);
        ended.set(name, result);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }, TIMEOUT_MS);
  return (name) => {
    const result = ended.get(name);
    if (result?.status === "fulfilled") return result.value;
    throw result?.reason ?? new Error(`${name} was not measured`);
  };
}
