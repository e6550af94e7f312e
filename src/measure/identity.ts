import { usageError } from "../core/errors.ts";

export interface RankIdentity {
  readonly rank: number;
  readonly local_rank: number;
  readonly world_size: number;
  readonly job_id: string | null;
}

/** Launchers' variables for rank, local rank and world size, in the order Stormlog tries them. */
const GROUPS = [
  ["RANK", "LOCAL_RANK", "WORLD_SIZE"],
  ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"],
  ["SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"],
] as const;

type Environment = Readonly<Record<string, string | undefined>>;

function integer(env: Environment, name: string): number | null {
  const text = env[name]?.trim();
  if (text === undefined || text === "") return null;
  if (!/^[+-]?\d{1,9}$/.test(text)) {
    throw usageError("RANK_INVALID", `${name} is "${text}", not an integer`, "Let the launcher set it, or unset it.");
  }
  return Number(text);
}

/**
 * Which rank of which job this is, by the rules of Stormlog: a group counts only with both rank and world size; a missing
 * local rank is the rank; `job_id` is taken even when no group counts.
 * @throws GateError RANK_INVALID (usage) for a value that is no integer or a rank outside its world
 */
export function rankIdentity(env: Environment): RankIdentity {
  const job_id = env.TORCHELASTIC_RUN_ID?.trim() || env.SLURM_JOB_ID?.trim() || null;
  for (const [rankName, localName, worldName] of GROUPS) {
    const rank = integer(env, rankName);
    const world_size = integer(env, worldName);
    if (rank === null || world_size === null) continue;
    const local_rank = integer(env, localName) ?? rank;
    if (world_size < 1 || rank < 0 || rank >= world_size || local_rank < 0 || local_rank >= world_size) {
      throw usageError(
        "RANK_INVALID",
        `${rankName} ${rank} and local rank ${local_rank} do not fit into ${worldName} ${world_size}`,
        "Let the launcher set them, or unset them.",
      );
    }
    return { rank, local_rank, world_size, job_id };
  }
  return { rank: 0, local_rank: 0, world_size: 1, job_id };
}
