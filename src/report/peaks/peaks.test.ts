import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { draws } from "../../core/testing/draws.ts";
import type { DeviceDifference, LineDifference, SnapshotDifference } from "../../snapshot/live/peak-difference.ts";
import { textWidth } from "../drawing/text-width.ts";
import { renderPeaksMarkdown } from "../markdown/peaks-markdown.ts";
import { differenceOf, peakRows } from "./peak-rows.ts";
import { renderPeaksSvg } from "./peaks-svg.ts";

const MIB = 2 ** 20;

function line(name: string, before: number, after: number): LineDifference {
  const counts = { before_blocks: 1, after_blocks: 1, user: true, line_before: null };
  const sizes = { before_bytes: before, after_bytes: after, difference_bytes: after - before };
  return { file: name, line: 8, function: "forward", ...counts, ...sizes, stack: [] };
}

function device(lines: readonly LineDifference[], rest: { readonly before: number; readonly after: number }) {
  const sum = (side: "before_bytes" | "after_bytes") => lines.reduce((total, one) => total + one[side], 0);
  const [before, after] = [sum("before_bytes") + rest.before, sum("after_bytes") + rest.after];
  return {
    device: "cuda:0",
    before_bytes: before,
    after_bytes: after,
    difference_bytes: after - before,
    before_moment: "peak",
    after_moment: "peak",
    lines,
    unexplained_bytes: rest.after - rest.before,
    categories: [],
    phases: [],
    pools: [],
  } satisfies DeviceDifference;
}

const documentOf = (...devices: readonly DeviceDifference[]): SnapshotDifference => ({
  schema: "stormlog.snapshot-difference/1",
  before: "a.pickle",
  after: "b.pickle",
  devices,
  notes: [],
});

const size = fc.integer({ min: 0, max: 4096 }).map((mib) => mib * MIB);
const anyDevice = fc
  .tuple(fc.array(fc.tuple(fc.string(), size, size), { maxLength: 30 }), size, size)
  .map(([lines, before, after]) =>
    device(
      lines.map(([name, a, b]) => line(name, a, b)),
      { before, after },
    ),
  );

describe("the rows of two peaks", () => {
  it("add up to both peaks, whatever differs", () => {
    fc.assert(
      fc.property(anyDevice, fc.integer({ min: 1, max: 12 }), (one, most) => {
        const rows = peakRows(one, most);
        const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + of(row), 0);
        expect(sum(({ before }) => before)).toBe(one.before_bytes);
        expect(sum(({ after }) => after)).toBe(one.after_bytes);
        expect(sum(differenceOf)).toBe(one.difference_bytes);
        expect(rows.filter(({ kind }) => kind === "line").length).toBeLessThanOrEqual(most);
      }),
    );
  });
});

/** The texts of a picture, as boxes. */
function textBoxes(svg: string) {
  return [...svg.matchAll(/<text x="([\d.]+)" y="([\d.]+)" font-size="(\d+)"([^>]*)>([^<]*)<\/text>/g)].map(
    ([, x, y, letters, more, content]) => {
      const plain = content!.replace(/&#?\w+;/g, "M");
      const width = textWidth(plain, Number(letters));
      const left = more!.includes('text-anchor="end"') ? Number(x) - width : Number(x);
      return { left, right: left + width, y: Number(y) };
    },
  );
}

describe("the picture of two peaks", () => {
  it("draws labels that neither overlap nor leave the picture", () => {
    fc.assert(
      fc.property(fc.array(anyDevice, { maxLength: 3 }), fc.constantFrom("light", "dark"), (devices, theme) => {
        const svg = renderPeaksSvg(documentOf(...devices), theme);
        const boxes = textBoxes(svg);
        expect(boxes).toHaveLength(svg.split("<text ").length - 1);
        for (const [index, box] of boxes.entries()) {
          expect(box.left).toBeGreaterThanOrEqual(0);
          expect(box.right).toBeLessThanOrEqual(1200);
          const beside = boxes.slice(index + 1).filter(({ y }) => Math.abs(y - box.y) < 20);
          for (const other of beside) expect(box.right <= other.left || other.right <= box.left).toBe(true);
        }
      }),
      { numRuns: draws(60) },
    );
  });

  it("begins each bar of the difference where the last one ended", () => {
    const svg = renderPeaksSvg(
      documentOf(device([line("a.py", 0, 4 * MIB), line("b.py", 3 * MIB, 0)], { before: 9 * MIB, after: 9 * MIB })),
    );
    const bars = [
      ...svg.matchAll(/<rect x="([\d.]+)" y="\d+" width="([\d.]+)" height="22" fill="#(?:cf222e|0969da)"/g),
    ].map(([, x, width]) => ({ from: Number(x), to: Number(x) + Number(width) }));
    const [grown, , shrunk] = bars;
    expect(bars).toHaveLength(3);
    expect(shrunk!.to).toBeCloseTo(grown!.to, 0);
    expect(svg).toContain("These bars begin at 11.40 MiB.");
  });

  it("and the markdown show names from a file as text", () => {
    const hostile = documentOf(
      device([line('<img src=x onerror="a()">|[b](http://c)@d', 0, MIB)], { before: MIB, after: MIB }),
    );
    expect(renderPeaksSvg(hostile)).not.toContain("<img");
    expect(renderPeaksMarkdown(hostile)).not.toMatch(/<img|\]\(http|@d/);
  });
});
