import { fstatSync } from "node:fs";
import type { Environment } from "../../core/process/environment.ts";

/**
 * MPICH's `mpiexec` and the PMI-2 of Slurm give each rank an open socket to its launcher and name its number here. Node
 * closes what it inherited in the programs it starts, and a rank without this socket ends in `MPI_Init`.
 */
export const SOCKET_VARIABLE = "PMI_FD";

/** The number that the command gets, always: the first after those that the gate's launcher uses itself. */
export const SOCKET_FD = 5;

const LOWEST_FD = 3;

/** Number of the rank's socket in this process; null where the launcher gave none. */
export function rankSocket(env: Environment): number | null {
  const text = env[SOCKET_VARIABLE];
  if (text === undefined || !/^\d{1,9}$/.test(text)) return null;
  const fd = Number(text);
  if (fd < LOWEST_FD) return null;
  try {
    return fstatSync(fd).isSocket() ? fd : null;
  } catch {
    // The variable outlived its socket, as in a shell below a rank.
    return null;
  }
}
