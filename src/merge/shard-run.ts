/** The run directory of a job's recordings within their leg; the merged bundle renumbers it. */
export const SHARD_RUN = "runs/recordings/1";
