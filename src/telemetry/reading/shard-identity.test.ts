import { describe, expect, it } from "vitest";
import type { ProbeProcess, RecordingInfo } from "../recording/model.ts";
import { recordingInfo } from "../testing/recordings.ts";
import { withSeenRanks } from "./shard-identity.ts";

function process(role: ProbeProcess["role"], rank: number | null, world_size: number | null): ProbeProcess {
  return {
    ...{ pid: 100 + (rank ?? 50), parent: 1, rank, local_rank: rank === null ? null : rank % 4, world_size, role },
    ...{ framework: "torch", versions: {}, python: "3.11", heap: null, allocator_conf: null, steps_from: null },
    ...{ devices: [], error: null },
  };
}

/** A gate whose launcher set `rank` of `world`, over these processes. */
function seen(rank: number, world: number, processes: readonly ProbeProcess[]): RecordingInfo["identity"] {
  const info = recordingInfo();
  const identity = { ...info.identity, rank, local_rank: 0, world_size: world };
  return withSeenRanks({ ...info, identity, probe: { processes, processes_total: processes.length } }).identity;
}

const eight = (...ranks: number[]) => ranks.map((rank) => process("rank", rank, 8));

describe("the rank of a recording", () => {
  it("the rank of a recording is the lowest one of its processes, which differs on every node", () => {
    expect(seen(0, 1, eight(2, 0, 1, 3))).toMatchObject({ rank: 0, local_rank: 0, world_size: 8 });
    expect(seen(0, 1, eight(7, 5, 6, 4))).toMatchObject({ rank: 4, local_rank: 0, world_size: 8 });
    // The launcher set the number of the node.
    expect(seen(1, 2, eight(4, 5, 6, 7))).toMatchObject({ rank: 4, world_size: 8 });
  });

  it("stays the launcher's when one gate has one rank", () => {
    expect(seen(3, 8, eight(3))).toMatchObject({ rank: 3, local_rank: 0, world_size: 8 });
  });

  it("stays unchanged when no process reports other ranks", () => {
    expect(seen(3, 4, [process("plain", null, null), process("agent", 0, 2)])).toMatchObject({
      rank: 3,
      world_size: 4,
    });
    expect(seen(0, 1, [process("rank", 0, 1)])).toMatchObject({ rank: 0, world_size: 1 });
    // Values from processes are untrusted.
    expect(seen(0, 1, [process("rank", 9, 4)])).toMatchObject({ rank: 0, world_size: 1 });
  });
});
