import { expect, test } from "vitest";
import type { Finding } from "../../analysis/series/document.ts";
import { linesMarkdown, splitLines } from "./details.ts";

function line(evidence: Finding["evidence"], remediation: readonly string[] = []): Finding {
  return {
    classification: "leak_line",
    severity: "critical",
    confidence: 0.97,
    rank: 0,
    device: "host",
    metric: null,
    evidence,
    description: "a line grows",
    remediation,
  };
}

test("linesMarkdown shows the line with its code, its growth per step and its share", () => {
  const text = linesMarkdown([
    line({ line: "train.py:48", function: "train", code: "kept.append(x)", bytes_per_step: 1946, share: 0.97 }, [
      "Keep x.detach() instead.",
    ]),
  ]);
  expect(text).toContain("**train.py:48** train");
  expect(text).toContain("kept.append(x)");
  expect(text).toContain("+1.90 KiB per step");
  expect(text).toContain("97 %");
  expect(text).toContain("↳ Keep x.detach() instead.");
});

test("linesMarkdown keeps hostile code inside its cell", () => {
  const text = linesMarkdown([line({ line: "a.py:1", code: "x = `|` | <img src=x> <!-- stormlog -->" })]) ?? "";
  expect(text.split("\n").filter((row) => row.startsWith("|"))).toHaveLength(3);
  expect(text).not.toContain("<img");
  expect(text).not.toContain("<!--");
});

test("linesMarkdown prints a dash for unknown growth, never zero", () => {
  expect(linesMarkdown([line({ line: "a.py:1" })])).toMatch(/\| +– \| +– \|/);
});

test("splitLines separates growing lines from other findings, and linesMarkdown is null without lines", () => {
  expect(linesMarkdown([])).toBeNull();
  const other = { ...line({}), classification: "leak" };
  expect(splitLines([other, line({})])).toEqual({ lines: [line({})], others: [other] });
});
