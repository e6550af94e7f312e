import type { GateReport } from "../report/model/gate-report.ts";
import { closeProcess } from "../sampler/native.ts";

const open = closeProcess();

const canRead = (reason: string): string =>
  `the measured command can read this job's tokens, because ${reason}; ` +
  "measure in a job that only reads and write in a second one (docs/github-action.md#in-two-jobs)";

/**
 * What a job does about a process whose memory and environment its other processes can read; null when they cannot.
 * The process is closed when this module is evaluated: an entry imports it before anything else.
 */
export const inspectableWarning: string | null = open === null ? null : canRead(open);

/** The same once it was measured, behind a wall or not; without one it can also rewrite what the job runs. */
export function exposureWarning({ got, reason }: NonNullable<GateReport["isolation"]>): string | null {
  if (got === "user" || got === "sudo") return null;
  return inspectableWarning ?? canRead(`it is not isolated (${reason ?? "isolation: off"})`);
}
