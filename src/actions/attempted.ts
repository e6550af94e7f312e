import { withDeadline } from "../github/api/deadline.ts";
import { type Attempt, degradedWarning } from "../github/api/degrade.ts";
import type { SubAction } from "./sub-action.ts";

/** Do an optional part of a step within its time, or warn with the reason. @returns null when it failed */
export async function attempted<T>(
  { signal, warn }: Pick<SubAction, "signal" | "warn">,
  ms: number,
  attempt: Attempt,
  work: () => Promise<T>,
): Promise<T | null> {
  try {
    return await withDeadline({ ms, interrupt: signal }, work);
  } catch (error) {
    warn(degradedWarning(attempt, error));
    return null;
  }
}
