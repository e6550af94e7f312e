import { withDeadline } from "../../github/api/deadline.ts";
import { type Attempt, degradedWarning } from "../../github/api/degrade.ts";
import type { SubAction } from "../sub-action.ts";

/** Do an optional step of the nightly run within its time, or warn with the reason. @returns null when it failed */
export async function attempted<T>(
  action: Pick<SubAction, "signal" | "warn">,
  ms: number,
  attempt: Attempt,
  work: () => Promise<T>,
): Promise<T | null> {
  try {
    return await withDeadline({ ms, interrupt: action.signal }, work);
  } catch (error) {
    action.warn(degradedWarning(attempt, error));
    return null;
  }
}
