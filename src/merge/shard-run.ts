/**
 * The run directory of a job's recordings within their leg, with a directory for each recording. The merged bundle
 * renumbers it.
 */
export const SHARD_RUN = "runs/recordings/1";
