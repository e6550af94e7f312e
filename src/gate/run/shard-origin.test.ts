import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Command } from "../../core/process/command.ts";
import { claimShardDirectory } from "./shard-directory.ts";
import { shardOrigin, withCommandsJob } from "./shard-origin.ts";

const argv = (...args: string[]): Command => ({ kind: "argv", argv: args });
const TRAIN = argv("python3", "train.py");
const SLURM = {
  SLURM_JOB_ID: "7",
  SLURM_STEP_ID: "0",
  SLURM_PROCID: "3",
  SLURM_LOCALID: "1",
  SLURM_STEP_NUM_TASKS: "4",
};
const directoryOf = (command: Command, env: Record<string, string>) => {
  const origin = shardOrigin(command, env, "gpu-3.cluster.local");
  return origin.kind === "node" ? [origin.directory, origin.number] : origin.kind === "rank" ? origin.directory : null;
};

let root: string;
beforeAll(() => {
  root = mkdtempSync(path.join(tmpdir(), "shard-origin-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("the directory of a recording", () => {
  it("the only recording has the output directory itself", () => {
    expect(directoryOf(TRAIN, {})).toBeNull();
    expect(directoryOf(TRAIN, { RANK: "0", WORLD_SIZE: "1" })).toBeNull();
    expect(directoryOf(argv("torchrun", "--nproc-per-node", "4", "train.py"), {})).toBeNull();
    expect(directoryOf(argv("mpirun", "-np", "4", "./solver"), { SLURM_JOB_ID: "7", SLURM_PROCID: "0" })).toBeNull();
    // A batch script has these although no ranks were launched.
    expect(directoryOf(TRAIN, { SLURM_JOB_ID: "7", SLURM_PROCID: "0", SLURM_NTASKS: "4" })).toBeNull();
  });

  it("a recording has a directory of its rank where a launcher started several", () => {
    expect(directoryOf(TRAIN, SLURM)).toBe("rank-0003");
    expect(directoryOf(TRAIN, { RANK: "1023", LOCAL_RANK: "7", WORLD_SIZE: "1024" })).toBe("rank-1023");
    expect(directoryOf(TRAIN, { JOB_COMPLETION_INDEX: "0" })).toBe("rank-0000");
    expect(directoryOf(TRAIN, { ...SLURM, SLURM_RESTART_COUNT: "1" })).toBe("restart-1/rank-0003");
  });

  it.each([
    ["torchrun", argv("torchrun", "--nnodes", "2", "--node_rank=1", "train.py"), {}, 1],
    ["torchrun, elastic", argv("torchrun", "--nnodes=1:4", "train.py"), {}, null],
    ["python -m", argv("python3", "-m", "torch.distributed.run", "--nnodes=2", "train.py"), {}, null],
    ["a shell", { kind: "shell", script: "cd /x && torchrun --nnodes=2 --node-rank 1 t.py" } as const, {}, 1],
    ["torchrun in a Slurm step", argv("torchrun", "--nproc-per-node=8", "train.py"), SLURM, 3],
    ["torchrun in a pod", argv("/opt/bin/torchrun", "train.py"), { JOB_COMPLETION_INDEX: "1" }, 1],
    ["accelerate", argv("accelerate", "launch", "--num_machines", "2", "--machine_rank", "0", "t.py"), {}, 0],
  ] as const)(
    "a recording has a directory of its node where one gate runs several ranks: %s",
    (_, command, env, number) => {
      expect(directoryOf(command, env)).toEqual(["node-gpu-3", number]);
    },
  );

  it("shardOrigin does not take a program's own arguments for a launcher", () => {
    expect(directoryOf(argv("python3", "train.py", "--backend", "torchrun", "--nnodes", "2"), {})).toBeNull();
  });

  it("withCommandsJob takes the id of a torchrun job from its command", () => {
    expect(withCommandsJob({}, argv("torchrun", "--rdzv_id=nightly", "t.py"))).toEqual({ PET_RDZV_ID: "nightly" });
    expect(withCommandsJob({ PET_RDZV_ID: "a" }, argv("torchrun", "--rdzv-id", "b"))).toEqual({ PET_RDZV_ID: "a" });
  });
});

describe("the directory of a shard", () => {
  const rank = { kind: "rank", directory: "rank-0001" } as const;

  it("the directory of a shard is made once, with its parents", () => {
    const output = path.join(root, "deep/er/out");
    const claimed = claimShardDirectory(output, rank, "slurm-7.0");
    expect(claimed.directory).toBe(path.join(output, "rank-0001"));
    expect(() => claimShardDirectory(output, rank, "slurm-7.0")).toThrow(
      expect.objectContaining({
        code: "RUN_DIRECTORY_IN_USE",
        hint: expect.stringContaining("another output directory"),
      }),
    );
    claimed.release();
    expect(existsSync(claimed.directory)).toBe(false);
    expect(claimShardDirectory(output, rank, "slurm-8.0").directory).toBe(claimed.directory);
  });

  it("the directory of a shard is not removed once it has files", () => {
    const { directory, release } = claimShardDirectory(path.join(root, "kept"), rank, "a");
    writeFileSync(path.join(directory, "samples.rec"), "x");
    release();
    expect(readdirSync(directory)).toEqual(["samples.rec"]);
  });

  it("the directory of a shard is numbered by the gate where the launcher does not number the nodes", () => {
    const output = path.join(root, "agents");
    const origin = { kind: "node", directory: "node-a", number: null } as const;
    const names = [0, 1, 2].map(() => path.basename(claimShardDirectory(output, origin, "torchrun-x").directory));
    expect(names).toEqual(["node-a-0", "node-a-1", "node-a-2"]);
    const numbered = { ...origin, number: 1 };
    expect(() => claimShardDirectory(output, numbered, "torchrun-x")).toThrow(/already/);
  });

  it("the directory of a shard is made beside a shard whose recording cannot be read", () => {
    const output = path.join(root, "earlier");
    const old = path.join(output, "node-a-0");
    mkdirSync(old, { recursive: true });
    const origin = { kind: "node", directory: "node-a", number: null } as const;
    writeFileSync(path.join(old, "recording.json"), "{");
    // What cannot be read is not known to be of another job.
    expect(claimShardDirectory(output, origin, "torchrun-y").directory).toBe(path.join(output, "node-a-1"));
  });

  it("claimShardDirectory reports a directory that cannot be made", () => {
    const file = path.join(root, "file");
    writeFileSync(file, "");
    expect(() => claimShardDirectory(file, rank, "a")).toThrow(
      expect.objectContaining({ code: "RUN_DIRECTORY_UNWRITABLE" }),
    );
  });
});
