import path from "node:path";
import { describe, expect, it } from "vitest";
import { freePort } from "../testing/free-port.ts";
import {
  atSteps,
  FIXTURES,
  HEAP,
  type Left,
  only,
  probed,
  probedScript,
  slope,
  temporaryDirectory,
} from "./testing/probed.ts";
import { PYTHON, WITH_TORCH } from "./testing/pythons.ts";

const [PLAIN, RANK, AGENT, CHILD] = [0, 1, 2, 3];
const LIVES = "import time; time.sleep(0.8)";

const identity = ({ header: { rank, worldSize, role }, localRank }: Left) => ({ rank, localRank, worldSize, role });

describe.skipIf(PYTHON === null)("the rank of a process", () => {
  const python = PYTHON!;

  it.each<[string, Readonly<Record<string, string>>, object]>([
    [
      "torchrun's names",
      { RANK: "3", LOCAL_RANK: "1", WORLD_SIZE: "8", GROUP_RANK: "1" },
      { rank: 3, localRank: 1, worldSize: 8, role: RANK },
    ],
    [
      "Open MPI's",
      { OMPI_COMM_WORLD_RANK: "5", OMPI_COMM_WORLD_LOCAL_RANK: "1", OMPI_COMM_WORLD_SIZE: "6" },
      { rank: 5, localRank: 1, worldSize: 6, role: RANK },
    ],
    [
      "those of a Slurm step",
      { SLURM_PROCID: "2", SLURM_LOCALID: "0", SLURM_STEP_NUM_TASKS: "4", SLURM_NTASKS: "4", SLURM_STEP_ID: "0" },
      { rank: 2, localRank: 0, worldSize: 4, role: RANK },
    ],
    [
      "torchrun's before Slurm's, where both are set",
      { RANK: "7", WORLD_SIZE: "8", SLURM_PROCID: "1", SLURM_STEP_NUM_TASKS: "2" },
      { rank: 7, worldSize: 8, role: RANK },
    ],
    [
      "Open MPI's with the size, where a program set RANK alone",
      { RANK: "5", OMPI_COMM_WORLD_RANK: "5", OMPI_COMM_WORLD_SIZE: "6" },
      { rank: 5, worldSize: 6, role: RANK },
    ],
    ["RANK alone", { RANK: "5" }, { rank: 5, worldSize: -1, role: RANK }],
    ["nothing", {}, { rank: -1, localRank: -1, worldSize: -1, role: PLAIN }],
    ["nonsense", { RANK: "one", WORLD_SIZE: "-4" }, { rank: -1, role: PLAIN }],
  ])("comes from %s", async (_names, env, expected) => {
    const left = only(await probed(python, ["-c", LIVES], { env }));
    expect(identity(left)).toMatchObject(expected);
    expect(left.info.get("role")).toBe(["plain", "rank"][identity(left).role]);
  });

  it("a rank that is set late is noticed", async () => {
    const script = "import os, time; time.sleep(0.3); os.environ.update(RANK='1', WORLD_SIZE='2'); time.sleep(0.9)";
    expect(identity(only(await probed(python, ["-c", script])))).toMatchObject({ rank: 1, worldSize: 2, role: RANK });
  });

  it("helpers that are forked, spawned or started have the rank of their process, as its children", async () => {
    const script = `
import multiprocessing, os, subprocess, sys, time
def work(): time.sleep(0.9)
if __name__ == "__main__":
    time.sleep(0.3)
    helpers = [multiprocessing.get_context(how).Process(target=work) for how in ("fork", "spawn")]
    for helper in helpers: helper.start()
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.9)"])
    print(os.getpid(), other.pid, *[helper.pid for helper in helpers])
    for helper in helpers: helper.join()
    other.wait()
`;
    const ended = await probedScript(python, script, { env: { RANK: "1", LOCAL_RANK: "1", WORLD_SIZE: "2" } });
    const [own, ...helpers] = ended.stdout.trim().split(" ").map(Number);
    const of = (pid: number | undefined) => identity(ended.left.find((left) => left.pid === pid)!);
    expect(of(own)).toEqual({ rank: 1, localRank: 1, worldSize: 2, role: RANK });
    expect(helpers).toHaveLength(3);
    for (const pid of helpers) expect(of(pid)).toMatchObject({ rank: 1, role: CHILD });
  });

  it("leaves the program's environment as it is", async () => {
    const script =
      "import os, time; time.sleep(0.3); print(' '.join(name for name in os.environ if 'STORMLOG' in name))";
    const ended = await probed(python, ["-c", script], { env: { RANK: "0", WORLD_SIZE: "1" } });
    // What configures these tests is there too, as it is in this process.
    const added = ended.stdout
      .trim()
      .split(" ")
      .filter((name) => process.env[name] === undefined);
    expect(added.sort()).toEqual(["STORMLOG_GATE_PROBE_DIR", "STORMLOG_GATE_PROBE_MS", "STORMLOG_GATE_STEP_FILE"]);
  });
});

describe.skipIf(WITH_TORCH === null)("the ranks of torchrun", () => {
  it("ranks are separate from their launcher, and only the heap of the leaking rank grows", async () => {
    const directory = temporaryDirectory();
    // PyTorch 1.13 on Python 3.11 only starts with its output redirected, and its own port may be taken.
    const output = ["--redirects=1", "--tee=1", `--log_dir=${directory}`];
    const place = ["--nproc_per_node=4", "--master_addr=127.0.0.1", `--master_port=${await freePort()}`];
    const args = ["-m", "torch.distributed.run", ...place, ...output, path.join(FIXTURES, "leaky_rank.py")];
    const ended = await probed(WITH_TORCH!, args, { env: { OMP_NUM_THREADS: "1" }, timeoutMs: 150_000 });
    expect(ended.code, ended.stderr).toBe(0);
    const ranks = ended.left.filter(({ header }) => header.role === RANK);
    const agents = ended.left.filter(({ header }) => header.role === AGENT);
    expect(agents).toHaveLength(1);
    expect(agents[0]?.header.rank).toBe(-1);
    expect(ranks.map(identity).sort((a, b) => a.rank - b.rank)).toEqual(
      [0, 1, 2, 3].map((rank) => ({ rank, localRank: rank, worldSize: 4, role: RANK })),
    );
    // Only children of the two kinds.
    expect(ended.left.filter(({ header }) => header.role === PLAIN)).toEqual([]);
    for (const left of ranks) {
      expect(left.header).toMatchObject({ step: 600, ended: true });
      const points = atSteps(left, HEAP, 0).filter(([step]) => step > 30);
      expect(points.length).toBeGreaterThan(24);
      // 256 x 10 floats, or nothing.
      if (left.header.rank === 2) expect(slope(points) / 10_240).toBeGreaterThan(0.9);
      else expect(Math.abs(slope(points))).toBeLessThan(1500);
    }
  }, 180_000);

  it("ranks are read from the process group where the environment does not contain them", async () => {
    const script = `
import os, time, torch
import torch.distributed as distributed, torch.multiprocessing as multiprocessing
def work(rank, store):
    distributed.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
    data = torch.utils.data.DataLoader(range(64), batch_size=8, num_workers=1)
    for _ in data: time.sleep(0.1)
    distributed.barrier()
if __name__ == "__main__":
    import sys, tempfile
    multiprocessing.spawn(work, (os.path.join(tempfile.mkdtemp(), "store"),), nprocs=2)
`;
    const ended = await probedScript(WITH_TORCH!, script, { env: { OMP_NUM_THREADS: "1" }, timeoutMs: 100_000 });
    expect(ended.code).toBe(0);
    const roles = (role: number) =>
      ended.left.filter(({ header }) => header.role === role).map(({ header }) => header.rank);
    expect(roles(RANK!).sort()).toEqual([0, 1]);
    expect([...new Set(roles(CHILD!))].sort()).toEqual([0, 1]);
  }, 120_000);
});
