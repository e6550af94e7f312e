import { describe, expect, it } from "vitest";
import type { LabCurve } from "./curve.ts";
import type { LabDocument, LabPattern, LabState } from "./document.ts";
import { labMultiples } from "./multiples.ts";

function state(peak: number, more: Partial<LabState> = {}): LabState {
  return {
    verdict: "not-judged",
    confirmed: false,
    bundle: "x",
    runs: 1,
    peak_bytes: peak,
    growth_bytes: null,
    slope_bytes_per_step: null,
    slope_bytes_per_s: null,
    class: "leak",
    mde_bytes: null,
    accuracy: null,
    error: null,
    ...more,
  };
}

function round(backend: string, names: readonly string[], leaky: Partial<LabState> = {}): LabDocument {
  const patterns = names.map(
    (name): LabPattern => ({
      name,
      title: name,
      framework: "torch",
      outcome: "replayed",
      reason: null,
      series: { device: "host", metric: "allocated" },
      leak_bytes_per_step: null,
      steps: null,
      leaky: state(300, leaky),
      fixed: state(100),
      ratio: 3,
      line: null,
      line_in_leak: null,
    }),
  );
  return {
    schema: "stormlog.lab/1",
    source: "replay",
    generated_at_utc: null,
    scale: null,
    backend,
    device_model: null,
    framework_version: null,
    patterns,
  };
}

const rising: LabCurve = {
  axis: "steps",
  length: 60,
  at: Float64Array.of(0, 0.5, 1),
  bytes: Float64Array.of(100, 200, 300),
};

const textsOf = (svg: string): readonly string[] =>
  [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text = ""]) => text);
const drawn = (svg: string): number => (svg.match(/stroke-linecap="round"/g) ?? []).length;

describe("the small multiples", () => {
  it("the small multiples have a panel per pattern, with the ratio of each round, in two to four columns", () => {
    for (const [count, columns] of [
      [2, 2],
      [4, 2],
      [9, 3],
      [17, 4],
    ] as const) {
      const names = Array.from({ length: count }, (_, i) => `pattern_${i}`);
      const svg = labMultiples([round("mps", names), round("cuda", names)], () => rising);
      const titles = [...svg.matchAll(/<text x="([\d.]+)" y="[\d.]+" font-size="19"[^>]*>(pattern_\d+)</g)];
      expect(titles.map(([, , name]) => name)).toEqual(names);
      expect(new Set(titles.map(([, x]) => x)).size).toBe(columns);
      expect(textsOf(svg).filter((text) => text === "cuda 3.00x")).toHaveLength(count);
      expect(drawn(svg)).toBe(4 * count);
    }
  });

  it("the small multiples are in bytes for one round, and in multiples of the fixed peak for several", () => {
    const one = textsOf(labMultiples([round("mps", ["a"])], () => rising));
    expect(one).toContain("200 B");
    expect(one).toContain("60 steps");
    const two = textsOf(labMultiples([round("mps", ["a"]), round("cuda", ["a"])], () => rising));
    expect(two).toContain("3x");
    expect(two.join()).toContain("1x is the fixed state's peak");
  });

  it("a panel without samples has a note and no line", () => {
    const svg = labMultiples([round("mps", ["a"]), round("cuda", ["b"])], () => null);
    expect(textsOf(svg).filter((text) => text === "no samples were kept")).toHaveLength(2);
    expect(drawn(svg)).toBe(0);
    expect(textsOf(labMultiples([round("mps", [])], () => null))).toContain("No pattern was measured.");
  });

  it("the line of a run that ran out of memory ends earlier than the other's, with a label", () => {
    const ranOut = round("cuda", ["a"], { out_of_memory: { device: "cuda:0", at_bytes: 300 } });
    const short: LabCurve = { ...rising, length: 30 };
    const svg = labMultiples([ranOut], (_, __, which) => (which === "leaky" ? short : rising));
    expect(textsOf(svg)).toEqual(expect.arrayContaining(["≥ 3.00x", "out of memory"]));
    const ends = [...svg.matchAll(/d="M[\d.L ]*L([\d.]+) [\d.]+" fill="none"/g)].map(([, x]) => Number(x));
    const [fixed, leaky] = ends as [number, number];
    expect(leaky).toBeLessThan(0.6 * fixed);
  });

  it("the small multiples escape names, and truncate those that are too long for their panel", () => {
    const svg = labMultiples([round('"><script>', ['<script>alert(1)</script>"&', "x".repeat(300)])], () => rising);
    expect(svg).not.toContain("<script");
    expect(textsOf(svg).some((text) => /^x{20,60}…$/.test(text))).toBe(true);
  });
});
