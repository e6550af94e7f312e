import { describe, expect, it } from "vitest";
import { THEMES } from "./drawing/palette.ts";
import { higherParts, higherText, peakNotes, peakTables, stackedRows } from "./headline/peak-answer.ts";
import type { PeakReport } from "./model/peak-report.ts";
import { drawComposition, renderFlame } from "./timeline/composition-svg.ts";

const MIB = 2 ** 20;
const row = (name: string, after: number, before: number) => ({
  name,
  bytes: after * MIB,
  compared_bytes: before * MIB,
});
const line = (name: string, category: string | null, after: number, before: number) => ({
  ...row(name, after, before),
  function: "forward",
  category,
  phase: "forward",
});

const PEAK: PeakReport = {
  rank: 0,
  device: "host",
  metric: "allocated",
  compared_with: "base",
  bytes: 300 * MIB,
  compared_bytes: 150 * MIB,
  explained: { bytes: 299 * MIB, compared_bytes: 150 * MIB },
  lines: [line("attention.py:88", "activations", 150, 20), line("train.py:9", "optimizer_state", 9, 0)],
  categories: [row("activations", 151, 20), row("optimizer_state", 18, 0), row("outside_tensors", 130, 130)],
  phases: [row("forward", 169, 20), row("", 130, 130)],
  unseen: ["communication_buffers"],
  inputs: [{ name: "parameters", value: "2,000 float32", compared: "1,000 float32" }],
  flame: [
    [0, "main train.py:9", 200 * MIB],
    [1, "<b>&forward", 150 * MIB],
    [0, "load data.py:2", 100 * MIB],
  ],
};

describe("what a peak consists of", () => {
  it("lists categories, each with its largest line", () => {
    const parts = higherParts(PEAK);
    expect(higherText(parts, (at) => `[${at}]`)).toBe(
      "+131 MiB activations at [attention.py:88], +18.0 MiB optimizer state at [train.py:9]",
    );
    const spread = { ...PEAK, lines: PEAK.lines.slice(0, 1) };
    expect(higherText(higherParts(spread), (at) => at)).toContain("+18.0 MiB optimizer state");
    expect(higherText(higherParts(spread), (at) => at)).not.toContain("train.py");
  });

  it("lists lines where no category is known, and nothing without a comparison", () => {
    const unseen = { ...PEAK, categories: [] };
    expect(higherText(higherParts(unseen), (at) => at)).toBe("+130 MiB at attention.py:88, +9.00 MiB at train.py:9");
    expect(higherParts({ ...PEAK, compared_bytes: null })).toEqual([]);
    expect(peakNotes(unseen)).toContain("The categories of this program's memory are unknown.");
  });

  it("adds up to both peaks, with the rest named", () => {
    const sums = peakTables(PEAK)
      .slice(0, 2)
      .map(({ rows }) => rows.at(-1));
    expect(sums).toEqual([
      ["unexplained", "1.00 MiB", "0 B", "+1.00 MiB"],
      ["unexplained", "1.00 MiB", "0 B", "+1.00 MiB"],
    ]);
    // The samples of the judged runs are lower than what the allocator recorded.
    const higher = { ...PEAK, bytes: 290 * MIB };
    expect(peakTables(higher)[0]?.rows.at(-1)?.[0]).toBe("above the highest sample");
    const bars = stackedRows(PEAK).reduce((sum, { bytes }) => sum + bytes, 0);
    expect(bars).toBe(PEAK.bytes);
  });

  it("names categories that could not be recognised, and inputs that differ", () => {
    expect(peakNotes(PEAK)).toEqual([
      "Categories that could not be recognised, and are in other rows: communication buffers.",
      "parameters: 1,000 float32 -> 2,000 float32",
    ]);
  });

  it("the drawing leaves out parts too small to be seen, and marks unchanged ones", () => {
    const rows = [row("activations", 170, 20), row("parameters", 130, 130), row("other", 0.1, 0)];
    const { svg } = drawComposition({ ...PEAK, rows }, { left: 0, right: 800, top: 0, theme: THEMES.light });
    expect(svg).toContain(">activations +150 MiB<");
    expect(svg).toContain(">parameters unchanged<");
    expect(svg).not.toContain("other");
  });

  it("the composition of a peak is drawn with outside text escaped, each frame below its caller", () => {
    const svg = renderFlame(PEAK.flame);
    expect(svg).not.toContain("<b>");
    const lefts = [...svg.matchAll(/<rect x="([\d.]+)" y="(\d+)"/g)].map(([, x, y]) => [Number(x), Number(y)]);
    expect(lefts).toEqual([
      [0, 0],
      [0, 22],
      [800, 0],
    ]);
    const area = { left: 0, right: 1200, top: 0, theme: THEMES.light };
    const drawn = drawComposition({ ...PEAK, rows: [row("<i>", 300, 150)] }, area);
    expect(drawn.svg).toContain("&#60;i&#62; +150 MiB");
  });
});
