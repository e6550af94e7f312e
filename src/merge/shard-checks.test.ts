import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { writeFeatures } from "../report/bundle/features-document.ts";
import { readBundle } from "../report/bundle/read-bundle.ts";
import { sampleCheck, sampleReport } from "../report/testing/sample-report.ts";
import { RECORDING_FILE } from "../telemetry/recording/run-files.ts";
import type { ShardJob } from "./shard-jobs.ts";
import { decidingShards } from "./shard-timeline.ts";
import { flip, mergedShards, QUIET, rewrite, seriesWith } from "./testing/merged-shards.ts";
import { recordingOf } from "./testing/rank-recordings.ts";

const { shardsOf, merged, refusal } = mergedShards();
const ranks = (count: number) => Array.from({ length: count }, (_, rank) => recordingOf(QUIET, rank, count));

function edit(directory: string, from: string, to: string): void {
  const file = path.join(directory, RECORDING_FILE);
  const text = readFileSync(file, "utf8");
  expect(text).toContain(from);
  writeFileSync(file, text.replace(from, to));
}

const invalid = (text: string) => ({ exit: 5, codes: ["SHARD_INVALID"], text: expect.stringContaining(text) });

describe("every stored feature is refused", () => {
  it.each([["0 "], ["10"]])(
    "stored features are refused when recording.json beside them was edited later (code %s)",
    async (status) => {
      const shards = await shardsOf(ranks(2));
      edit(shards[1] ?? "", '"code": 0', `"code": ${status}`);
      const text = "rank 1 on node1: recording.json differs from what features.json lists";
      expect(await refusal(shards)).toMatchObject(invalid(text));
    },
  );

  it("stored features are refused when they are of another rank than recording.json", async () => {
    const shards = await shardsOf(ranks(2));
    edit(shards[1] ?? "", '"rank": 1', '"rank": 0');
    rewrite(shards[1] ?? "");
    expect(await refusal([shards[1] ?? ""])).toMatchObject(
      invalid("rank 0 on node1: its features are those of rank 1"),
    );
  });

  it("stored features are refused when they have no series of a rank that they list", async () => {
    const shards = await shardsOf(ranks(2));
    rewrite(shards[1] ?? "", () => ({ series: [] }));
    expect(await refusal(shards)).toMatchObject(
      invalid("rank 1 on node1: its features have no series of rank 1 on cuda:0"),
    );
  });

  it("stored features are refused when another recording has the rank, on a device of another name", async () => {
    const shards = await shardsOf(ranks(2));
    const [, again = ""] = await shardsOf([0, 1].map((rank) => recordingOf({ ...QUIET, levelMib: 900 }, rank, 2)));
    rewrite(again, (features) => ({
      ...seriesWith({ device: "cuda:9" })(features),
      ranks: { ...features.ranks, kind: "ranks", ranks: [], worldSize: 2 },
    }));
    expect(await refusal([...shards, again])).toMatchObject({ exit: 5, codes: ["RANK_CLASH"] });
  });
});

describe("the ranks that decide", () => {
  it("the deciding ranks are all compared with their samples, even if more of them fail than are drawn", async () => {
    const shards = await shardsOf(ranks(14));
    rewrite(shards[13] ?? "", seriesWith({ peak_bytes: 800 * 2 ** 20 }));
    const refused = await refusal(shards, { budgetMib: 700 });
    expect(refused).toMatchObject(invalid("rank 13 on node1: its features are not those of its samples"));
  });

  it("include those whose command failed", async () => {
    const all = ranks(14);
    const last = all[13]!;
    const failed = { ...last, info: { ...last.info!, exit: { kind: "exited", code: 3 } as const } };
    const shards = await shardsOf([...all.slice(0, 13), failed]);
    rewrite(shards[13] ?? "", seriesWith({ peak_bytes: 1 }));
    expect(await refusal(shards)).toMatchObject(invalid("rank 13 on node1"));
  });

  it("a deciding rank with damaged samples is unusable, and the others are judged and written", async () => {
    const shards = await shardsOf(ranks(3));
    flip(path.join(shards[2] ?? "", "samples.parquet"), 0);
    const refused = await refusal(shards, { budgetMib: 700 });
    expect(refused).toMatchObject(invalid("rank 2 on node2: samples.parquet differs from what features.json lists"));
    const { report, manifest } = await readBundle(refused.bundle);
    expect(report.scenarios.map(({ verdict }) => verdict)).toEqual(["fail", "error"]);
    expect(manifest.files.map((file) => file.path)).toContain("runs/train/1/rank-1/samples.parquet");
  });

  it("decidingShards compares 64 deciding ranks at most and counts the others", () => {
    const [scenario] = sampleReport("fail").scenarios;
    const shard = (rank: number) => ({
      source: "stored",
      ending: { kind: "ok" },
      info: { identity: { rank } },
      features: { series: [{ analysis: { rank } }] },
    });
    const all = Array.from({ length: 100 }, (_, rank) => shard(rank));
    const checks = all.slice(20).map((_, at) => sampleCheck({ rank: at + 20, verdict: "fail" }));
    const judged = {
      ...scenario!,
      kind: "judged",
      judgement: { ...scenario!.judgement!, checks },
      error: null,
    } as const;
    const { compared, omitted } = decidingShards({ shards: all } as unknown as ShardJob, judged);
    expect([compared.length, omitted]).toEqual([64, 16]);
    expect(Math.min(...compared.map(({ info }) => info.identity.rank))).toBe(20);
  });
});

describe("a file in a run directory that is too large for a bundle", () => {
  it("a file too large for a bundle is not digested, does not cause the samples to be read, and is reported", async () => {
    const shards = await shardsOf(ranks(2), false);
    const sparse = path.join(shards[0] ?? "", "core");
    writeFileSync(sparse, "");
    truncateSync(sparse, 100 * 2 ** 30);
    for (const shard of shards) await writeFeatures(shard);
    const { report, features } = await merged(shards);
    expect(features.computed).toBe(0);
    expect(report.scenarios[0]?.runs[0]?.info.lost.join()).toContain("core: 107374182400 bytes are too large");
  });
});
