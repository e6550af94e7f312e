import { truncateSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { mergedShards, QUIET } from "./testing/merged-shards.ts";
import { recordingOf } from "./testing/rank-recordings.ts";

const { shardsOf, merged, refusal } = mergedShards();
const ranks = (count: number) => Array.from({ length: count }, (_, rank) => recordingOf(QUIET, rank, count));

describe("a merged bundle that is merged again", () => {
  it("a merged bundle counts by its verdict, with its recordings", async () => {
    const leaking = recordingOf({ ...QUIET, leakKib: 3000 }, 1, 2);
    const inner = await merged(await shardsOf([recordingOf(QUIET, 0, 2), leaking]));
    const { report } = await merged([inner.bundleDir]);
    expect([inner.report.verdict, report.verdict]).toEqual(["fail", "fail"]);
    expect(report.scenarios[0]?.runs).toHaveLength(1);
  });

  it("a merged bundle keeps a leg that was expected in it", async () => {
    const [a = "", b = ""] = await shardsOf(ranks(2));
    const inner = await merged([b], { expected: 2, unjudged: "pass" });
    const outer = await refusal([a, inner.bundleDir], { unjudged: "pass" });
    expect(outer).toMatchObject({ exit: 6, codes: ["LEG_MISSING"] });
  });

  it("a merged bundle without any usable recording keeps its exit status", async () => {
    const [a = "", b = ""] = await shardsOf(ranks(2));
    truncateSync(path.join(b, "samples.parquet"), 900);
    const inner = await merged([b], { unjudged: "pass" });
    expect(await refusal([a, inner.bundleDir], { unjudged: "pass" })).toMatchObject({ exit: 5 });
  });
});
