import { describe, expect, it } from "vitest";
import { analyze } from "../../analysis/analyze.ts";
import { measuredRun } from "../../analysis/measured-run.ts";
import type { Measurements } from "../../analysis/measurements.ts";
import type { Recording, SampleTable } from "../../telemetry/recording/model.ts";
import { judge } from "../../verdict/judge.ts";
import { DEFAULT_POLICY } from "../../verdict/model/defaults.ts";
import { buildTimeline } from "./timeline.ts";

const MIB = 1024 ** 2;
const SAMPLES = 400;

/** Host memory at 100 Hz: a quick start to 100 MiB, then `perSecond` bytes more every second. */
function recording(perSecond: number): Recording {
  const timeNs = Float64Array.from({ length: SAMPLES }, (_, i) => i * 1e7);
  const host = Float64Array.from({ length: SAMPLES }, (_, i) => Math.round(100 * MIB + (i / 100) * perSecond));
  const table: SampleTable = {
    rank: 0,
    device: "host",
    timeNs,
    steps: null,
    columns: { host, rss: host },
    highwater: new Set(),
  };
  return { epochNs: 0n, tables: [table], peaks: [], marks: [], events: null, worldSize: 1, missing: {}, info: null };
}

const measurements = (rates: readonly number[], session: string): Measurements => ({
  scenario: "s",
  fingerprint: null,
  runs: rates.map((rate) => measuredRun(analyze(recording(rate)), { session, commit: null })),
});

function judged(rate: number, budget: number | null) {
  const policy = { ...DEFAULT_POLICY, budgets: budget === null ? [] : [{ metric: "host" as const, bytes: budget }] };
  const candidate = measurements([rate, rate, rate, rate, rate, rate], "here");
  const baseline = measurements([0, 0, 0, 0, 0], "here");
  return { policy, judgement: judge({ candidate, baseline, anchor: null, policy, baseRunsPossible: false }) };
}

describe("the timeline of a run", () => {
  it("draws the judged series first, with its threshold and budget", () => {
    const { judgement, policy } = judged(20 * MIB, 150 * MIB);
    const timeline = buildTimeline({
      scenario: "s",
      verdict: "fail",
      subtitle: "",
      recording: recording(20 * MIB),
      judgement,
      policy,
      envelopes: [],
    });
    expect(timeline.series[0]).toMatchObject({ metric: "host", gating: true });
    expect(timeline.series[0]?.bytes).toHaveLength(SAMPLES);
    expect(timeline.budget_bytes).toBe(150 * MIB);
    expect(timeline.threshold_bytes).toBeGreaterThan(100 * MIB);
    expect(timeline.threshold_bytes).toBeLessThan(120 * MIB);
  });

  it("the timeline has a panel for each series, with its limits, band and rate, and marks the deciding one", () => {
    const { judgement, policy } = judged(20 * MIB, 150 * MIB);
    const band = { rank: 0, device: "host", time_s: [1], low_bytes: [1], mid_bytes: [2], high_bytes: [3] };
    const leaking = recording(20 * MIB);
    const [table] = leaking.tables;
    const timeline = buildTimeline({
      scenario: "s",
      verdict: "fail",
      subtitle: "",
      recording: {
        ...leaking,
        tables: [{ ...table!, columns: { ...table!.columns, reserved: table!.columns.host! } }],
      },
      analysis: analyze(recording(20 * MIB)),
      judgement,
      policy,
      envelopes: [
        { ...band, metric: "host" },
        { ...band, metric: "reserved" },
      ],
    });
    const [host, reserved] = timeline.panels!;
    expect(host).toMatchObject({ metric: "host", decides: true, budget_bytes: 150 * MIB, growth: { per: "second" } });
    expect(host!.growth!.bytes / MIB).toBeCloseTo(20, 0);
    expect(host!.threshold_bytes).toBe(timeline.threshold_bytes);
    expect(reserved).toMatchObject({
      metric: "reserved",
      decides: false,
      budget_bytes: null,
      envelope: { metric: "reserved" },
    });
    expect(timeline.series.every(({ steps }) => steps === undefined)).toBe(true);
  });

  it("the picture of a family without checks is about its host memory, as the sentence is, and not about one heap", () => {
    const measured = recording(0);
    const [table] = measured.tables;
    const columns = { ...table!.columns, allocated: table!.columns.host! };
    const recorded: Recording = { ...measured, tables: [{ ...table!, columns }] };
    const analysis = analyze(recorded);
    const role = { program: "", rank: 0, pids: 1, window_s: 9, growth_bytes: 0, share: 0.5, peak_bytes: 50 * MIB };
    const family = { ...analysis, processes: ["one", "two"].map((name) => ({ ...role, role: name })) };
    const first = (of: typeof analysis) =>
      buildTimeline({
        ...{ scenario: "s", verdict: "unjudged", subtitle: "", recording: recorded, analysis: of },
        ...{ judgement: null, policy: DEFAULT_POLICY, envelopes: [] },
      }).series[0]?.metric;
    expect(first(family)).toBe("host");
    expect(first(analysis)).toBe("allocated");
  });

  it("names the line of a leak, and no line of another finding", () => {
    const { judgement, policy } = judged(20 * MIB, null);
    const evidence = { line: "train.py:6", code: "  history.append(x)", share: 0.98 };
    const finding = { severity: "critical", confidence: 1, rank: 0, device: null, metric: null } as const;
    const cause = (classification: string) =>
      buildTimeline({
        scenario: "s",
        verdict: "fail",
        subtitle: "",
        recording: recording(20 * MIB),
        judgement,
        policy,
        envelopes: [],
        findings: [{ ...finding, classification, evidence, description: "", remediation: [] }],
      }).cause;
    expect(cause("leak_line")).toEqual({ location: "train.py:6", code: "history.append(x)", share: 0.98 });
    expect(cause("contributing_line")).toBeUndefined();
  });

  /** The timeline of a run with an account of host memory, sizes in MiB. */
  function accounted(parts: Readonly<Record<string, readonly number[]>>, steps: readonly number[] | null = null) {
    const sizes = Object.entries(parts).map(
      ([name, mib]) => [name, Float64Array.from(mib, (one) => one * MIB)] as const,
    );
    const table: SampleTable = {
      rank: 0,
      device: "host",
      timeNs: Float64Array.of(0, 1e9, 2e9),
      steps: steps && Float64Array.from(steps),
      columns: Object.fromEntries(sizes),
      highwater: new Set(),
    };
    const whole = recording(0);
    return buildTimeline({
      scenario: "s",
      verdict: "pass",
      subtitle: "",
      recording: { ...whole, tables: [...whole.tables, table] },
      judgement: null,
      policy: DEFAULT_POLICY,
      envelopes: [],
    }).account;
  }

  it("the account of host memory has its parts, and leaves a part unknown where it was not read", () => {
    const parts = { heap_used: [Number.NaN, 20, 30], shared: [0, 50, 50], unaccounted: [100, 30, 20] };
    const account = accounted(parts);
    expect(Object.keys(account!).sort()).toEqual(["in_use", "rank", "rest", "shared", "time_s"]);
    expect(account).toMatchObject({ rank: 0, time_s: [0, 1, 2], in_use: [Number.NaN, 20 * MIB, 30 * MIB] });
    expect(account?.rest).toEqual([100 * MIB, 30 * MIB, 20 * MIB]);
    expect(accounted(parts, [1, 2, 3])?.steps).toEqual([1, 2, 3]);
    expect(accounted({})).toBeUndefined();
  });
});
