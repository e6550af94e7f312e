import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { PYTHON } from "../probe/testing/pythons.ts";
import { installGate } from "../testing/installed-gate.ts";
import { merge } from "./testing/merged.ts";
import { missingProgram, plainEnvironment, run, type Started, shortDirectory, until } from "./testing/program.ts";
import { isMeasured, shard, shards } from "./testing/shards.ts";
import { type BatchEnd, killNode, Slurm, whyNoSlurm } from "./testing/slurm.ts";

const reason = whyNoSlurm() ?? (PYTHON === null ? "no Python was found" : null);
if (reason !== null) console.warn(`Slurm is not tested: ${reason}`);

const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
const WORKER = fixture("worker.py");
const ALL = ["rank-0000", "rank-0001", "rank-0002", "rank-0003"];
const TEST_MS = 90_000;

/** The verdict stands at the end, and a test's output may be cut after its beginning. */
const lastLines = (file: string): string => readFileSync(file, "utf8").split("\n").slice(-20).join("\n");

describe.skipIf(reason !== null)("a job of Slurm on two nodes", () => {
  const shared = shortDirectory();
  const worker = [PYTHON?.executable ?? "python3", WORKER];
  let slurm: Slurm;
  /** Two jobs that only wait for Slurm to end them; Slurm looks at time limits twice a minute. */
  let overTime: Started;
  let warned: Promise<BatchEnd>;

  const record = (output: string, command: readonly string[] = worker): string[] => {
    return ["stormlog-gate", "record", "--output", output, "--", ...command];
  };
  const merged = (...args: string[]) => merge(args, { cwd: shared, env: slurm.env });

  /** The example's files in a separate directory, with the worker as the training. */
  const example = (name: string): string => {
    const directory = path.join(shared, name);
    cpSync(path.join(packageRoot(), "examples", "slurm"), directory, { recursive: true });
    cpSync(WORKER, path.join(directory, "train.py"));
    return directory;
  };

  beforeAll(async () => {
    const { bin } = await installGate(path.join(shared, "gate"));
    slurm = new Slurm(path.join(shared, "slurm"), shared, plainEnvironment(bin));
    slurm.up();
    const warnable = example("warned");
    const options = ["--time=10", "--signal=TERM@60", "--output=warned.log"];
    warned = slurm.in(warnable).sbatch(options, ["memory-gate.sbatch"], { STEPS: "3000", STEP_S: "0.1" });
    // Where only some of these tests run, it is never awaited.
    warned.catch(() => {});
    const slow = { STEPS: "3000", STEP_S: "0.2" };
    overTime = slurm.startStep(["--job-name=over", "--time=10"], record("over"), slow);
    const jobOf = (name: string): string => slurm.jobs(name)[0] ?? "none";
    const measures = (output: string) => () => ALL.every((name) => isMeasured(shared, output, name));
    await until("the job over time runs", measures("over"), TEST_MS);
    await slurm.command(["scontrol", "update", `JobId=${jobOf("over")}`, "EndTime=now+1"]);
    const job = jobOf("memory-gate");
    await until("the warned job runs", measures(`warned/memory-results/${job}/shards`), TEST_MS);
    await slurm.command(["scontrol", "update", `JobId=${job}`, "EndTime=now+60"]);
  }, 3 * TEST_MS);

  afterAll(() => slurm?.down());

  it(
    "fails by the one rank of the second node that leaks, and names rank and node",
    async () => {
      const step = await slurm.srun([], record("leak"), { LEAKING_RANK: "3" });
      expect(step.code, step.stderr).toBe(0);
      expect(readdirSync(path.join(shared, "leak"))).toEqual(ALL);
      expect(ALL.map((name) => shard(shared, "leak", name).identity)).toMatchObject(
        [0, 1, 2, 3].map((rank) => ({ rank, world_size: 4 })),
      );
      const { code, merged: answer, stderr } = await merged("leak", "--bundle", "leak-bundle");
      expect([code, answer.verdict], stderr).toEqual([4, "fail"]);
      const failed = answer.scenarios[0]?.judgement?.checks.filter(({ verdict }) => verdict === "fail") ?? [];
      expect(new Set(failed.map(({ rank }) => rank))).toEqual(new Set([3]));
      const { host } = shard(shared, "leak", "rank-0003").identity;
      for (const text of [stderr, readFileSync(path.join(shared, "leak-bundle/summary.md"), "utf8")]) {
        expect(text).toContain("rank 3");
        expect(text).toContain(host);
      }
    },
    TEST_MS,
  );

  it(
    "the scripts of the example measure and judge a job and store its baseline",
    async () => {
      const directory = example("example");
      const submit = (script: string, env: Record<string, string> = {}) =>
        slurm.in(directory).sbatch([`--output=${script}.log`], [script], { STEPS: "80", ...env });
      const log = (script: string): string => readFileSync(path.join(directory, `${script}.log`), "utf8");
      const end = (script: string): string => lastLines(path.join(directory, `${script}.log`));

      const baseline = await submit("memory-baseline.sbatch");
      expect(baseline.code, end("memory-baseline.sbatch")).toBe(0);
      expect(log("memory-baseline.sbatch")).toMatch(/5 runs, 5 sessions/);
      const fixed = await submit("memory-gate.sbatch");
      expect(fixed.code, end("memory-gate.sbatch")).toBe(0);
      const leaky = await submit("memory-gate.sbatch", { LEAKING_RANK: "3" });
      expect(leaky.code, end("memory-gate.sbatch")).toBe(4);
      expect(log("memory-gate.sbatch")).toContain("rank 3");
    },
    4 * TEST_MS,
  );

  it.skipIf(missingProgram(["mpirun.openmpi"]) !== null)(
    "ranks that PMIx or an mpirun in the batch script starts belong to one job",
    async () => {
      const mpi = (output: string) => record(output, [worker[0] ?? "", fixture("mpi.py"), "openmpi"]);
      const pmix = await slurm.srun(["--mpi=pmix"], mpi("pmix"), { STEPS: "30" });
      expect(pmix.code, pmix.stderr).toBe(0);
      expect(pmix.stdout).toContain("MPI rank 3 of 4");
      if (missingProgram(["mpirun.mpich"]) === null) {
        const mpich = [worker[0] ?? "", fixture("mpi.py"), "mpich"];
        const pmi2 = await slurm.srun(["--mpi=pmi2"], record("pmi2", mpich), { STEPS: "30" });
        expect(pmi2.stdout, pmi2.stderr).toContain("MPI rank 3 of 4");
        expect(shards(shared, "pmi2")).toEqual(ALL);
      }
      const wrapped = ["--wrap", `mpirun.openmpi ${mpi("mpirun").join(" ")}`];
      const env = { STEPS: "30", OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1" };
      const batch = await slurm.sbatch(["--nodes=2", "--ntasks-per-node=2", "--output=mpirun.log"], wrapped, env);
      expect(batch.code, readFileSync(path.join(shared, "mpirun.log"), "utf8")).toBe(0);
      for (const output of ["pmix", "mpirun"]) {
        expect(shards(shared, output)).toEqual(ALL);
        expect(new Set(ALL.map((name) => shard(shared, output, name).session)).size).toBe(1);
      }
    },
    TEST_MS,
  );

  it(
    "names the ranks of which nothing is there at all",
    async () => {
      mkdirSync(path.join(shared, "half"), { recursive: true });
      for (const name of ["rank-0000", "rank-0002"]) {
        cpSync(path.join(shared, "leak", name), path.join(shared, "half", name), { recursive: true });
      }
      const { code, merged: answer } = await merged("half", "--bundle", "half-bundle", "--baseline", "none");
      expect([code, answer.verdict]).toEqual([6, "unjudged"]);
      expect(answer.scenarios[0]?.judgement?.reason).toMatch(/ranks 1, 3 of 4/);
    },
    TEST_MS,
  );

  it(
    "a batch script that starts the gate itself is one rank",
    async () => {
      const script = ["--wrap", record("batch").join(" ")];
      const { code } = await slurm.sbatch(["--nodes=2", "--ntasks-per-node=2"], script, { STEPS: "30" });
      expect(code).toBe(0);
      const { identity } = shard(shared, "batch", ".");
      expect(identity).toMatchObject({ rank: 0, world_size: 1 });
    },
    TEST_MS,
  );

  it(
    "every task of an array is a separate job, whose directory refuses the shards of another task",
    async () => {
      const inner = (output: string) => ["--wrap", `srun ${record(output).join(" ")}`];
      const array = ["--array=0-1", "--ntasks=2", "--nodes=2", "--output=array-%a.log"];
      const apart = await slurm.sbatch(array, inner("array-$SLURM_ARRAY_TASK_ID"), { STEPS: "40" });
      expect(apart.code).toBe(0);
      const sessions = [0, 1].map((task) => shard(shared, `array-${task}`, "rank-0000").session);
      expect(new Set(sessions).size).toBe(2);
      expect(shards(shared, "array-0")).toEqual(["rank-0000", "rank-0001"]);
      const together = await slurm.sbatch(array, inner("array-0"), { STEPS: "40" });
      expect(together.code).not.toBe(0);
      for (const task of [0, 1]) {
        expect(readFileSync(path.join(shared, `array-${task}.log`), "utf8")).toMatch(/RUN_DIRECTORY_IN_USE.*shard/);
      }
      const both = await merged("array-0", "array-1", "--bundle", "array-bundle", "--baseline", "none");
      expect(both.merged.scenarios).toHaveLength(2);
    },
    TEST_MS,
  );

  it(
    "a preempted job has its recordings finished: interrupted, 130",
    async () => {
      const options = ["--job-name=spare", "--partition=spare", "--cpus-per-task=2"];
      const step = slurm.startStep(options, record("preempted"), { STEPS: "3000" });
      await until("all ranks are measured", () => ALL.every((name) => isMeasured(shared, "preempted", name)));
      const urgent = await slurm.srun(["--partition=urgent", "--ntasks-per-node=1", "--cpus-per-task=8"], ["true"]);
      expect(urgent.code, urgent.stderr).toBe(0);
      const { code, stderr } = await step.ended;
      expect(code, stderr).toBe(130);
      for (const name of ALL) {
        const { complete, exit } = shard(shared, "preempted", name);
        expect([name, complete, exit]).toEqual([name, true, { kind: "interrupted", signal: "SIGTERM" }]);
      }
      const answer = await merged("preempted", "--bundle", "preempted-bundle");
      expect(answer.merged.verdict).not.toBe("pass");
      expect(answer.code, answer.stderr).toBe(130);
    },
    TEST_MS,
  );

  it.skipIf(process.getuid?.() !== 0)(
    "names the cause when its disk is read-only or full",
    async () => {
      const mounted = (options: string, output: string): string[] => {
        const inside = record(path.join(output, "run")).join(" ");
        return ["unshare", "--mount", "sh", "-c", `mount -t tmpfs -o ${options} none ${output} && exec ${inside}`];
      };
      mkdirSync(path.join(shared, "disk"));
      const alone = ["--nodes=1", "--ntasks-per-node=1"];
      const readOnly = await slurm.srun(alone, mounted("ro", "disk"), { STEPS: "5" });
      expect([readOnly.code, readOnly.stderr]).toEqual([1, expect.stringMatching(/RUN_DIRECTORY_UNWRITABLE.*EROFS/)]);
      const full = await slurm.srun(alone, mounted("size=16k", "disk"), { STEPS: "60" });
      expect([full.code, full.stderr]).toEqual([1, expect.stringMatching(/ENOSPC.*\n.*[Ff]ree (some )?space/)]);
      expect(full.stdout).toContain("is done: 60 steps");
    },
    TEST_MS,
  );

  it(
    "a job that Slurm ends at its time limit has its recordings finished as interrupted",
    async () => {
      const { code, stderr } = await overTime.ended;
      expect(stderr).toMatch(/TIME LIMIT/);
      expect(code, stderr).toBe(130);
      for (const name of shards(shared, "over")) {
        expect(shard(shared, "over", name)).toMatchObject({ complete: true, exit: { kind: "interrupted" } });
      }
    },
    TEST_MS,
  );

  it(
    "a job warned before its time limit ends its ranks in order and is merged by the example's script",
    async () => {
      const { code, states } = await warned;
      const end = lastLines(path.join(shared, "warned", "warned.log"));
      expect(code, `${states}\n${end}`).toBe(130);
      expect(end).toMatch(/Evidence: .*bundle/);
    },
    TEST_MS,
  );

  it(
    "leaves what a node recorded until it died, and the ranks that it took along are named",
    async () => {
      const dead = path.join(shared, "node2-is-dead");
      const step = slurm.startStep(["--job-name=dying"], record("dying"), { STEPS: "30", UNTIL: dead });
      await until("all ranks are measured", () => ALL.every((name) => isMeasured(shared, "dying", name)));
      killNode(slurm.env, "node2", slurm.jobs("dying")[0] ?? "none");
      writeFileSync(dead, "");
      try {
        const survivors = ALL.slice(0, 2);
        await until("the other node is done", () => survivors.every((name) => shard(shared, "dying", name).complete));
        await slurm.command(["scancel", "--name=dying"]);
        const ended = await step.ended;
        expect(ended.stdout, ended.stderr).not.toContain("rank 3 is done");
      } finally {
        slurm.up();
      }
      const analysis = await run(["stormlog-gate", "analyze", "--json", path.join("dying", "rank-0003")], {
        cwd: shared,
        env: slurm.env,
      });
      expect(analysis.code, analysis.stderr).toBe(0);
      expect(JSON.parse(analysis.stdout).series[0].samples).toBeGreaterThan(10);
      const { code, merged: answer, stderr } = await merged("dying", "--bundle", "dying-bundle", "--baseline", "none");
      expect(answer.verdict, stderr).not.toBe("pass");
      expect(code, stderr).not.toBe(0);
      expect(stderr).toMatch(/rank-000[23]|ranks? [23]/);
    },
    2 * TEST_MS,
  );
});
