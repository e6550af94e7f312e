import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { BY_CHANCE, BY_CHANGE } from "../scripts/doc-pictures/breach-picture.ts";
import { analysed, PAIRS } from "../scripts/doc-pictures/series.ts";
import { packageRoot } from "../src/core/package-root.ts";
import { DONE } from "../src/verdict/model/judgement.ts";

const page = readFileSync(path.join(packageRoot(), "docs/how-verdicts-are-made.md"), "utf8");

describe("the pictures of docs/how-verdicts-are-made.md", () => {
  it.each(Object.entries(PAIRS))("the pictures of %s show the class that the analysis returns", (_, pair) => {
    expect(pair.map((series) => analysed(series).class)).toEqual(pair.map(({ expected }) => expected));
  });

  it("the pictures of the breach show a pass after one more run and a fail that the base confirmed", () => {
    const [chance, change] = [BY_CHANCE(), BY_CHANGE()];
    expect(chance.judgement).toMatchObject({ verdict: "pass", next: DONE });
    expect([chance.candidates.length, chance.base.length]).toEqual([2, 0]);
    expect(change.judgement).toMatchObject({ verdict: "fail", next: DONE, confirmed: true });
    expect([change.candidates.length, change.base.length]).toEqual([5, 3]);
  });

  it("the pictures are small and have an alternative text", () => {
    const images = [...page.matchAll(/!\[([^\]]*)\]\((images\/[\w-]+\.png)\)/g)];
    expect(images.length).toBe(Object.keys(PAIRS).length + 2);
    for (const [, words = "", file = ""] of images) {
      expect(words.length, file).toBeGreaterThan(60);
      expect(readFileSync(path.join(packageRoot(), "docs", file)).length, file).toBeLessThanOrEqual(100_000);
    }
  });
});
