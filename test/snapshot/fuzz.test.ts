import { describe, expect, it } from "vitest";
import { attempt } from "../../src/snapshot/testing/attempt.ts";
import { chance, mutated } from "../../src/snapshot/testing/mutate.ts";
import { pickled } from "../../src/snapshot/testing/pickle-writer.ts";
import { plainSnapshot } from "../../src/snapshot/testing/snapshots.ts";
import { bytesOf, FILES } from "./kit.ts";

/** The long run is scripts/fuzz-snapshot.ts. */
const TRIES = 5000;

describe("mutated snapshots", () => {
  it("mutated snapshots are read or refused with a code", () => {
    const corpus = [...FILES.map(bytesOf), pickled(plainSnapshot(40))].filter(({ length }) => length < 8192);
    const random = chance(20);
    const outcomes = new Map<string, number>();
    for (let i = 0; i < TRIES; i++) {
      const result = attempt(mutated(corpus, random), i % 4 === 0);
      if (result.kind === "fault") throw new Error(`try ${i}: ${result.error}`);
      const name = result.kind === "refused" ? result.code : result.kind;
      outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
    }
    // The mutations reach what they should: some files survive, others fail in every way.
    for (const name of [
      "read",
      "SNAPSHOT_MALFORMED",
      "SNAPSHOT_TRUNCATED",
      "SNAPSHOT_FORBIDDEN_OPCODE",
      "SNAPSHOT_SHAPE",
    ]) {
      expect(outcomes.get(name) ?? 0, name).toBeGreaterThan(10);
    }
  });
});
