import { truncateSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { mergedShards, QUIET } from "./testing/merged-shards.ts";
import { recordingOf } from "./testing/rank-recordings.ts";

const { shardsOf, merged, refusal } = mergedShards();
const ranks = (count: number) => Array.from({ length: count }, (_, rank) => recordingOf(QUIET, rank, count));

/** Exit status and errors of merging at once, and of merging all but the first recording before. */
async function atOnceAndInSteps(shards: readonly string[]) {
  const [first = "", ...others] = shards;
  const inner = await refusal(others, { unjudged: "pass" });
  const outer = await refusal([(await refusal([first, inner.bundle], { unjudged: "pass" })).bundle], {
    unjudged: "pass",
  });
  return [await refusal(shards, { unjudged: "pass" }), outer];
}

describe("merging in steps", () => {
  it("keeps the exit status of a rank that clashed in an inner step", async () => {
    const [a = "", b = ""] = await shardsOf(ranks(2));
    const [again = ""] = await shardsOf([recordingOf({ ...QUIET, levelMib: 900 }, 1, 2)]);
    for (const one of await atOnceAndInSteps([a, b, again])) {
      expect(one).toMatchObject({ exit: 5, codes: ["RANK_CLASH"] });
    }
  });

  it("keeps the exit status of a recording that was unreadable in an inner step", async () => {
    const shards = await shardsOf(ranks(3));
    truncateSync(path.join(shards[2] ?? "", "samples.parquet"), 900);
    for (const one of await atOnceAndInSteps(shards)) {
      expect(one).toMatchObject({ exit: 5, codes: ["PARQUET_UNREADABLE"] });
    }
  });

  it("keeps a leg that an inner step expected", async () => {
    const [a = "", b = ""] = await shardsOf(ranks(2));
    const inner = await merged([b], { expected: 2, unjudged: "pass" });
    const outer = await refusal([a, inner.bundleDir], { unjudged: "pass" });
    expect(outer).toMatchObject({ exit: 6, codes: ["LEG_MISSING"] });
  });

  it("keeps the exit status of an inner step without any usable recording", async () => {
    const [a = "", b = ""] = await shardsOf(ranks(2));
    truncateSync(path.join(b, "samples.parquet"), 900);
    const inner = await merged([b], { unjudged: "pass" });
    expect(await refusal([a, inner.bundleDir], { unjudged: "pass" })).toMatchObject({ exit: 5 });
  });
});
