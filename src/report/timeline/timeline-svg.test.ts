import { describe, expect, it } from "vitest";
import { GIB } from "../../core/units.ts";
import type { Timeline } from "../documents/model.ts";
import { sampleScenario, sampleSeries, sampleTimeline } from "../testing/sample-report.ts";
import { LETTER_WIDTHS } from "./font-metrics.ts";
import { renderTimelineSvg } from "./timeline-svg.ts";

const HOSTILE = "</text><script>alert(1)</script>\"'&\u202e\u0007 日本 [x](y)";

/** Text contents of the picture with entities resolved. */
function texts(svg: string): string[] {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map((match) =>
    match[1]!.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))),
  );
}

function expectWellFormed(svg: string): void {
  expect(/.{0,60}(NaN|undefined|Infinity|null).{0,20}/.exec(svg)?.[0]).toBeUndefined();
  const open = svg.match(/<(g|svg|text|defs|clipPath)\b/g)?.length;
  const close = svg.match(/<\/(g|svg|text|defs|clipPath)>/g)?.length;
  expect(open).toBe(close);
}

describe("renderTimelineSvg", () => {
  it("contains the verdict, the scenario, the reason, the peak and every entry of the legend", () => {
    const svg = renderTimelineSvg(sampleTimeline());
    expectWellFormed(svg);
    const labels = texts(svg);
    for (const text of [
      "✗ FAIL",
      "train-mlp",
      "allocated",
      "reserved",
      "baseline range and middle",
      "limit",
      "budget",
    ]) {
      expect(labels).toContain(text);
    }
    expect(labels).toContain("budget 2.00 GiB");
    expect(labels).toContain("limit 1.45 GiB");
    expect(labels.join(" ")).toContain("grows 11.80 MiB/s and is a leak");
    expect(labels).toContain("allocated peak 1.86 GiB");
  });

  it("is the same text for the same data", () => {
    const once = renderTimelineSvg(sampleTimeline());
    const again = renderTimelineSvg(sampleTimeline());
    expect(again === once).toBe(true);
  });

  it("escapes outside text and draws only letters that the font has", () => {
    const svg = renderTimelineSvg(
      sampleTimeline({
        scenario: HOSTILE,
        subtitle: HOSTILE,
        series: [sampleSeries({ device: HOSTILE }), sampleSeries({ device: `${HOSTILE}2`, rank: 1 })],
        marks: [{ time_s: 5, text: HOSTILE }],
      }),
    );
    expectWellFormed(svg);
    expect(svg.includes("<script")).toBe(false);
    for (const text of texts(svg)) for (const letter of text) expect(LETTER_WIDTHS.has(letter), letter).toBe(true);
  });

  it.each<[string, Partial<Timeline>]>([
    ["no series", { series: [], envelope: null, budget_bytes: null, threshold_bytes: null }],
    ["only gaps", { series: [{ ...sampleSeries(), bytes: new Float64Array(2100).fill(Number.NaN) }] }],
    ["one sample", { series: [sampleSeries({ seconds: 0.02 })], envelope: null }],
    [
      "zero throughout",
      {
        series: [{ ...sampleSeries(), bytes: new Float64Array(2100) }],
        envelope: null,
        threshold_bytes: 0,
        budget_bytes: null,
      },
    ],
    [
      "one value throughout",
      { series: [{ ...sampleSeries(), bytes: new Float64Array(2100).fill(GIB) }], envelope: null },
    ],
    ["petabytes", { series: [{ ...sampleSeries(), bytes: new Float64Array(2100).fill(2 ** 53) }], envelope: null }],
    [
      "infinite and negative times",
      { series: [{ ...sampleSeries(), time_s: new Float64Array(2100).fill(Number.POSITIVE_INFINITY) }] },
    ],
    [
      "unequal envelope columns",
      {
        envelope: {
          rank: 0,
          device: "cuda:0",
          metric: "allocated",
          time_s: [0, 1, 2],
          low_bytes: [1],
          mid_bytes: [2, 3],
          high_bytes: [],
        },
      },
    ],
    [
      "an empty envelope",
      {
        envelope: {
          rank: 0,
          device: "cuda:0",
          metric: "allocated",
          time_s: [],
          low_bytes: [],
          mid_bytes: [],
          high_bytes: [],
        },
      },
    ],
    ["a limit that is not a number", { threshold_bytes: Number.NaN, budget_bytes: Number.POSITIVE_INFINITY }],
  ])("draws a valid picture of %s", (_, overrides) => {
    expectWellFormed(renderTimelineSvg(sampleTimeline(overrides)));
  });

  it("draws at most eight series and names the highest of the others", () => {
    const series = Array.from({ length: 16 }, (_, rank) =>
      sampleSeries({ rank, device: `cuda:${rank}`, level: (1 + rank / 50) * GIB }),
    );
    const labels = texts(renderTimelineSvg(sampleTimeline({ series, envelope: null })));
    expect(labels.filter((text) => /^rank \d+ cuda:\d+ allocated$/.test(text))).toHaveLength(8);
    expect(labels).toContain("rank 15 cuda:15 allocated");
    expect(labels.find((text) => text.startsWith("+8 more, highest"))).toContain("rank 7 cuda:7");
  });

  it("names a missing baseline and a distant budget in the legend", () => {
    const labels = texts(
      renderTimelineSvg(sampleTimeline({ ...sampleScenario("unjudged").timeline!, budget_bytes: 80 * GIB })),
    );
    expect(labels).toContain("no baseline");
    expect(labels).toContain("budget 80.00 GiB ↑");
    expect(labels).toContain("? UNJUDGED");
  });
});
