import { describe, expect, it } from "vitest";
import { scalingText } from "../markdown/summary-markdown.ts";
import type { Scaling } from "../model/report-schema.ts";
import { scalingLines } from "../terminal/terminal.ts";
import { painter } from "../terminal/terminal-table.ts";
import { sampleReport, sampleScenario } from "../testing/sample-report.ts";
import { decidingScaling, fitsTexts, lawText, scalingBreach, withoutRepeated } from "./scaling-text.ts";

const MIB = 2 ** 20;
const scaling: Scaling = {
  scenario: "train",
  name: "BATCH",
  metric: "host",
  device: "host",
  points: ["1", "2", "4", "8", "16"].map((value) => ({ value, bytes: (100 + Number(value)) * MIB })),
  fit: { a_bytes: 100 * MIB, b_bytes: MIB, exponent: 1, low: 0.97, high: 1.04 },
  no_fit: null,
  fits: [
    { name: "card", bytes: 1e9, largest: { value: 853.67, low: 812.3, high: 901 } },
    { name: "half", bytes: 110 * MIB, largest: { value: 10, low: 9.5, high: 10.4 } },
    { name: "none", bytes: MIB, largest: null },
  ],
  verdict: "fail",
  reason: "the exponent is 1.00, above 0.5",
};

describe("how a peak grows with a value", () => {
  it("the text of a scaling has the law with its interval, and what fits, marked where it was not measured", () => {
    expect(lawText(scaling)).toBe("peak = 100.00 MiB + 1.00 MiB x BATCH^1.00 (exponent 0.97 to 1.04)");
    expect(fitsTexts(scaling)).toEqual([
      "card fits BATCH up to about 854 (812 to 901), beyond what was measured",
      "half fits BATCH up to about 10 (9.5 to 10.4)",
      "none fits no BATCH: less than the constant part",
    ]);
    expect(scalingBreach(scaling)).toBe("scaling fail: the exponent is 1.00, above 0.5");
    expect(lawText({ ...scaling, fit: null, no_fit: "a fit needs 5 values" })).toBe("no fit: a fit needs 5 values");
  });

  it.each([
    [0.0213456, "0.0213 B"],
    [9.876, "9.88 B"],
    [9.999, "10 B"],
    [12.3, "12 B"],
  ])("the law has three digits of a coefficient below 10 B: %d", (b_bytes, shown) => {
    const fit = { a_bytes: 2.2 * MIB, b_bytes, exponent: 2, low: 1.9, high: 2.1 };
    expect(lawText({ ...scaling, fit })).toContain(`peak = 2.20 MiB + ${shown} x BATCH^2.00`);
  });

  it("the table shows a value whose run failed without a peak", () => {
    const points = [...scaling.points, { value: "32", bytes: null, failed: true }];
    const text = scalingText({ ...scaling, points });
    expect(text).toContain("| 32 | failed |");
    expect(scalingLines({ ...scaling, points }, painter(false), 100)[6]?.trim()).toMatch(/^BATCH=32 +failed$/);
  });

  it("explains the verdict of a report that none of its scenarios has", () => {
    const passed = sampleReport("pass", { verdict: "fail", scaling: [scaling] });
    expect(decidingScaling(passed)).toBe("train over BATCH: scaling fail: the exponent is 1.00, above 0.5");
    expect(decidingScaling({ ...passed, verdict: "unjudged" })).toBeNull();
    expect(decidingScaling(sampleReport("fail", { scaling: [scaling] }))).toBeNull();
  });

  it("a scaling is a table in markdown, and bars at a terminal", () => {
    const text = scalingText(scaling);
    expect(text).toContain("| 16 | 116.00 MiB |");
    const lines = scalingLines(scaling, painter(false), 100);
    expect(lines[0]).toBe("train  host peak over BATCH");
    expect(lines[5]).toBe(`  BATCH=16  116.00 MiB  ${"█".repeat(24)}`);
  });

  it("escapes names and values", () => {
    const hostile = '"]\n<img src=x>`|@everyone';
    const points = [{ value: hostile, bytes: null }];
    const text = scalingText({ ...scaling, scenario: hostile, name: hostile, points, fit: null, no_fit: hostile });
    expect(text).not.toMatch(/<img|\n@everyone/);
    expect(scalingText({ ...scaling, name: hostile, fit: null })).not.toMatch(/<img/);
  });

  it("shows scenarios without a baseline once", () => {
    const varied = ["1", "2", "4"].map((value) =>
      sampleScenario("unjudged", { scenario: `train@BATCH=${value}`, baseline: null }),
    );
    const other = sampleScenario("unjudged", { scenario: "other", baseline: null });
    const report = sampleReport("unjudged", { scenarios: [...varied, other], scaling: [scaling] });
    expect(withoutRepeated(report).map(({ scenario }) => scenario)).toEqual(["train@BATCH=1 and 2 more", "other"]);
    const { scaling: _law, ...plain } = report;
    expect(withoutRepeated(plain)).toHaveLength(4);
  });
});
