import { ProcessRole } from "../../sampler/record-layout.ts";
import type { RecordingInfo } from "../recording/model.ts";
import type { RecordFile } from "../recording/record-columns.ts";

/** Number of ancestors that are searched for the rank of a process. */
const GENERATIONS = 32;

/** A process's rank: its own, its nearest ancestor's, or the recording's. A launcher of ranks has none. */
export function rankOfPid(
  { streams, processes }: Pick<RecordFile, "streams" | "processes">,
  info: RecordingInfo | null,
): (pid: number) => number {
  const ownRank = info?.identity.rank ?? 0;
  const ranks = new Map<number, number>();
  const parents = new Map<number, number>();
  for (const { pid, rank, role } of streams) if (rank !== null && role !== ProcessRole.agent) ranks.set(pid, rank);
  for (const { pid, parent, rank, role } of info?.probe?.processes ?? []) {
    if (rank !== null && role !== "agent") ranks.set(pid, rank);
    if (parent !== null) parents.set(pid, parent);
  }
  // A reused pid belongs to the later process.
  for (const { pid, parent } of processes.all) if (!Number.isNaN(parent)) parents.set(pid, parent);
  return (pid) => {
    let at: number | undefined = pid;
    for (let i = 0; i < GENERATIONS && at !== undefined; i++) {
      const rank = ranks.get(at);
      if (rank !== undefined) return rank;
      at = parents.get(at);
    }
    return ownRank;
  };
}
