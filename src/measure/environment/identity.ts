import { usageError } from "../../core/errors.ts";
import type { Environment } from "../../core/process/environment.ts";
import { inSlurmStep } from "./launcher-environment.ts";

export interface RankIdentity {
  readonly rank: number;
  readonly local_rank: number;
  readonly world_size: number;
  readonly job_id: string | null;
}

interface RankVariables {
  readonly rank: string;
  readonly local: string;
  /** The first that is set. */
  readonly world: readonly string[];
  readonly counts?: (env: Environment) => boolean;
}

/**
 * Launchers' variables for rank, local rank and world size, in the order Stormlog tries them, then those of MPICH and
 * Intel MPI. Slurm's count only inside a step, and the step's number of tasks comes before the job's: a batch script is
 * given SLURM_PROCID 0 and the job's SLURM_NTASKS although no ranks were launched.
 */
const GROUPS: readonly RankVariables[] = [
  { rank: "RANK", local: "LOCAL_RANK", world: ["WORLD_SIZE"] },
  { rank: "OMPI_COMM_WORLD_RANK", local: "OMPI_COMM_WORLD_LOCAL_RANK", world: ["OMPI_COMM_WORLD_SIZE"] },
  {
    rank: "SLURM_PROCID",
    local: "SLURM_LOCALID",
    world: ["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
    counts: inSlurmStep,
  },
  { rank: "PMI_RANK", local: "MPI_LOCALRANKID", world: ["PMI_SIZE"] },
];

function integer(env: Environment, name: string): number | null {
  const text = env[name]?.trim();
  if (text === undefined || text === "") return null;
  if (!/^[+-]?\d{1,9}$/.test(text)) {
    throw usageError("RANK_INVALID", `${name} is "${text}", not an integer`, "Let the launcher set it, or unset it.");
  }
  return Number(text);
}

/** A pod of an indexed job has its number; the number of pods is known only from WORLD_SIZE. */
function indexedPod(env: Environment): Omit<RankIdentity, "job_id"> | null {
  const rank = integer(env, "JOB_COMPLETION_INDEX");
  if (rank === null) return null;
  const world_size = integer(env, "WORLD_SIZE") ?? rank + 1;
  if (rank < 0 || rank >= world_size) {
    throw usageError(
      "RANK_INVALID",
      `JOB_COMPLETION_INDEX ${rank} does not fit into WORLD_SIZE ${world_size}`,
      "Set WORLD_SIZE to the job's completions, or unset it.",
    );
  }
  return { rank, local_rank: 0, world_size };
}

/**
 * Which rank of which job this is, by the rules of Stormlog: a group counts only with both rank and world size; a
 * missing local rank is the rank; `job_id` is taken even when no group counts. For a pod of an indexed Kubernetes job
 * without any of them, the rank is its index.
 * @throws GateError RANK_INVALID (usage) for a value that is not an integer, or a rank outside its world
 */
export function rankIdentity(env: Environment): RankIdentity {
  const job_id = env.TORCHELASTIC_RUN_ID?.trim() || env.SLURM_JOB_ID?.trim() || null;
  for (const group of GROUPS) {
    if (group.counts?.(env) === false) continue;
    const worldName = group.world.find((name) => (env[name]?.trim() ?? "") !== "");
    const rank = integer(env, group.rank);
    const world_size = worldName === undefined ? null : integer(env, worldName);
    if (rank === null || world_size === null) continue;
    const local_rank = integer(env, group.local) ?? rank;
    if (world_size < 1 || rank < 0 || rank >= world_size || local_rank < 0 || local_rank >= world_size) {
      throw usageError(
        "RANK_INVALID",
        `${group.rank} ${rank} and local rank ${local_rank} do not fit into ${worldName} ${world_size}`,
        "Let the launcher set them, or unset them.",
      );
    }
    return { rank, local_rank, world_size, job_id };
  }
  return { ...(indexedPod(env) ?? { rank: 0, local_rank: 0, world_size: 1 }), job_id };
}
