import { describe, expect, it } from "vitest";
import { GIB } from "../../core/units.ts";
import { sampleSeries, sampleTimeline } from "../testing/sample-report.ts";
import { renderMermaid } from "./mermaid.ts";

describe("renderMermaid", () => {
  const plots = (text: string) =>
    [...text.matchAll(/line "([^"]*)" \[([^\]]*)\]/g)].map((match) => ({
      name: match[1]!,
      values: match[2]!.split(", ").map(Number),
    }));

  it("draws at most 60 points per line and never loses the peak", () => {
    const series = sampleSeries({ swing: 0 });
    const bytes = Float64Array.from(series.bytes);
    bytes[777] = 3 * GIB;
    const text = renderMermaid(sampleTimeline({ series: [{ ...series, bytes }] }))!;
    for (const plot of plots(text)) {
      expect(plot.values).toHaveLength(60);
      expect(plot.values.every(Number.isFinite)).toBe(true);
    }
    const main = plots(text).find((plot) => plot.name === "allocated")!;
    expect(Math.max(...main.values)).toBe(3);
    const colors = /plotColorPalette: "([^"]*)"/.exec(text)![1]!.split(",");
    expect(colors).toHaveLength(plots(text).length);
    expect(text.length).toBeLessThan(5000);
  });

  it("keeps hostile names inside their quotes", () => {
    const series = [sampleSeries({ device: 'x"]\n%%{init}\n    line "fake" [1]' }), sampleSeries({ device: "cuda:1" })];
    const text = renderMermaid(sampleTimeline({ series, envelope: null }))!;
    expect(text.split("\n").every((line) => (line.match(/"/g)?.length ?? 0) % 2 === 0)).toBe(true);
    expect(text).not.toContain("%%");
    expect(plots(text).map((plot) => plot.name)).not.toContain("fake");
  });

  it("is null when nothing was measured", () => {
    expect(renderMermaid(sampleTimeline({ series: [] }))).toBeNull();
  });
});
