import { closeProcess } from "../sampler/native.ts";

const open = closeProcess();

/**
 * What a job does about a process whose memory and environment its other processes can read; null when they cannot.
 * The process is closed when this module is evaluated: an entry imports it before anything else.
 */
export const inspectableWarning: string | null =
  open === null
    ? null
    : `the measured command can read this job's tokens, because ${open}; ` +
      "measure in a job that only reads and write in a second one (docs/github-action.md#in-two-jobs)";
