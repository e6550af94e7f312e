import { describe, expect, it } from "vitest";
import type { Finding } from "../analysis/series/document.ts";
import { collapsedFindings, rangesText } from "./shard-findings.ts";

const leak = (rank: number, growth: number, classification = "leak"): Finding => ({
  classification,
  severity: "critical",
  confidence: 1,
  rank,
  device: "cuda:0",
  metric: "allocated",
  evidence: { growth_bytes: growth },
  description: `rank ${rank} leaks`,
  remediation: ["Look."],
});

describe("findings that ranks have in common", () => {
  it("collapsedFindings returns up to 16 findings unchanged", () => {
    const few = Array.from({ length: 16 }, (_, rank) => leak(rank, rank));
    expect(collapsedFindings(few)).toEqual(few);
  });

  it("collapsedFindings lists the worst ranks, the worst first, and summarises the others", () => {
    const many = Array.from({ length: 1024 }, (_, rank) => leak(rank, rank === 700 ? 1e12 : 1000 - rank));
    const odd = leak(3, 5, "pressure");
    const kept = collapsedFindings([...many, odd]);
    expect(kept.slice(0, 3).map(({ rank }) => rank)).toEqual([700, 0, 1]);
    expect(kept).toHaveLength(18);
    expect(kept[16]).toMatchObject({ rank: null, evidence: { more: 1008 } });
    expect(kept[16]?.description).toBe("1,008 more like these, each smaller: ranks 15 to 699, 701 to 1023.");
    expect(kept[17]).toBe(odd);
  });
});

describe("numbers of ranks", () => {
  it("rangesText joins consecutive ranks into ranges", () => {
    expect(rangesText([5, 1, 2, 3, 9, 8])).toBe("1 to 3, 5, 8, 9");
    expect(rangesText([])).toBe("");
    expect(rangesText(Array.from({ length: 200 }, (_, i) => 2 * i))).toMatch(/, 78 and more$/);
  });
});
