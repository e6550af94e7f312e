import { describe, expect, it } from "vitest";
import { GIB } from "../../core/units.ts";
import { decodePng, type Picture } from "../testing/decode-png.ts";
import { sampleSeries, sampleTimeline } from "../testing/sample-report.ts";
import { renderTimelinePng } from "./timeline-png.ts";

/** Whether a pixel near (x, y) has the ink of the main line or of the peak's marker. */
function inked(picture: Picture, x: number, y: number): boolean {
  for (let dy = -3; dy <= 3; dy++) {
    for (let dx = -3; dx <= 3; dx++) {
      const [red, green, blue] = picture.at(x + dx, y + dy);
      if (Math.abs(red - 0x09) < 70 && Math.abs(green - 0x69) < 50 && Math.abs(blue - 0xda) < 40) return true;
    }
  }
  return false;
}

describe("renderTimelinePng", () => {
  it("renderTimelinePng draws a small picture 1200 pixels wide, on the colour of a light or a dark page", async () => {
    for (const theme of ["light", "dark"] as const) {
      const png = await renderTimelinePng(sampleTimeline(), theme);
      expect(png.length).toBeLessThan(100_000);
      const picture = decodePng(png);
      expect(picture.width).toBe(1200);
      expect(picture.height).toBeLessThan(450);
      expect(picture.at(2, 2)).toEqual(theme === "light" ? [255, 255, 255] : [13, 17, 23]);
    }
  });

  it("draws the column of a single highest sample among a hundred thousand", async () => {
    const series = sampleSeries({ seconds: 2000, swing: 0 });
    const at = 61_803;
    const bytes = Float64Array.from(series.bytes);
    bytes[at] = 3 * GIB;
    const timeline = sampleTimeline({
      series: [{ ...series, bytes }],
      envelope: null,
      threshold_bytes: null,
      budget_bytes: null,
      marks: [],
    });
    const picture = decodePng(await renderTimelinePng(timeline));
    // The spike is a vertical line: some way between the level (1.24 GiB) and the spike nothing else is blue.
    const columns: number[] = [];
    for (let x = 150; x < 1150; x++) if (inked(picture, x, 230)) columns.push(x);
    expect(columns.length).toBeGreaterThan(0);
    expect(columns.length).toBeLessThan(14);
    const [left, right] = [72, 1168];
    const expected = left + (at / 100_000) * (right - left);
    expect(Math.abs(columns[Math.floor(columns.length / 2)]! - expected)).toBeLessThan(12);
  });

  it("draws the verdict in white letters on its colour", async () => {
    const picture = decodePng(await renderTimelinePng(sampleTimeline()));
    let white = 0;
    let red = 0;
    for (let y = 26; y < 58; y++) {
      for (let x = 34; x < 120; x++) {
        const [r, g, b] = picture.at(x, y);
        if (r > 240 && g > 240 && b > 240) white += 1;
        if (Math.abs(r - 0xb4) < 12 && Math.abs(g - 0x23) < 12 && Math.abs(b - 0x18) < 12) red += 1;
      }
    }
    expect(white).toBeGreaterThan(150);
    expect(red).toBeGreaterThan(1000);
  });
});
