import { expect, it } from "vitest";
import type { Measurements } from "../../analysis/measurements.ts";
import { parseMeasurements } from "../../analysis/parse-measurements.ts";
import { judge } from "../../verdict/judge.ts";
import { DEFAULT_POLICY } from "../../verdict/model/defaults.ts";
import { renderComparisonTerminal } from "./comparison-terminal.ts";

const ofRanks = (ranks: number, metrics: readonly string[] = ["allocated"]): Measurements =>
  parseMeasurements(
    {
      schema: "stormlog.measurements/1",
      scenario: "train",
      runs: ["a", "b", "c"].map((session) => ({
        session,
        series: Array.from({ length: ranks }, (_, rank) =>
          metrics.map((metric) => ({
            rank,
            device: metric === "allocated" ? "cuda:0" : "host",
            metric,
            peak_bytes: 2 ** 30,
          })),
        ).flat(),
      })),
    },
    "file",
  );

/** The lines of a comparison of as many ranks, and how often it went through the runs of a side. */
function compared(
  ranks: number,
  metrics?: readonly string[],
): { readonly lines: readonly string[]; readonly passes: number } {
  const measurements = ofRanks(ranks, metrics);
  const judgement = judge({
    candidate: measurements,
    baseline: measurements,
    anchor: null,
    policy: { ...DEFAULT_POLICY, horizon: null },
    baseRunsPossible: false,
    moreRunsPossible: false,
  });
  let passes = 0;
  const counted: Measurements = {
    ...measurements,
    get runs() {
      passes += 1;
      return measurements.runs;
    },
  };
  const side = { name: "file", measurements: counted };
  const text = renderComparisonTerminal({ a: side, b: side }, judgement, { color: false, width: 120 });
  return { lines: text.split("\n"), passes };
}

it("a comparison reads the runs as often for many ranks as for one", () => {
  const [one, many] = [compared(1), compared(300)];
  expect(one.lines.filter((line) => line.includes("1.00 GiB"))).toHaveLength(1);
  expect(many.lines.filter((line) => line.includes("1.00 GiB"))).toHaveLength(300);
  expect(many.passes).toBe(one.passes);
});

it("a comparison lists what counts on request only where it is judged", () => {
  const { lines } = compared(1, ["host", "host_shared_once"]);
  expect(lines.filter((line) => line.includes("1.00 GiB"))).toHaveLength(1);
  expect(lines.join("\n")).not.toContain("host_shared_once");
});

it("a leak without a judged growth has the value of the growth check", () => {
  const side = (kind: "flat" | "leak", growths: readonly number[]): Measurements =>
    parseMeasurements(
      {
        schema: "stormlog.measurements/1",
        scenario: "train",
        runs: growths.map((growth, run) => ({
          session: `${kind}-${run}`,
          series: [
            {
              rank: 0,
              device: "cuda:0",
              metric: "allocated",
              peak_bytes: 2 ** 30,
              growth_bytes: growth * 2 ** 20,
              class: kind,
            },
          ],
        })),
      },
      "file",
    );
  const [a, b] = [side("flat", [0]), side("leak", [253.8, 258.3, 255])];
  const judgement = judge({
    candidate: b,
    baseline: a,
    anchor: null,
    policy: { ...DEFAULT_POLICY, horizon: null },
    baseRunsPossible: false,
    moreRunsPossible: false,
  });
  const growth = judgement.checks.find(({ kind }) => kind === "growth");
  expect(growth).toMatchObject({ verdict: "unjudged", candidate_bytes: Math.round(253.8 * 2 ** 20) });
  const ofClass = judgement.checks.find(({ kind }) => kind === "class");
  expect(ofClass).toMatchObject({ verdict: "fail", candidate_bytes: Math.round(258.3 * 2 ** 20) });
  const sides = { a: { name: "clean", measurements: a }, b: { name: "leak", measurements: b } };
  const text = renderComparisonTerminal(sides, judgement, { color: false, width: 120 });
  expect(text).toMatch(/allocated growth +0 B +253\.80 MiB +\+253\.80 MiB/);
});
