import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { isMissed, shownLine } from "../bench/shared/figures.ts";
import { withCosts } from "../bench/shared/tables.ts";

const ratio = { name: "a start", value: 1.7, interval: { low: 1.6, high: 1.9 }, limit: 1.8, unit: "" };

describe("the figures of a bench", () => {
  it("figures miss their limit by the upper end of the interval, or by the value without one", () => {
    expect(isMissed(ratio)).toBe(true);
    expect(isMissed({ ...ratio, limit: 1.9 })).toBe(false);
    expect(isMissed({ ...ratio, interval: null })).toBe(false);
    expect(isMissed({ ...ratio, interval: null, value: Number.NaN })).toBe(true);
    expect(isMissed({ ...ratio, limit: null })).toBe(false);
    expect(isMissed({ name: "a start", skipped: "no gcc" })).toBe(false);
  });

  it("figures print value, interval, limit and what is missed", () => {
    expect(shownLine(ratio)).toBe("a start: 1.70 (95 %: 1.60 to 1.90)   limit 1.8   MISSED");
    expect(shownLine({ ...ratio, interval: null, unit: "ms", note: "of 3" })).toBe(
      "a start: 1.70 ms [of 3]   limit 1.8 ms",
    );
    expect(shownLine({ name: "a start", skipped: "no gcc" })).toBe("a start: skipped, no gcc");
  });

  it("docs/evidence.md has the figures of the bench documents", () => {
    const docs = path.join(path.dirname(fileURLToPath(import.meta.url)), "../docs");
    const page = readFileSync(path.join(docs, "evidence.md"), "utf8");
    expect(withCosts(page, path.join(docs, "evidence/costs"))).toBe(page);
  });
});
