import path from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { PYTHON } from "../probe/testing/pythons.ts";
import { installGate } from "../testing/installed-gate.ts";
import { merge } from "./testing/merged.ts";
import { type Ended, type Environment, onHost, plainEnvironment, run, shortDirectory } from "./testing/program.ts";
import { shard, shards } from "./testing/shards.ts";

const WORKER = fileURLToPath(new URL("fixtures/worker.py", import.meta.url));
const PODS = [0, 1, 2, 3];
const TEST_MS = 90_000;

/**
 * What Kubernetes gives the pods of an indexed job is their environment and their host name; more of it is not needed.
 */
describe.skipIf(PYTHON === null)("an indexed job of Kubernetes", () => {
  const shared = shortDirectory();
  let env: Environment;

  beforeAll(async () => {
    const { bin } = await installGate(path.join(shared, "gate"));
    env = plainEnvironment(bin);
  }, TEST_MS);

  const pod = (job: string, index: number, more: Environment): Promise<Ended> => {
    const command = ["stormlog-gate", "record", "--output", job, "--", PYTHON?.executable ?? "python3", WORKER];
    const own = { HOSTNAME: `${job}-${index}`, JOB_COMPLETION_INDEX: String(index) };
    return run(onHost(`${job}-${index}`, command), { cwd: shared, env: { ...env, ...own, ...more } });
  };
  const merged = (...args: string[]) => merge(args, { cwd: shared, env });

  it(
    "fails by the one pod that leaks, and names it",
    async () => {
      const ended = await Promise.all(PODS.map((index) => pod("train", index, { LEAKING_RANK: "3", WORLD_SIZE: "4" })));
      expect(
        ended.map(({ code }) => code),
        ended.map(({ stderr }) => stderr).join("\n"),
      ).toEqual([0, 0, 0, 0]);
      expect(shards(shared, "train")).toEqual(PODS.map((index) => `rank-000${index}`));
      const infos = PODS.map((index) => shard(shared, "train", `rank-000${index}`));
      expect(new Set(infos.map(({ session }) => session))).toEqual(new Set(["kubernetes-train"]));
      const answer = await merged("train", "--bundle", "train-bundle");
      expect([answer.code, answer.merged.verdict], answer.stderr).toEqual([4, "fail"]);
      expect(answer.merged.scenarios[0]?.judgement?.reason).toMatch(/^rank 3 /);
      expect(answer.stderr).toContain(infos[3]?.identity.host);
    },
    TEST_MS,
  );

  it(
    "a job that declares its size is unjudged when its last pod is missing",
    async () => {
      await Promise.all([0, 1].map((index) => pod("short", index, { STEPS: "40", WORLD_SIZE: "3" })));
      const options = ["--baseline", "none", "--budget", "host=1GiB"];
      const answer = await merged("short", "--bundle", "short-bundle", ...options);
      expect([answer.code, answer.merged.verdict], answer.stderr).toEqual([6, "unjudged"]);
      expect(answer.merged.scenarios[0]?.judgement?.reason).toMatch(/rank 2 of 3/);
    },
    TEST_MS,
  );

  it(
    "refuses the shard of a restarted pod, and names the next step",
    async () => {
      const again = await pod("short", 1, { STEPS: "5", WORLD_SIZE: "3" });
      expect(again.code).toBe(1);
      expect(again.stderr).toMatch(/RUN_DIRECTORY_IN_USE.*shard/);
    },
    TEST_MS,
  );
});
