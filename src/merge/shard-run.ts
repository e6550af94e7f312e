/**
 * Where the run of a job's recordings stands within their leg, before it gets its place in the merged bundle; every recording has a
 * directory of its own in it.
 */
export const SHARD_RUN = "runs/recordings/1";
