import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { combineFeatures } from "../analysis/analyze.ts";
import { extractFeatures } from "../analysis/features.ts";
import { draws } from "../core/testing/draws.ts";
import { FEATURES_FILE, featuresText, parseFeatures, SHARD_LIMITS } from "../report/bundle/features-document.ts";
import { flip, mergedShards, QUIET, rewrite, seriesWith } from "./testing/merged-shards.ts";
import { job, recordingOf } from "./testing/rank-recordings.ts";

const options = { horizon: null, phases: [] };
const { shardsOf, merged, refusal } = mergedShards();
const leaking = (rank: number, leakKib: number) => recordingOf({ ...QUIET, leakKib }, rank, 2);

/** Keys of a report in a fixed order, without the paths of this test. */
const textOf = (report: unknown): string =>
  JSON.stringify(report, (_, value) => (value instanceof Float64Array ? [...value] : value)).replaceAll(
    /(?:job|merged)-\d+/g,
    "input",
  );

describe("stored features", () => {
  it("stored features are read as they were written, and give the same analysis", () => {
    fc.assert(
      fc.property(job, (recordings) => {
        const features = recordings.map((one) => extractFeatures(one, options, SHARD_LIMITS));
        const read = features.map((one) => {
          const answer = parseFeatures(featuresText({ horizon: null, files: [], span: null, features: one }) ?? "");
          if (answer.kind !== "read") throw new Error(JSON.stringify(answer));
          expect(answer.stored.features).toEqual(one);
          return answer.stored.features;
        });
        expect(combineFeatures(read, options)).toEqual(combineFeatures(features, options));
      }),
      { numRuns: draws(100) },
    );
  });

  it("give the same report as the samples, whether compared with them or not", async () => {
    const recordings = [leaking(0, 0), leaking(1, 3000)];
    const bySamples = await merged(await shardsOf(recordings, false));
    const stored = await shardsOf(recordings, true);
    const byFeatures = await merged(stored);
    const verified = await merged(stored, { verification: "all" });
    expect(bySamples.features).toEqual({ stored: 0, verified: 0, computed: 2, omitted: 0 });
    expect(verified.features).toEqual({ stored: 0, verified: 2, computed: 0, omitted: 0 });
    expect(textOf(byFeatures.report)).toBe(textOf(bySamples.report));
    expect(textOf(verified.report)).toBe(textOf(bySamples.report));
  });

  it("stored features that hide the leak of the deciding rank are refused, and the rank is named", async () => {
    const directories = await shardsOf([leaking(0, 0), leaking(1, 3000)], true);
    rewrite(directories[1]!, seriesWith({ class: "flat", growth_bytes: 0 }));
    expect(await refusal(directories)).toMatchObject({
      exit: 5,
      codes: ["SHARD_INVALID"],
      text: expect.stringContaining("rank 1 on node1"),
    });
  });

  it("stored features of samples that were changed later are refused where they are compared", async () => {
    const directories = await shardsOf([leaking(0, 0), leaking(1, 0)], true);
    flip(path.join(directories[0]!, "samples.parquet"), 40);
    expect(await refusal(directories, { verification: "all" })).toMatchObject({ exit: 5, codes: ["SHARD_INVALID"] });
  });

  it("stored features are computed again when a file was added, or when they are of another release", async () => {
    const directories = await shardsOf([leaking(0, 0), leaking(1, 0)], true);
    writeFileSync(path.join(directories[0]!, "extra.txt"), "x");
    const file = path.join(directories[1]!, FEATURES_FILE);
    writeFileSync(file, readFileSync(file, "utf8").replace(/"tool_version":"[^"]*"/, '"tool_version":"0.0.1"'));
    expect((await merged(directories)).features).toEqual({ stored: 0, verified: 0, computed: 2, omitted: 0 });
  });

  it.each([
    ["are cut", (text: string) => text.slice(0, 500)],
    ["have another digest", (text: string) => text.replace('"samples":160', '"samples":161')],
    [
      "are nested deeper than the stack",
      (text: string) =>
        text.replace('"features":', `"features":${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)},"x":`),
    ],
    ["lack a field", (text: string) => text.replace('"engine"', '"motor"')],
  ])("stored features that %s are refused, and the rank is named", async (_title, change) => {
    const directories = await shardsOf([leaking(0, 0), leaking(1, 0)], true);
    const file = path.join(directories[1]!, FEATURES_FILE);
    const before = readFileSync(file, "utf8");
    expect(change(before)).not.toBe(before);
    writeFileSync(file, change(before));
    expect(await refusal(directories)).toMatchObject({
      exit: 5,
      codes: ["SHARD_INVALID"],
      text: expect.stringContaining("rank 1 on node1"),
    });
  });
});
