import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { draws } from "../../core/testing/draws.ts";
import { type Box, overlaps, placeLabels } from "./labels.ts";

const AREA = { x: 60, y: 80, width: 1000, height: 250 };
const coordinate = fc.double({ min: -200, max: 1400, noNaN: true });
const label = fc.record({
  width: fc.double({ min: 10, max: 400, noNaN: true }),
  height: fc.double({ min: 10, max: 40, noNaN: true }),
  corners: fc.array(fc.record({ x: coordinate, y: coordinate }), { maxLength: 4 }),
});
const stroke = fc.record({ x: coordinate, top: coordinate, bottom: coordinate });

/** Areas of overlap, without the gap that `overlaps` adds. */
function sharesPixels(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

describe("placeLabels", () => {
  it("never lets two labels overlap or leave the area, for any preferred positions", () => {
    fc.assert(
      fc.property(fc.array(label, { maxLength: 14 }), fc.array(stroke, { maxLength: 60 }), (labels, strokes) => {
        const boxes = placeLabels(labels, AREA, strokes);
        expect(boxes).toHaveLength(labels.length);
        const placed = boxes.filter((box) => box !== null);
        placed.forEach((box, i) => {
          expect(box.x).toBeGreaterThanOrEqual(AREA.x);
          expect(box.y).toBeGreaterThanOrEqual(AREA.y);
          expect(box.x + box.width).toBeLessThanOrEqual(AREA.x + AREA.width + 1e-9);
          expect(box.y + box.height).toBeLessThanOrEqual(AREA.y + AREA.height + 1e-9);
          for (const other of placed.slice(0, i)) expect(sharesPixels(box, other)).toBe(false);
        });
        // The most important label always finds a place.
        if (labels.length > 0) expect(boxes[0]).not.toBeNull();
      }),
      { numRuns: draws(400) },
    );
  });

  it("places labels that all want the same corner beside each other", () => {
    const same = { width: 120, height: 22, corners: [{ x: 300, y: 200 }] };
    const boxes = placeLabels([same, same, same, same, same, same], AREA);
    expect(boxes.filter((box) => box !== null)).toHaveLength(6);
    expect(boxes[0]).toMatchObject({ x: 300, y: 200 });
  });

  it("takes the first corner that crosses no line, and leaves out what is larger than the area", () => {
    const line = Array.from({ length: 200 }, (_, i) => ({ x: 60 + i * 5, top: 208, bottom: 212 }));
    const corners = [
      { x: 300, y: 200 },
      { x: 300, y: 170 },
    ];
    expect(placeLabels([{ width: 100, height: 22, corners }], AREA, line)[0]).toMatchObject({ x: 300, y: 170 });
    expect(placeLabels([{ width: 2000, height: 22, corners }], AREA)).toEqual([null]);
    expect(overlaps({ x: 0, y: 0, width: 10, height: 10 }, { x: 11, y: 0, width: 10, height: 10 })).toBe(true);
  });
});
