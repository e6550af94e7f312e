import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { GUILTY, INNOCENT } from "../scripts/doc-pictures/breach-picture.ts";
import { analysed, PAIRS } from "../scripts/doc-pictures/series.ts";
import { packageRoot } from "../src/core/package-root.ts";

const page = readFileSync(path.join(packageRoot(), "docs/how-verdicts-are-made.md"), "utf8");

describe("the pictures of docs/how-verdicts-are-made.md", () => {
  it.each(Object.entries(PAIRS))("of %s show what the engine says today", (_, pair) => {
    expect(pair.map((trend) => analysed(trend).class)).toEqual(pair.map(({ expected }) => expected));
  });

  it("of the breach show a pass after one more run, and a fail that its base confirmed", () => {
    const [harmless, leaking] = [INNOCENT(), GUILTY()];
    expect(harmless.judgement).toMatchObject({ verdict: "pass", final: true });
    expect([harmless.candidates.length, harmless.base.length]).toEqual([2, 0]);
    expect(leaking.judgement).toMatchObject({ verdict: "fail", final: true, confirmed: true });
    expect([leaking.candidates.length, leaking.base.length]).toEqual([5, 3]);
  });

  it("are small and have words for those who cannot see them", () => {
    const images = [...page.matchAll(/!\[([^\]]*)\]\((images\/[\w-]+\.png)\)/g)];
    expect(images.length).toBe(Object.keys(PAIRS).length + 2);
    for (const [, words = "", file = ""] of images) {
      expect(words.length, file).toBeGreaterThan(60);
      expect(readFileSync(path.join(packageRoot(), "docs", file)).length, file).toBeLessThanOrEqual(40_000);
    }
  });
});
