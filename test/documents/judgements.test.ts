import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Measurements } from "../../src/analysis/measurements.ts";
import { type JudgeInput, judge } from "../../src/verdict/judge.ts";
import { DEFAULT_POLICY } from "../../src/verdict/model/defaults.ts";
import { judgementDocument } from "../../src/verdict/model/judgement-document.ts";

interface Case {
  readonly name: string;
  readonly input: Omit<JudgeInput, "baseline"> & { readonly baseline: number };
  readonly output: unknown;
}

const read = (name: string) => JSON.parse(readFileSync(new URL(`fixtures/${name}`, import.meta.url), "utf8"));

/** A judgement as JSON without its sentences, whose wording may change. */
function facts(judgement: unknown): unknown {
  return JSON.parse(JSON.stringify(judgement), (key, value) => (key === "reason" ? undefined : value));
}

const { baselines, cases }: { baselines: readonly (Measurements | null)[]; cases: readonly Case[] } =
  read("judgements.json");

describe("measurements that an earlier version judged are judged alike in every field but the sentences", () => {
  test.each(cases)(
    "a judgement of an earlier version is repeated in every field but the sentences: $name",
    ({ input, output }) => {
      const judgement = judge({
        ...input,
        baseline: baselines[input.baseline] ?? null,
        policy: { ...DEFAULT_POLICY, ...input.policy },
      });
      // A document may gain fields.
      expect(facts(judgementDocument(judgement))).toMatchObject(facts(output) as object);
    },
  );

  test("a comparison of two bundles by an earlier version is repeated in every field but the sentences", () => {
    const { a, b, ...output } = read("compare.json");
    const judgement = judge({
      candidate: b,
      baseline: a,
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: false,
    });
    // A document may gain fields.
    expect(facts(judgementDocument(judgement))).toMatchObject(facts(output) as object);
  });
});
