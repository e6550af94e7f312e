import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { buildInto } from "../../scripts/build.mjs";
import { packageRoot } from "../../src/core/package-root.ts";
import { mergeBundles } from "../../src/merge/merge-bundles.ts";
import { payloadOf } from "../../src/report/model/payload.ts";
import { writeRunFiles } from "../../src/telemetry/run-directory.ts";
import { recordingInfo, table } from "../../src/telemetry/testing/recordings.ts";
import { freshDirectory } from "./cli.ts";

const RANKS = 12;
const parent = freshDirectory();

async function writeShards(): Promise<string> {
  for (let rank = 0; rank < RANKS; rank++) {
    const rows = Float64Array.from({ length: 200 }, (_, i) => i);
    const leak = rank === 7 ? 2 ** 22 : 0;
    const host = rows.map((i) => 2e9 + i * leak + ((i * 7919 + rank) % 13) * 4096);
    const directory = path.join(parent, "shards", `rank-${rank}`);
    mkdirSync(directory, { recursive: true });
    const epoch = 1_700_000_000_000_000_000n + BigInt(rank);
    await writeRunFiles(directory, {
      ...{ epochNs: epoch, peaks: [], marks: [], events: null, worldSize: RANKS, missing: {} },
      tables: [table({ rank, timeNs: rows.map((i) => i * 5e7), steps: rows, columns: { host } })],
      info: recordingInfo({
        session: "slurm-1.0",
        clock: { monotonic_start_ns: "1", epoch_ns: String(epoch), duration_s: 10 },
        identity: { rank, local_rank: 0, world_size: RANKS, job_id: "1", host: `node${rank >> 2}`, pid: 9 },
      }),
    });
  }
  return path.join(parent, "shards");
}

it("recordings that threads of the built command line read give what one thread of the sources gives", async () => {
  await buildInto(path.join(parent, "dist"), { cli: "src/cli/start.ts", "shard-worker": "src/merge/shard-worker.ts" });
  cpSync(path.join(packageRoot(), "package.json"), path.join(parent, "package.json"));
  const shards = await writeShards();
  const args = ["merge", "--json", "--bundle", path.join(parent, "built"), shards];
  const built = spawnSync(process.execPath, [path.join(parent, "dist/cli.js"), ...args], { encoding: "utf8" });
  expect(built.status, built.stderr).toBe(4);
  const again = { baselines: null, budgets: [], horizon: null, root: parent, env: {} };
  const request = {
    directories: [shards],
    bundle: path.join(parent, "sources"),
    expected: null,
    unjudged: "fail",
    verification: "some",
    again,
  } as const;
  const { report } = await mergeBundles({ ...request, argv: ["merge"], now: () => new Date() });
  const answer = JSON.parse(built.stdout).payload;
  expect(answer.scenarios).toEqual(JSON.parse(JSON.stringify(payloadOf(report).scenarios)));
  expect(answer.scenarios[0].judgement.reason).toMatch(/^rank 7 \(on node1\) host: leak/);
  const manifest = (name: string) => JSON.parse(readFileSync(path.join(parent, name, "manifest.json"), "utf8"));
  const evidence = (name: string) =>
    manifest(name).files.filter((file: { path: string }) => file.path.startsWith("runs/"));
  expect(evidence("built")).toEqual(evidence("sources"));
}, 180_000);
