import { describe, expect, it } from "vitest";
import { annotationsOf } from "../../../src/github/comment/annotations.ts";
import { renderJUnit } from "../../../src/report/documents/junit.ts";
import { renderSarif } from "../../../src/report/documents/sarif.ts";
import type { Section } from "../../../src/report/model/section.ts";
import { renderTerminal } from "../../../src/report/terminal/terminal.ts";
import { renderTimelineHtml } from "../../../src/report/timeline/timeline-html.ts";
import { renderTimelinePng } from "../../../src/report/timeline/timeline-png.ts";
import { fresh, type Json, type Path, read, set } from "./documents.ts";
import { sourceProblems } from "./oracle.ts";
import { comments } from "./rendered-comments.ts";

/** Sections with invented numbers. */

/** Everything that is rendered from a section; numbers that take long exceed the time limit of the test. */
async function renderAll(section: Section): Promise<void> {
  const { report } = section;
  for (const markdown of comments(section, "")) {
    expect(sourceProblems(markdown)).toEqual([]);
    expect(markdown).not.toMatch(/NaN|undefined|\bInfinity\b/);
  }
  const { timeline } = report.scenarios[0]!;
  if (timeline !== null) {
    const png = Buffer.from(await renderTimelinePng(timeline));
    expect(png.readUInt32BE(16)).toBe(1200);
  }
  expect(renderTimelineHtml(report)).toContain("</html>");
  expect(renderTerminal(report, { color: false, width: 100 }).length).toBeLessThan(4_000_000);
  JSON.parse(renderSarif(report));
  expect(renderJUnit(report)).not.toMatch(/NaN|Infinity/);
  expect(annotationsOf(report).length).toBeLessThanOrEqual(20);
}

const SERIES = ["report", "scenarios", 0, "timeline", "series", 0] as const;
const CHECK = ["report", "scenarios", 0, "judgement", "checks", 0] as const;

describe("sections with invented numbers", () => {
  const values: readonly (readonly [string, number])[] = [
    ["the largest number", 1.7976931348623157e308],
    ["the smallest number", 5e-324],
    ["the most negative number", -1.7976931348623157e308],
    ["minus one", -1],
    ["minus zero", -0],
    ["2 to the 53rd", 2 ** 53],
    ["2 to the 64th", 2 ** 64],
    ["a googol", 1e100],
  ];
  const fields: readonly (readonly [string, Path])[] = [
    ["a peak", [...CHECK, "candidate_bytes"]],
    ["a limit", [...CHECK, "threshold_bytes"]],
    ["a baseline", [...CHECK, "baseline_bytes"]],
    ["a smallest detectable size", [...CHECK, "mde_bytes"]],
    ["a budget in the chart", ["report", "scenarios", 0, "timeline", "budget_bytes"]],
    ["a threshold in the chart", ["report", "scenarios", 0, "timeline", "threshold_bytes"]],
    ["a mark's time", ["report", "scenarios", 0, "timeline", "marks", 0, "time_s"]],
    ["the last time of a chart", [...SERIES, "time_s", 100]],
    ["a point of a chart", [...SERIES, "bytes", 100]],
    ["the minutes", ["report", "cost", "minutes"]],
    ["a duration", ["report", "scenarios", 0, "runs", 0, "info", "clock", "duration_s"]],
    ["a rate", ["report", "scenarios", 0, "runs", 0, "info", "sampler", "host_rate_hz"]],
    ["a rank", [...CHECK, "rank"]],
    ["a number of runs", ["report", "cost", "runs"]],
    ["growth a step", ["report", "scenarios", 0, "findings", 0, "evidence", "bytes_per_step"]],
    ["a share", ["report", "scenarios", 0, "findings", 0, "evidence", "share"]],
  ];
  const cases = fields.flatMap(([field, path]) =>
    values.map(([value, number]) => [value, field, path, number] as const),
  );

  it.each(cases)("%s as %s is drawn or refused", (_value, _field, path, number) => {
    const document = JSON.stringify(set(fresh(), path, number));
    let section: Section;
    try {
      section = read(document);
    } catch (error) {
      expect(error).toMatchObject({ code: "SECTION_INVALID" });
      return;
    }
    for (const markdown of comments(section, "")) {
      expect(markdown).not.toMatch(/NaN|undefined|\bInfinity\b/);
    }
  });

  const shapes: readonly (readonly [string, (document: Json) => Json])[] = [
    [
      "all points at the largest number",
      (d) =>
        set(
          set(d, [...SERIES, "bytes"], Array(500).fill(9e99)),
          [...SERIES, "time_s"],
          Array.from({ length: 500 }, (_, n) => n),
        ),
    ],
    [
      "points between the ends of all numbers",
      (d) =>
        set(
          set(
            d,
            [...SERIES, "bytes"],
            Array.from({ length: 500 }, (_, n) => (n % 2 === 0 ? 9e99 : -9e99)),
          ),
          [...SERIES, "time_s"],
          Array.from({ length: 500 }, (_, n) => n),
        ),
    ],
    [
      "times between the ends of all numbers",
      (d) =>
        set(
          d,
          [...SERIES, "time_s"],
          Array.from({ length: 900 }, (_, n) => (n % 2 === 0 ? 9e99 : -9e99)),
        ),
    ],
    [
      "times that go backwards",
      (d) =>
        set(
          d,
          [...SERIES, "time_s"],
          Array.from({ length: 900 }, (_, n) => -n),
        ),
    ],
    ["times that are all the same", (d) => set(d, [...SERIES, "time_s"], Array(900).fill(1))],
    [
      "times of a thousand years",
      (d) =>
        set(
          d,
          [...SERIES, "time_s"],
          Array.from({ length: 900 }, (_, n) => n * 3e7),
        ),
    ],
    ["more times than points", (d) => set(d, [...SERIES, "bytes"], [1])],
    ["more points than times", (d) => set(d, [...SERIES, "time_s"], [1])],
    ["no points at all", (d) => set(set(d, [...SERIES, "bytes"], []), [...SERIES, "time_s"], [])],
    ["only gaps", (d) => set(d, [...SERIES, "bytes"], Array(900).fill(null))],
    ["only negative points", (d) => set(d, [...SERIES, "bytes"], Array(900).fill(-5))],
    [
      "a thousand series",
      (d) => {
        const one: Json = {
          rank: 1,
          device: "cuda:0",
          metric: "allocated",
          gating: true,
          time_s: [0, 1, 2],
          bytes: [1, 2, 3],
        };
        return set(
          d,
          ["report", "scenarios", 0, "timeline", "series"],
          Array.from({ length: 1000 }, (_, rank) => ({ ...one, rank })),
        );
      },
    ],
    [
      "ten thousand marks",
      (d) =>
        set(
          d,
          ["report", "scenarios", 0, "timeline", "marks"],
          Array.from({ length: 10_000 }, (_, n) => ({ time_s: n, text: "mark" })),
        ),
    ],
    [
      "an envelope whose lists differ in length",
      (d) => set(d, ["report", "scenarios", 0, "timeline", "envelope", "mid_bytes"], [1]),
    ],
    [
      "an empty envelope",
      (d) =>
        set(d, ["report", "scenarios", 0, "timeline", "envelope"], {
          rank: 0,
          device: "x",
          metric: "allocated",
          time_s: [],
          low_bytes: [],
          mid_bytes: [],
          high_bytes: [],
        }),
    ],
    ["ten thousand warnings", (d) => set(d, ["report", "warnings"], Array(10_000).fill("warning | `x`"))],
    [
      "five thousand checks",
      (d) => {
        const check = ((d as { report: { scenarios: { judgement: { checks: Json[] } }[] } }).report.scenarios[0]!
          .judgement.checks[0] ?? null) as Json;
        return set(d, ["report", "scenarios", 0, "judgement", "checks"], Array(5000).fill(check));
      },
    ],
    [
      "a thousand findings",
      (d) => {
        const finding = (d as { report: { scenarios: { findings: Json[] }[] } }).report.scenarios[0]!
          .findings[0] as Json;
        return set(d, ["report", "scenarios", 0, "findings"], Array(1000).fill(finding));
      },
    ],
    ["no scenario", (d) => set(d, ["report", "scenarios"], [])],
  ];
  it.each(shapes)("a section with %s is rendered", async (what, change) => {
    const section = read(JSON.stringify(change(fresh())));
    if (what === "no scenario") {
      for (const markdown of comments(section, "")) expect(sourceProblems(markdown)).toEqual([]);
      return;
    }
    await renderAll(section);
  });
});
