import { describe, expect, it } from "vitest";
import { isNamedSession, keptSession, randomId, sessionId } from "./session.ts";

describe("sessionId", () => {
  it("sessionId is the value of the variable", () => {
    expect(sessionId({ STORMLOG_GATE_SESSION: "night-7", GITHUB_RUN_ID: "1" })).toBe("night-7");
  });

  it("names run, attempt, job and runner in a workflow", () => {
    const env = { GITHUB_RUN_ID: "99", GITHUB_RUN_ATTEMPT: "2", GITHUB_JOB: "gate", RUNNER_TRACKING_ID: "github_a" };
    expect(sessionId(env)).toBe("github-99-2-gate-github_a");
    expect(sessionId({ GITHUB_RUN_ID: "99" })).toBe("github-99-1-job");
  });

  it.each([
    ["a Slurm step", { SLURM_JOB_ID: "812", SLURM_STEP_ID: "3", SLURM_PROCID: "5" }, "slurm-812.3"],
    ["a Slurm batch script", { SLURM_JOB_ID: "812", SLURM_PROCID: "0" }, "slurm-812"],
    ["a requeued job", { SLURM_JOB_ID: "812", SLURM_STEP_ID: "0", SLURM_RESTART_COUNT: "2" }, "slurm-812.0-r2"],
    ["torchrun", { TORCHELASTIC_RUN_ID: "night run", RANK: "1" }, "torchrun-night_run"],
    ["restarted workers", { TORCHELASTIC_RUN_ID: "n", TORCHELASTIC_RESTART_COUNT: "1" }, "torchrun-n-r1"],
    ["PMIx", { PMIX_NAMESPACE: "prterun-head-77@1" }, "mpi-prterun-head-77@1"],
    ["an indexed Kubernetes job", { JOB_COMPLETION_INDEX: "12", HOSTNAME: "train-12" }, "kubernetes-train"],
  ])("sessionId is the launcher's name of the job: %s", (_, env, session) => {
    expect(sessionId(env)).toBe(session);
    expect(isNamedSession(session)).toBe(true);
    expect(sessionId({ ...env, STORMLOG_GATE_SESSION: "mine" })).toBe("mine");
  });

  it("differs between workflow runs whose runner is one job of a cluster", () => {
    const env = { SLURM_JOB_ID: "812", GITHUB_RUN_ID: "99", GITHUB_RUN_ATTEMPT: "2" };
    expect(sessionId(env)).toBe("slurm-812-github-99-2");
    expect(sessionId({ ...env, GITHUB_RUN_ID: "100" })).not.toBe(sessionId(env));
    expect(sessionId({ PMIX_NAMESPACE: "77", GITHUB_RUN_ID: "99" })).toBe("mpi-77");
  });

  it("sessionId marks a given name that looks like a random one", () => {
    const drawn = "0123456789abcdef0123456789abcdef";
    expect(sessionId({ STORMLOG_GATE_SESSION: drawn })).toBe(`named-${drawn}`);
  });

  it("a session is stored with its time where the launcher repeats its name for the next job", () => {
    const time = "2026-01-02T03:04:05.000Z";
    expect(keptSession("torchrun-night", time)).toBe(`torchrun-night@${time}`);
    expect(keptSession("kubernetes-train", time)).toBe(`kubernetes-train@${time}`);
    for (const own of ["slurm-812.0", "mpi-77", "github-99-1-gate", "mine"]) expect(keptSession(own, time)).toBe(own);
  });

  it("distinguishes two MPI jobs of one number by the launcher's address", () => {
    const job = (uri: string) => sessionId({ OMPI_MCA_ess_base_jobid: "3131", OMPI_MCA_orte_hnp_uri: uri });
    expect(job("3131.0;tcp://10.0.0.1:4444")).not.toBe(job("3131.0;tcp://10.0.0.1:5555"));
    expect(job("a")).toBe(job("a"));
  });

  it("sessionId is the MPI job's for ranks that mpirun started within a Slurm job, also in a step of its daemons", () => {
    const rank = { OMPI_COMM_WORLD_RANK: "1", PMIX_NAMESPACE: "77", SLURM_JOB_ID: "812" };
    expect(sessionId(rank)).toBe("mpi-77");
    expect(sessionId({ ...rank, SLURM_STEP_ID: "0" })).toBe("mpi-77");
    expect(sessionId({ PMIX_NAMESPACE: "slurm.pmix.812.0", SLURM_JOB_ID: "812", SLURM_STEP_ID: "0" })).toBe(
      "slurm-812.0",
    );
  });

  it("ignores torchrun's default id, and a pod without the name of its job", () => {
    expect(isNamedSession(sessionId({ TORCHELASTIC_RUN_ID: "none" }))).toBe(false);
    expect(isNamedSession(sessionId({ JOB_COMPLETION_INDEX: "1", HOSTNAME: "box" }))).toBe(false);
  });

  it("sessionId is printable and bounded with any job name of a launcher", () => {
    expect(sessionId({ TORCHELASTIC_RUN_ID: "ü".repeat(500) })).toMatch(/^[\x21-\x7e]{1,200}$/);
  });

  it("sessionId is random, 128 bits, without a variable, a workflow or a launcher", () => {
    expect(sessionId({})).toMatch(/^[0-9a-f]{32}$/);
    expect(randomId()).not.toBe(randomId());
  });

  it.each(["two parts", "line\nbreak", "ü", "x".repeat(201)])("rejects %j", (name) => {
    expect(() => sessionId({ STORMLOG_GATE_SESSION: name })).toThrow(/STORMLOG_GATE_SESSION/);
  });
});
