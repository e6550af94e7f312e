import type { RecordingInfo } from "../recording/model.ts";

/**
 * The info of a run with the rank that its processes reported, else the launcher's. One gate may run a launcher of
 * several ranks on one of several nodes. The memory of its process tree belongs to the lowest rank, so that two nodes
 * never claim the same one.
 */
export function withSeenRanks(info: RecordingInfo): RecordingInfo {
  const ranks = (info.probe?.processes ?? []).flatMap(({ role, rank, local_rank, world_size }) =>
    role === "rank" && rank !== null && world_size !== null && world_size > 1 && rank < world_size
      ? [{ rank, local_rank: local_rank ?? rank, world_size }]
      : [],
  );
  const lowest = ranks.reduce<(typeof ranks)[number] | null>(
    (best, one) => (best === null || one.rank < best.rank ? one : best),
    null,
  );
  if (lowest === null) return info;
  const { identity } = info;
  const world_size = Math.max(...ranks.map((one) => one.world_size));
  if (identity.world_size === world_size && ranks.some(({ rank }) => rank === identity.rank)) return info;
  const local_rank = Math.min(lowest.local_rank, world_size - 1);
  return { ...info, identity: { ...identity, rank: lowest.rank, local_rank, world_size } };
}
