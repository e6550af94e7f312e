import { describe, expect, it } from "vitest";
import { rankIdentity } from "./identity.ts";

const alone = { rank: 0, local_rank: 0, world_size: 1, job_id: null };

describe("rankIdentity", () => {
  it("rankIdentity is rank 0 of 1 without a launcher", () => {
    expect(rankIdentity({})).toEqual(alone);
  });

  it.each([
    ["torchrun", { RANK: "5", LOCAL_RANK: "1", WORLD_SIZE: "8", TORCHELASTIC_RUN_ID: "r" }, 5, 1, 8, "r"],
    [
      "Open MPI",
      { OMPI_COMM_WORLD_RANK: "2", OMPI_COMM_WORLD_LOCAL_RANK: "0", OMPI_COMM_WORLD_SIZE: "4" },
      2,
      0,
      4,
      null,
    ],
    [
      "Slurm",
      { SLURM_PROCID: "3", SLURM_LOCALID: "1", SLURM_NTASKS: "4", SLURM_STEP_ID: "0", SLURM_JOB_ID: "77" },
      3,
      1,
      4,
      "77",
    ],
    [
      "a Slurm step smaller than its job",
      { SLURM_PROCID: "1", SLURM_LOCALID: "0", SLURM_NTASKS: "8", SLURM_STEP_NUM_TASKS: "2", SLURM_STEP_ID: "3" },
      1,
      0,
      2,
      null,
    ],
    ["MPICH", { PMI_RANK: "1", MPI_LOCALRANKID: "0", PMI_SIZE: "2" }, 1, 0, 2, null],
    ["an indexed Kubernetes job", { JOB_COMPLETION_INDEX: "2", WORLD_SIZE: "4" }, 2, 0, 4, null],
    ["one without the number of pods", { JOB_COMPLETION_INDEX: "2" }, 2, 0, 3, null],
  ])("reads the variables of %s", (_, env, rank, local_rank, world_size, job_id) => {
    expect(rankIdentity(env)).toEqual({ rank, local_rank, world_size, job_id });
  });

  it("takes the first complete group", () => {
    const slurm = { SLURM_PROCID: "3", SLURM_NTASKS: "4", SLURM_STEP_ID: "0" };
    expect(rankIdentity({ ...slurm, RANK: "1", WORLD_SIZE: "2" })).toMatchObject({ rank: 1, world_size: 2 });
    expect(rankIdentity({ ...slurm, RANK: "1" })).toMatchObject({ rank: 3, local_rank: 3, world_size: 4 });
  });

  it("ignores a partial group but takes the job", () => {
    expect(rankIdentity({ RANK: "1", SLURM_JOB_ID: "9" })).toEqual({ ...alone, job_id: "9" });
    expect(rankIdentity({ RANK: "", WORLD_SIZE: "2" })).toEqual(alone);
  });

  it("does not take a batch script for a rank, although Slurm sets its variables", () => {
    // As a batch script of four tasks has them.
    const batch = {
      SLURM_PROCID: "0",
      SLURM_LOCALID: "0",
      SLURM_NODEID: "0",
      SLURM_NTASKS: "4",
      SLURM_JOB_ID: "200505",
    };
    expect(rankIdentity(batch)).toEqual({ ...alone, job_id: "200505" });
    expect(rankIdentity({ ...batch, SLURM_STEP_ID: "4294967291" })).toEqual({ ...alone, job_id: "200505" });
    expect(rankIdentity({ ...batch, SLURM_STEP_ID: "0" })).toMatchObject({ rank: 0, world_size: 4 });
  });

  it.each([
    { JOB_COMPLETION_INDEX: "4", WORLD_SIZE: "4" },
    { RANK: "x", WORLD_SIZE: "2" },
    { RANK: "2", WORLD_SIZE: "2" },
    { RANK: "-1", WORLD_SIZE: "2" },
    { RANK: "0", WORLD_SIZE: "0" },
    { RANK: "0", WORLD_SIZE: "2", LOCAL_RANK: "1.5" },
  ])("refuses %j", (env) => {
    expect(() => rankIdentity(env)).toThrow(expect.objectContaining({ code: "RANK_INVALID" }));
  });
});
