import path from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { WITH_TORCH } from "../probe/testing/pythons.ts";
import { freePort } from "../testing/free-port.ts";
import { installGate } from "../testing/installed-gate.ts";
import { merge } from "./testing/merged.ts";
import { type Ended, type Environment, onHost, plainEnvironment, run, shortDirectory } from "./testing/program.ts";
import { shard, shards } from "./testing/shards.ts";

const WORKER = fileURLToPath(new URL("fixtures/torch_worker.py", import.meta.url));
const TEST_MS = 150_000;
if (WITH_TORCH === null) console.warn("torchrun is not tested: no Python here has PyTorch");

describe.skipIf(WITH_TORCH === null)("a job of torchrun on two nodes", () => {
  const shared = shortDirectory();
  const python = WITH_TORCH?.executable ?? "python3";
  let env: Environment;

  beforeAll(async () => {
    const { bin } = await installGate(path.join(shared, "gate"));
    env = { ...plainEnvironment(bin), OMP_NUM_THREADS: "1", GLOO_SOCKET_IFNAME: "lo" };
  }, TEST_MS);

  const merged = (...args: string[]) => merge(args, { cwd: shared, env });
  const gate = (output: string): readonly string[] => ["stormlog-gate", "record", "--output", output, "--"];

  /** Agents of both nodes at once; `around` stands before each agent, `inside` between an agent and its workers. */
  async function launched(
    how: { readonly name: string; readonly around: readonly string[]; readonly inside: readonly string[] },
    more: Environment,
  ): Promise<readonly Ended[]> {
    const port = await freePort();
    const agents = [0, 1].map((node) => {
      // PyTorch 1.13 on Python 3.11 only starts with its output redirected.
      const output = ["--redirects=1", "--tee=1", `--log_dir=${path.join(shared, `log-${how.name}-${node}`)}`];
      const place = ["--nnodes=2", `--node_rank=${node}`, "--nproc_per_node=2", "--master_addr=127.0.0.1"];
      const program = how.inside.length === 0 ? [WORKER] : ["--no_python", ...how.inside, python, WORKER];
      const agent = [python, "-m", "torch.distributed.run", ...place, `--master_port=${port}`, ...output, ...program];
      return run(onHost(`node${node + 1}`, [...how.around, ...agent]), { cwd: shared, env: { ...env, ...more } });
    });
    return Promise.all(agents);
  }

  it(
    "a job with a gate around each agent fails by the rank that leaks and names it with its node",
    async () => {
      const how = { name: "around", around: gate("around"), inside: [] };
      const ended = await launched(how, { LEAKING_RANK: "3", STORMLOG_GATE_SESSION: "night-1" });
      expect(
        ended.map(({ code }) => code),
        ended.map(({ stderr }) => stderr).join("\n"),
      ).toEqual([0, 0]);
      const names = shards(shared, "around");
      expect(names).toEqual([expect.stringMatching(/^node-.*-0$/), expect.stringMatching(/^node-.*-1$/)]);
      const infos = names.map((name) => shard(shared, "around", name));
      expect(infos.map(({ identity: { rank, world_size } }) => [rank, world_size])).toEqual([
        [0, 4],
        [2, 4],
      ]);
      const answer = await merged("around", "--bundle", "around-bundle");
      expect([answer.code, answer.merged.verdict], answer.stderr).toEqual([4, "fail"]);
      const judgement = answer.merged.scenarios[0]?.judgement;
      expect(judgement?.reason, JSON.stringify(judgement?.checks)).toMatch(/^rank 3 /);
      expect(answer.stderr).toContain(infos[1]?.identity.host);
    },
    TEST_MS,
  );

  it(
    "a job with a gate inside each worker has one shard a rank and passes when nothing leaks",
    async () => {
      const how = { name: "inside", around: [], inside: gate("inside") };
      const ended = await launched(how, { STORMLOG_GATE_SESSION: "night-2" });
      expect(
        ended.map(({ code }) => code),
        ended.map(({ stderr }) => stderr).join("\n"),
      ).toEqual([0, 0]);
      expect(shards(shared, "inside")).toEqual(["rank-0000", "rank-0001", "rank-0002", "rank-0003"]);
      const answer = await merged("inside", "--bundle", "inside-bundle", "--baseline", "none", "--budget", "host=4GiB");
      expect([answer.code, answer.merged.verdict], answer.stderr).toEqual([0, "pass"]);
    },
    TEST_MS,
  );

  it(
    "a job is unjudged while one of its nodes is missing",
    async () => {
      const [first = ""] = shards(shared, "around");
      const answer = await merged(
        ...[path.join("around", first), "--bundle", "half-bundle", "--baseline", "none", "--budget", "host=4GiB"],
      );
      expect([answer.code, answer.merged.verdict], answer.stderr).toEqual([6, "unjudged"]);
      expect(answer.merged.scenarios[0]?.judgement?.reason).toMatch(/ranks 2, 3 of 4/);
    },
    TEST_MS,
  );
});
