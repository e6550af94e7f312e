import path from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { PYTHON } from "../probe/testing/pythons.ts";
import { installGate } from "../testing/installed-gate.ts";
import { merge } from "./testing/merged.ts";
import { type Environment, missingProgram, plainEnvironment, run, shortDirectory } from "./testing/program.ts";
import { shard, shards } from "./testing/shards.ts";

const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
const missing = (program: string): string | null => {
  if (PYTHON === null) return "no Python was found";
  return missingProgram([program]) === null ? null : `${program} is not installed (scripts/ci/cluster.sh installs it)`;
};
const without = { openmpi: missing("mpirun.openmpi"), mpich: missing("mpirun.mpich") };
for (const [name, reason] of Object.entries(without))
  if (reason !== null) console.warn(`${name} is not tested: ${reason}`);

const ALL = ["rank-0000", "rank-0001", "rank-0002", "rank-0003"];
const TEST_MS = 90_000;

describe("a job of MPI", () => {
  const shared = shortDirectory();
  let env: Environment;

  beforeAll(async () => {
    const { bin } = await installGate(path.join(shared, "gate"));
    // Both libraries look for faster networks than a loopback, and take a second to find none.
    env = { ...plainEnvironment(bin), OMPI_MCA_btl: "self,vader,tcp", OMPI_MCA_btl_tcp_if_include: "lo" };
  }, TEST_MS);

  const record = (output: string, kind: "openmpi" | "mpich"): readonly string[] => {
    return [
      "stormlog-gate",
      "record",
      "--output",
      output,
      "--",
      PYTHON?.executable ?? "python3",
      fixture("mpi.py"),
      kind,
    ];
  };
  const started = (argv: readonly string[], more: Environment = {}) =>
    run(argv, { cwd: shared, env: { ...env, ...more } });
  const merged = (...args: string[]) => merge(args, { cwd: shared, env });

  describe.skipIf(without.openmpi !== null)("with Open MPI", () => {
    const twoHosts = [
      ...["mpirun.openmpi", "--allow-run-as-root", "--host", "node1:2,node2:2"],
      ...["--mca", "plm", "rsh", "--mca", "plm_rsh_agent", fixture("node-agent.sh")],
    ];

    it(
      "a job on two hosts fails by the one rank that leaks and names it with its host",
      async () => {
        const { code, stdout, stderr } = await started([...twoHosts, ...record("leak", "openmpi")], {
          LEAKING_RANK: "3",
        });
        expect(code, stderr).toBe(0);
        for (const rank of [0, 1, 2, 3]) expect(stdout).toContain(`MPI rank ${rank} of 4`);
        expect(shards(shared, "leak")).toEqual(ALL);
        const infos = ALL.map((name) => shard(shared, "leak", name));
        expect(infos.map(({ identity: { rank, local_rank, world_size } }) => [rank, local_rank, world_size])).toEqual([
          [0, 0, 4],
          [1, 1, 4],
          [2, 0, 4],
          [3, 1, 4],
        ]);
        expect(new Set(infos.map(({ session }) => session)).size).toBe(1);
        const answer = await merged("leak", "--bundle", "leak-bundle");
        expect([answer.code, answer.merged.verdict], answer.stderr).toEqual([4, "fail"]);
        expect(answer.merged.scenarios[0]?.judgement?.reason).toMatch(/^rank 3 /);
        expect(answer.stderr).toContain(infos[3]?.identity.host);
      },
      TEST_MS,
    );

    it(
      "names a rank whose program failed, with its status",
      async () => {
        const place = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "2"];
        const { code } = await started([...place, ...record("failed", "openmpi")], { STEPS: "30", EXIT_CODE_1: "7" });
        expect(code).not.toBe(0);
        expect(shard(shared, "failed", "rank-0001").exit).toEqual({ kind: "exited", code: 7 });
        const answer = await merged("failed", "--bundle", "failed-bundle", "--baseline", "none");
        expect(answer.code, answer.stderr).toBe(1);
        expect(answer.stderr).toMatch(/rank-0001.*7/);
      },
      TEST_MS,
    );

    it(
      "a gate around mpirun makes one recording of all its ranks",
      async () => {
        const launcher = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "2"];
        const inner = [PYTHON?.executable ?? "python3", fixture("mpi.py"), "openmpi"];
        const { code, stderr } = await started(
          ["stormlog-gate", "record", "--output", "around", "--", ...launcher, ...inner],
          { STEPS: "60", LEAKING_RANK: "1" },
        );
        expect(code, stderr).toBe(0);
        const info = shard(shared, "around", ".");
        expect(info.identity).toMatchObject({ rank: 0, world_size: 2 });
        expect(new Set(info.peaks.map(({ rank }) => rank))).toEqual(new Set([0, 1]));
      },
      TEST_MS,
    );
  });

  describe.skipIf(without.mpich !== null)("with MPICH", () => {
    it(
      "keeps each rank's connection to its launcher, and is one job by the session it is given",
      async () => {
        const { code, stdout, stderr } = await started(["mpirun.mpich", "-np", "2", ...record("mpich", "mpich")], {
          STEPS: "40",
          STORMLOG_GATE_SESSION: "night-7",
        });
        expect(code, stderr).toBe(0);
        for (const rank of [0, 1]) expect(stdout).toContain(`MPI rank ${rank} of 2`);
        expect(shards(shared, "mpich")).toEqual(ALL.slice(0, 2));
        const answer = await merged("mpich", "--bundle", "mpich-bundle", "--baseline", "none", "--budget", "host=1GiB");
        expect([answer.code, answer.merged.verdict], answer.stderr).toEqual([0, "pass"]);
      },
      TEST_MS,
    );
  });
});
