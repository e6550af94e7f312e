import { describe, expect, it } from "vitest";
import type { MeasuredSeries, Measurements } from "../analysis/measurements.ts";
import { MIB } from "../core/units.ts";
import { countsForAlpha, gatingMetrics } from "./gating.ts";
import { judge } from "./judge.ts";
import { DEFAULT_POLICY } from "./model/defaults.ts";
import type { Policy } from "./model/policy.ts";
import { hidesGrowth } from "./rules/garbage-rule.ts";

const series = (metric: MeasuredSeries["metric"], device: string, peak: number | null = 1): MeasuredSeries => ({
  rank: 0,
  device,
  metric,
  peak_bytes: peak,
});

const measured = (...all: MeasuredSeries[]): Measurements => ({
  scenario: "s",
  fingerprint: null,
  runs: [{ session: "a", commit: null, series: all }],
});

const night = (night: number, bytes: number): Measurements["runs"][number] => ({
  session: `night-${night}`,
  commit: null,
  series: [series("host", "host", 100 * MIB), series("host_shared_once", "host", bytes)],
});

describe("metrics that count on request", () => {
  const checked = (policy: Partial<Policy>) =>
    judge({
      candidate: { scenario: "s", fingerprint: null, runs: [night(20, 900 * MIB)] },
      baseline: {
        scenario: "s",
        fingerprint: null,
        runs: Array.from({ length: 10 }, (_, at) => night(at, 100 * MIB)),
      },
      anchor: {
        scenario: "s",
        fingerprint: null,
        runs: [night(0, 100 * MIB)],
      },
      policy: { ...DEFAULT_POLICY, ...policy },
      baseRunsPossible: true,
    });
  const limits = (policy: Partial<Policy>): readonly string[] =>
    checked(policy).checks.flatMap(({ metric, limit, verdict }) =>
      metric === "host_shared_once" ? [`${limit} ${verdict}`] : [],
    );

  it("metrics that count on request have no check by default, however far they are above their baseline", () => {
    expect(limits({})).toEqual([]);
    expect(checked({}).verdict).toBe("pass");
  });

  it("metrics that count on request have the check of a budget that names them, and no other", () => {
    expect(limits({ budgets: [{ metric: "host_shared_once", bytes: 500 * MIB }] })).toEqual(["budget fail"]);
    expect(limits({ budgets: [{ metric: "host_shared_once", bytes: 950 * MIB }] })).toEqual(["budget pass"]);
  });

  it("a budget on a metric that was not measured is unjudged, on the host", () => {
    const { checks } = checked({ budgets: [{ metric: "host_unmapped", bytes: 500 * MIB }] });
    expect(checks.find(({ metric }) => metric === "host_unmapped")).toMatchObject({
      device: "host",
      verdict: "unjudged",
    });
  });

  it("gate like any other where the policy names them", () => {
    const all = limits({ gatingMetrics: ["host", "host_shared_once"] });
    expect(all).toContain("baseline fail");
    expect(all).toContain("anchor fail");
  });
});

describe("the metrics that gate", () => {
  it("allocated gates alone where a device's allocator was counted", () => {
    const candidate = measured(series("host", "host"), series("allocated", "cuda:0"), series("used", "cuda:0"));
    expect([...gatingMetrics(DEFAULT_POLICY, candidate)]).toEqual(["allocated"]);
  });

  it("allocated and host gate where only a heap on the host was counted", () => {
    const candidate = measured(series("host", "host"), series("allocated", "host"));
    expect([...gatingMetrics(DEFAULT_POLICY, candidate)]).toEqual(["allocated", "host"]);
  });

  it("the JavaScript heap gates instead of host where it was measured", () => {
    const candidate = measured(series("host", "host"), series("js_heap", "host"));
    expect([...gatingMetrics(DEFAULT_POLICY, candidate)]).toEqual(["allocated", "js_heap"]);
  });

  it("Python's own memory gates where it was counted, beside host, which then does not count for alpha", () => {
    const candidate = measured(series("host", "host"), series("allocated", "host"), series("python", "host"));
    const gating = gatingMetrics(DEFAULT_POLICY, candidate);
    expect([...gating]).toEqual(["allocated", "host", "python"]);
    const counted = candidate.runs[0]!.series.filter((key) => countsForAlpha(key, gating)).map(({ metric }) => metric);
    expect(counted).toEqual(["allocated", "python"]);
    expect(countsForAlpha(series("host", "host"), new Set(["host"]))).toBe(true);
  });

  it("Python's own memory does not gate where the baseline was measured before it was counted", () => {
    const run = (metrics: readonly MeasuredSeries["metric"][], session: string): Measurements["runs"][number] => ({
      session,
      commit: null,
      series: metrics.map((metric) => series(metric, "host", 100 * MIB)),
    });
    const checked = (before: readonly MeasuredSeries["metric"][], now = before) =>
      judge({
        candidate: { scenario: "s", fingerprint: null, runs: [run(now, "now")] },
        baseline: {
          scenario: "s",
          fingerprint: null,
          runs: Array.from({ length: 10 }, (_, at) => run(before, `night-${at}`)),
        },
        anchor: null,
        policy: DEFAULT_POLICY,
        baseRunsPossible: true,
      });
    expect(checked(["host"], ["host", "python"])).toMatchObject({ verdict: "pass", checks: [{ metric: "host" }] });
    expect(checked(["host", "python"]).checks.map(({ metric }) => metric)).toEqual(["host", "python"]);
    // What the baseline has and the candidate lost is not a pass.
    const lost = checked(["host", "python"], ["host"]);
    expect(lost.verdict).toBe("unjudged");
    expect(lost.checks.find(({ metric }) => metric === "python")).toMatchObject({ verdict: "unjudged", gating: true });
  });

  it("a collected heap and what is outside it gate in the place of host growth, and the peak of host stays", () => {
    const grown = (metric: MeasuredSeries["metric"], growth: number, drift: "flat" | "leak"): MeasuredSeries => ({
      ...series(metric, "host", 300 * MIB),
      growth_bytes: growth,
      class: drift,
    });
    const judged = (heap: "flat" | "leak", outside: "flat" | "leak") =>
      judge({
        candidate: {
          scenario: "s",
          fingerprint: null,
          runs: ["a", "b"].map(() => ({
            session: "a",
            commit: null,
            series: [
              grown("host", 100 * MIB, "leak"),
              grown("jvm_heap", heap === "leak" ? 100 * MIB : 0, heap),
              grown("outside_heap", outside === "leak" ? 100 * MIB : 0, outside),
            ],
          })),
        },
        baseline: null,
        anchor: null,
        policy: DEFAULT_POLICY,
        baseRunsPossible: false,
        baselineWanted: false,
      }).checks.flatMap(({ metric, verdict, gating }) => (gating ? [`${metric} ${verdict}`] : []));
    expect(judged("flat", "flat")).toEqual([]);
    expect(judged("leak", "flat")).toEqual(["jvm_heap fail"]);
    expect(judged("flat", "leak")).toEqual(["outside_heap fail"]);
  });

  it("growth of host is unjudged where a heap was seen whose contents are not known", () => {
    const leaking = { ...series("host", "host", 300 * MIB), growth_bytes: 100 * MIB, class: "leak" as const };
    const unknown = { ...series("jvm_heap", "host", null), class: "unavailable" as const };
    const verdict = (...all: MeasuredSeries[]) =>
      judge({
        candidate: { ...measured(), runs: ["a", "b"].map(() => ({ session: "a", commit: null, series: all })) },
        baseline: null,
        anchor: null,
        policy: DEFAULT_POLICY,
        baseRunsPossible: false,
        baselineWanted: false,
      });
    expect(verdict(leaking).verdict).toBe("fail");
    expect(verdict(leaking, unknown)).toMatchObject({ verdict: "unjudged", next: { kind: "done" } });
  });

  it("growth against a baseline is garbage where a run beside the judged ones shows that the heap does not grow", () => {
    type Drift = NonNullable<MeasuredSeries["class"]>;
    const one = (metric: MeasuredSeries["metric"], drift: Drift, growth = 0): MeasuredSeries => ({
      ...series(metric, "host", drift === "unavailable" ? null : 300 * MIB),
      growth_bytes: growth,
      class: drift,
    });
    const run = (session: string, growth: number, outside: Drift = "flat") => ({
      session,
      commit: null,
      series: [one("host", "flat", growth), one("jvm_heap", "unavailable"), one("outside_heap", outside)],
    });
    const growth = (live: Drift | null, outside: Drift = "flat") =>
      judge({
        candidate: { ...measured(), runs: [run("now", 90 * MIB, outside)] },
        baseline: { ...measured(), runs: Array.from({ length: 10 }, (_, at) => run(`night-${at}`, at)) },
        anchor: null,
        policy: DEFAULT_POLICY,
        baseRunsPossible: true,
        collected: live === null ? [] : [{ session: "now", commit: null, series: [one("jvm_heap", live)] }],
      }).checks.flatMap(({ kind, metric, verdict }) => (kind === "growth" && metric === "host" ? [verdict] : []));
    expect(growth(null)).toEqual(["unjudged"]);
    expect(growth("flat")).toEqual(["pass"]);
    expect(growth("leak")).toEqual(["fail"]);
    expect(growth("flat", "rising")).toEqual(["unjudged"]);
    expect(growth(null, "rising")).toEqual(["unjudged"]);
    expect(growth("insufficient")).toEqual(["unjudged"]);
    const live = (...drifts: Drift[]) => {
      const { verdict, checks } = judge({
        candidate: { ...measured(), runs: [run("now", 0)] },
        baseline: { ...measured(), runs: Array.from({ length: 10 }, (_, at) => run(`night-${at}`, at)) },
        anchor: null,
        policy: DEFAULT_POLICY,
        baseRunsPossible: true,
        collected: drifts.map((drift) => ({
          session: "now",
          commit: null,
          series: [one("jvm_heap", drift, drift === "leak" ? 90 * MIB : 0)],
        })),
      });
      return [verdict, ...checks.flatMap(({ metric, confirmed }) => (metric === "jvm_heap" ? [confirmed] : []))];
    };
    // A leak within the growth that the baseline has.
    expect(live("leak", "leak")).toEqual(["fail", true]);
    expect(live("flat")).toEqual(["pass"]);
  });

  it("growth of a Node program that never collects is judged by a run beside the judged ones that does", () => {
    type Drift = NonNullable<MeasuredSeries["class"]>;
    const one = (metric: MeasuredSeries["metric"], drift: Drift, growth = 0): MeasuredSeries => ({
      ...series(metric, "host", 300 * MIB),
      growth_bytes: growth,
      class: drift,
    });
    const run = (session: string, growth: number, outside: Drift = "flat") => ({
      session,
      commit: null,
      series: [one("host", "rising", growth), one("outside_heap", outside)],
    });
    const growth = (live: Drift | null, outside: Drift = "flat") =>
      judge({
        candidate: { ...measured(), runs: [run("now", 90 * MIB, outside)] },
        baseline: { ...measured(), runs: Array.from({ length: 10 }, (_, at) => run(`night-${at}`, at)) },
        anchor: null,
        policy: DEFAULT_POLICY,
        baseRunsPossible: true,
        collected: live === null ? [] : [{ session: "now", commit: null, series: [one("js_heap", live)] }],
      }).checks.find(({ kind, metric }) => kind === "growth" && metric === "host")?.verdict;
    expect(hidesGrowth(run("now", 0).series)).toBe(true);
    expect([growth(null), growth("flat"), growth("leak")]).toEqual(["unjudged", "pass", "fail"]);
    expect(growth("flat", "leak")).toBe("fail");
  });

  it("a collected heap that the baseline does not have leaves host growth judged", () => {
    const run = (session: string, growth: number, ...heaps: MeasuredSeries["metric"][]) => ({
      session,
      commit: null,
      series: [
        { ...series("host", "host", 300 * MIB), growth_bytes: growth, class: "flat" as const },
        ...heaps.map((metric) => ({ ...series(metric, "host", 30 * MIB), growth_bytes: 0, class: "flat" as const })),
      ],
    });
    const growths = (...before: MeasuredSeries["metric"][]) =>
      judge({
        candidate: { ...measured(), runs: [run("now", 90 * MIB, "jvm_heap", "outside_heap")] },
        baseline: { ...measured(), runs: Array.from({ length: 10 }, (_, at) => run(`night-${at}`, at, ...before)) },
        anchor: null,
        policy: DEFAULT_POLICY,
        baseRunsPossible: true,
      }).checks.flatMap(({ kind, metric, verdict }) => (kind === "growth" ? [`${metric} ${verdict}`] : []));
    expect(growths()).toEqual(["host fail"]);
    expect(growths("jvm_heap", "outside_heap")).toEqual(["jvm_heap pass", "outside_heap pass"]);
  });

  it("include host when the device's counter never gave a value", () => {
    expect([...gatingMetrics(DEFAULT_POLICY, measured(series("allocated", "cuda:0", null)))]).toContain("host");
  });

  it("the gating metrics are those that the policy names, where it names any", () => {
    const policy = { ...DEFAULT_POLICY, gatingMetrics: ["used" as const] };
    expect([...gatingMetrics(policy, measured(series("allocated", "cuda:0")))]).toEqual(["used"]);
  });
});

describe("phases of the program", () => {
  const inPhase = (growth: number): MeasuredSeries => ({
    ...series("allocated", "cuda:0", 100 * MIB),
    growth_bytes: growth,
    class: growth > 8 * MIB ? "leak" : "flat",
    phase: "validation",
  });
  const run = (at: number, session: string, growth: number): Measurements["runs"][number] => ({
    session,
    commit: null,
    series: [{ ...series("allocated", "cuda:0", 100 * MIB), growth_bytes: at, class: "flat" }, inPhase(growth)],
  });
  const judged = (gatingPhases: readonly string[]) =>
    judge({
      candidate: {
        scenario: "s",
        fingerprint: null,
        runs: Array.from({ length: 6 }, (_, at) => run(at, "now", 60 * MIB)),
      },
      baseline: {
        scenario: "s",
        fingerprint: null,
        runs: Array.from({ length: 12 }, (_, at) => run(at, at < 9 ? `night-${at}` : "now", at)),
      },
      anchor: null,
      policy: { ...DEFAULT_POLICY, gatingPhases },
      baseRunsPossible: true,
    });

  it("phases have no check by default, however much they grow", () => {
    const { verdict, checks } = judged([]);
    expect([verdict, checks.some(({ phase }) => phase !== undefined)]).toEqual(["pass", false]);
  });

  it("fail the gate where the policy names them, and are named", () => {
    const { verdict, reason, checks } = judged(["validation"]);
    expect(verdict).toBe("fail");
    expect(reason).toContain("in the phase validation");
    const failed = checks.filter((check) => check.verdict === "fail");
    expect(failed.map(({ phase, aspect }) => `${phase} ${aspect}`).sort()).toEqual([
      "validation class",
      "validation growth",
    ]);
  });

  it("a phase that the policy names and no run has is unjudged", () => {
    expect(judged(["evaluation"])).toMatchObject({
      verdict: "unjudged",
      checks: expect.arrayContaining([expect.objectContaining({ phase: "evaluation", verdict: "unjudged" })]),
    });
  });
});

describe("a live heap with too few collections for a curve", () => {
  const heap = (peak: number): MeasuredSeries => ({ ...series("js_heap", "host", peak), class: "insufficient" });
  const host: MeasuredSeries = { ...series("host", "host", 60 * MIB), growth_bytes: 40 * MIB, class: "leak" };
  const outside: MeasuredSeries = { ...series("outside_heap", "host", 40 * MIB), growth_bytes: 0, class: "flat" };
  const run = (session: string, ...all: MeasuredSeries[]) => ({ session, commit: null, series: all });
  const before = Array.from({ length: 5 }, () => run("night", host, outside, heap(9 * MIB)));
  const judged = (candidate: Measurements["runs"], baseline: Measurements["runs"] | null = before) =>
    judge({
      candidate: { ...measured(), runs: candidate },
      baseline: baseline === null ? null : { ...measured(), runs: baseline },
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: false,
      baselineWanted: baseline !== null,
    });
  const verdicts = (...args: Parameters<typeof judged>) =>
    judged(...args).checks.flatMap(({ metric, kind, verdict, gating }) =>
      gating ? [`${metric} ${kind} ${verdict}`] : [],
    );

  it("its peak fails where host memory leaks as in the baseline, and passes in place of host growth", () => {
    const leaky = Array.from({ length: 6 }, () => run("now", host, outside, heap(22 * MIB)));
    expect(judged(leaky).verdict).toBe("fail");
    expect(verdicts(leaky)).toContain("js_heap peak fail");
    const grown = { ...host, growth_bytes: 80 * MIB };
    expect(verdicts([run("now", grown, outside, heap(9 * MIB))])).toEqual([
      "host peak pass",
      "js_heap peak pass",
      "outside_heap growth pass",
      "outside_heap class pass",
    ]);
  });

  it("host growth is judged where fewer than five runs of the baseline have it", () => {
    const fewer = [...before.slice(1), run("night", host, outside)];
    expect(verdicts([run("now", host, outside, heap(9 * MIB))], fewer)).toContain("host growth pass");
  });

  it("a run without it is made once more, and host growth is judged after two", () => {
    const without = run("now", host, outside);
    expect(judged([without]).next).toMatchObject({ kind: "candidate-runs", runs: 1 });
    expect(judged([without, without]).verdict).toBe("pass");
    expect(verdicts([without, without])).toContain("host growth pass");
  });

  it("host growth is judged without a baseline", () => {
    expect(verdicts([run("now", host, outside, heap(22 * MIB))], null)).toContain("host class fail");
  });
});
