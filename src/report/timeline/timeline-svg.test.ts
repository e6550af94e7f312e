import { describe, expect, it } from "vitest";
import { GIB, MIB } from "../../core/units.ts";
import { LETTER_WIDTHS } from "../drawing/font-metrics.ts";
import type { Timeline, TimelinePanel } from "../model/gate-report.ts";
import { sampleScenario, sampleSeries, sampleTimeline } from "../testing/sample-report.ts";
import { renderTimelineSvg } from "./timeline-svg.ts";

const HOSTILE = "</text><script>alert(1)</script>\"'&\u202e\u0007 日本 [x](y)";

const NO_LIMITS = { decides: true, envelope: null, threshold_bytes: null, budget_bytes: null } as const;

/** A small series that counts steps and has a band, and a series that is 600 times as large. */
function twoPanels(): Timeline {
  const count = 100;
  const axis = {
    time_s: Float64Array.from({ length: count }, (_, i) => i / 10),
    steps: Float64Array.from({ length: count }, (_, i) => i),
  };
  const key = { rank: 0, device: "host", metric: "allocated" as const };
  const host = { ...key, metric: "host" as const };
  const bytes = Float64Array.from({ length: count }, (_, i) => i * MIB);
  const band = { low_bytes: [MIB, MIB], mid_bytes: [MIB, MIB], high_bytes: [MIB, MIB], steps: [0, 99], runs: 5 };
  return sampleTimeline({
    series: [
      { ...key, gating: true, ...axis, bytes },
      { ...host, gating: true, ...axis, bytes: bytes.map((value) => value + 60 * GIB) },
    ],
    envelope: null,
    marks: [],
    about: key,
    panels: [
      { ...NO_LIMITS, ...key, threshold_bytes: 200 * MIB, envelope: { ...key, time_s: [0, 20], ...band } },
      { ...NO_LIMITS, ...host, threshold_bytes: 64 * GIB },
    ],
  });
}

/** The heights of the points of each measured line. */
function linesOf(svg: string): number[][] {
  return [...svg.matchAll(/<path d="([^"]*)" fill="none" stroke="#0969da"/g)].map((path) =>
    [...path[1]!.matchAll(/[ML][\d.]+ ([\d.]+)/g)].map((point) => Number(point[1])),
  );
}

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
  it("renderTimelineSvg has verdict and cause as a sentence, and labels on its lines", () => {
    const svg = renderTimelineSvg(sampleTimeline());
    expectWellFormed(svg);
    const labels = texts(svg);
    for (const text of ["✗ FAIL", "allocated, GiB", "baseline", "limit 1.45 GiB", "budget 2.00 GiB", "1.86 GiB"]) {
      expect(labels).toContain(text);
    }
    expect(labels.join(" ")).toContain("train-mlp: allocated on cuda:0 grows 11.80 MiB/s and is a leak");
    expect(labels.filter((text) => text.includes("reserved"))).toEqual([]);
  });

  it("gives every deciding series an axis from zero, a limit and a band of its own", () => {
    const labels = texts(renderTimelineSvg(twoPanels()));
    expect(labels.filter((text) => /^limit|^budget/.test(text)).sort()).toEqual(["limit 200 MiB", "limit 64.0 GiB"]);
    expect(labels).toEqual(expect.arrayContaining(["allocated, MiB", "host, GiB", "baseline, 5 runs", "this run"]));
    expect(labels.filter((text) => text === "0")).toHaveLength(2);
    // 100 MiB on an axis of 60 GiB would be a line on the ground.
    const [small] = linesOf(renderTimelineSvg(twoPanels()));
    expect(Math.max(...small!) - Math.min(...small!)).toBeGreaterThan(50);
  });

  it("counts steps where the series and its band do, else seconds", () => {
    const stepped = twoPanels();
    expect(texts(renderTimelineSvg(stepped))).toContain("step 0");
    expect(texts(renderTimelineSvg({ ...stepped, step_noun: "request" }))).toContain("request 0");
    const [panel, ...rest] = stepped.panels!;
    const { steps: _, ...band } = panel!.envelope!;
    const old = { ...stepped, panels: [{ ...panel!, envelope: band }, ...rest] };
    expect(texts(renderTimelineSvg(old))).toContain("5 s");
    // A peak after the last step must not leave the picture.
    const late = {
      ...stepped,
      series: stepped.series.map((one) => ({ ...one, steps: one.steps!.slice().fill(NaN, 90) })),
    };
    expect(texts(renderTimelineSvg(late))).toContain("5 s");
  });

  it("puts the line of code at the foot when it is known, with its share of the growth", () => {
    const cause = { location: "train.py:6", code: "history.append(x) <b>", share: 0.98 };
    const labels = texts(renderTimelineSvg(sampleTimeline({ cause })));
    expect(labels).toEqual(expect.arrayContaining(["train.py:6", "history.append(x) <b>", "98 % of the growth"]));
    expect(texts(renderTimelineSvg(sampleTimeline())).join()).not.toContain("of the growth");
  });

  it("an axis of what is counted has whole numbers, and its labels name what they count", () => {
    const key = { rank: 0, device: "host", metric: "threads" as const };
    const bytes = Float64Array.from({ length: 50 }, (_, i) => 2000 + i);
    const svg = renderTimelineSvg(
      sampleTimeline({
        series: [{ ...key, gating: true, time_s: bytes.map((_, i) => i), bytes }],
        about: key,
        panels: [{ ...NO_LIMITS, ...key, growth: { bytes: 1, per: "second" } }],
      }),
    );
    for (const text of ["thread, number", ">2049 threads<", ", +1 thread/s<", ">1500<"]) expect(svg).toContain(text);
    expect(svg).not.toMatch(/\d (?:B|KiB)\b/);
  });

  it("renderTimelineSvg gives the same text for the same data", () => {
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
        cause: { location: HOSTILE, code: HOSTILE, share: Number.NaN },
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

  it("draws at most three of many deciding series and counts the others", () => {
    const series = Array.from({ length: 16 }, (_, rank) =>
      sampleSeries({ rank, device: `cuda:${rank}`, level: (1 + rank / 50) * GIB }),
    );
    const panels = series.map(({ rank, device, metric }) => ({ ...NO_LIMITS, rank, device, metric }));
    const labels = texts(renderTimelineSvg(sampleTimeline({ series, panels })));
    expect(labels.filter((text) => /^rank \d+ cuda:\d+ allocated, GiB$/.test(text))).toHaveLength(3);
    expect(labels).toContain("and 13 more on the page");
  });

  it("renderTimelineSvg has no band without a baseline, and an arrow for a distant budget", () => {
    const labels = texts(
      renderTimelineSvg(sampleTimeline({ ...sampleScenario("unjudged").timeline!, budget_bytes: 80 * GIB })),
    );
    expect(labels.filter((text) => text.startsWith("baseline"))).toEqual([]);
    expect(labels).toContain("this run");
    expect(labels).toContain("budget 80.0 GiB ↑");
    expect(labels).toContain("? UNJUDGED");
  });

  it("shades what is above the limit, and of a growth within it what is above the baseline", () => {
    const shaded = (timeline: Timeline) => renderTimelineSvg(timeline).includes('fill-opacity="0.13"');
    const [panel] = twoPanels().panels!;
    const one = (overrides: Partial<TimelinePanel>) =>
      shaded({ ...twoPanels(), panels: [{ ...panel!, ...overrides }] });
    expect(one({ threshold_bytes: 50 * MIB })).toBe(true);
    expect(one({})).toBe(false);
    expect(one({ growth: { bytes: MIB, per: "step" } })).toBe(true);
  });
});
