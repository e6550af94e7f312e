import { describe, expect, it } from "vitest";
import { MIB } from "../../core/units.ts";
import { analyze } from "../analyze.ts";
import type { Finding } from "../series/document.ts";
import { eventOf, REPLAY_START_NS, recordingOf } from "../testing/recordings.ts";
import { gapFindings, roundTo } from "./gap.ts";

interface Row {
  readonly allocated: number;
  readonly reserved: number;
  readonly used: number;
}

function findingsOf(n: number, total: number, row: (i: number) => Row): Finding[] {
  const rows = Array.from({ length: n }, (_, i) => row(i));
  return gapFindings({
    rank: 0,
    device: "cuda:0",
    timeNs: rows.map((_, i) => i * 1e8),
    allocated: rows.map((r) => r.allocated),
    reserved: rows.map((r) => r.reserved),
    used: rows.map((r) => r.used),
    total: rows.map(() => total),
  });
}

const GIB16 = 17179869184;

const walkthrough = (i: number): Row => {
  const reserved = (850 + 10 * i) * MIB;
  const gap = (320 + 10 * i) * MIB + ([18, 37, 55].includes(i) ? 384 * MIB : 0);
  return { allocated: reserved - 64 * MIB, reserved, used: reserved + gap };
};

it("rounds as Python does: ties to even, all else by the exact binary value", () => {
  // round(419338414.05, 1), round(0.25, 1), round(0.0625, 3), round(2.5), round(1.005, 2)
  expect([roundTo(419338414.05, 1), roundTo(0.25, 1), roundTo(0.0625, 3), roundTo(2.5, 0), roundTo(1.005, 2)]).toEqual([
    419338414.1, 0.2, 0.062, 2, 1,
  ]);
});

describe("the walkthrough's replay", () => {
  it("reports a critical drift of 100.43 MB/s and one spike of z 2.5, in this order", () => {
    const [drift, spike, ...rest] = findingsOf(72, GIB16, walkthrough);
    expect(rest).toEqual([]);
    expect(drift).toMatchObject({
      classification: "persistent_drift",
      severity: "critical",
      confidence: 0.881,
      description: expect.stringContaining("100.43 MB/s (R²=0.88)"),
    });
    expect(drift?.evidence).toEqual({
      slope_bytes_per_sec: 105310775.8,
      r_squared: 0.881,
      p_value: 0,
      gap_start_bytes: 335544320,
      gap_end_bytes: 1080033280,
    });
    expect(spike).toMatchObject({ classification: "transient_spike", severity: "warning", confidence: 0.419 });
    expect(spike?.evidence).toEqual({
      spike_count: 1,
      max_gap_bytes: 1314914304,
      max_zscore: 2.514,
      mean_gap_bytes: 724566016,
      std_gap_bytes: 234819040.1,
    });
    expect(spike?.description).toContain("1 transient spike(s)");
    expect(spike?.description).toContain("2.5");
    expect(drift?.remediation).toHaveLength(3);
  });

  it.each([
    [71, "100.64 MB/s"],
    [73, "100.24 MB/s"],
  ])("fits %d samples with %s", (n, text) => {
    expect(findingsOf(n, GIB16, walkthrough)[0]?.description).toContain(text);
  });

  it("gives the same findings through a whole recording of events, where only samples count", () => {
    const events = Array.from({ length: 72 }, (_, i) => {
      const row = walkthrough(i);
      return eventOf({
        timestampNs: REPLAY_START_NS + BigInt(i) * 100_000_000n,
        allocatorAllocated: row.allocated,
        allocatorReserved: row.reserved,
        deviceUsed: row.used,
        deviceTotal: GIB16,
      });
    });
    const peak = eventOf({ timestampNs: REPLAY_START_NS, eventType: "peak", deviceUsed: GIB16, deviceTotal: GIB16 });
    const findings = analyze(recordingOf([], { events: [peak, ...events] })).findings;
    expect(findings).toEqual(findingsOf(72, GIB16, walkthrough));
  });
});

describe("upstream's own cases", () => {
  const flat = { allocated: 2e9, reserved: 2.5e9 };
  it("reports nothing while the gap is small (g02) or for two samples (g06)", () => {
    expect(
      findingsOf(20, GIB16, (i) => ({ allocated: 1e9 + 5e7 * i, reserved: 1.01e9 + 5e7 * i, used: 1.015e9 + 5e7 * i })),
    ).toEqual([]);
    expect(findingsOf(2, GIB16, () => ({ allocated: 1000, reserved: 2000, used: 3000 }))).toEqual([]);
  });

  it("reports a perfect drift (g03)", () => {
    const findings = findingsOf(30, GIB16, (i) => ({ ...flat, used: 3e9 + 1e8 * i }));
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({
      classification: "persistent_drift",
      severity: "critical",
      confidence: 1,
      evidence: { slope_bytes_per_sec: 1e9, r_squared: 1, p_value: 0, gap_start_bytes: 5e8, gap_end_bytes: 3.4e9 },
      description: expect.stringContaining("953.67 MB/s (R²=1.00)"),
    });
  });

  it("reports two spikes as one warning (g04)", () => {
    const findings = findingsOf(30, GIB16, (i) => ({ ...flat, used: i === 10 || i === 20 ? 6.5e9 : 2.6e9 }));
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({
      classification: "transient_spike",
      severity: "warning",
      confidence: 0.613,
      evidence: {
        spike_count: 2,
        max_gap_bytes: 4e9,
        max_zscore: 3.679,
        mean_gap_bytes: 3.6e8,
        std_gap_bytes: 989461713.6,
      },
      description: expect.stringContaining("(max z-score 3.7)"),
    });
  });

  it("reports fragmentation (g05)", () => {
    const findings = findingsOf(20, GIB16, (i) => ({ allocated: 1e9, reserved: 3e9 + 5e7 * i, used: 4.5e9 + 5e7 * i }));
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({
      classification: "fragmentation_like",
      severity: "critical",
      confidence: 1,
      evidence: {
        avg_fragmentation_ratio: 0.7102,
        max_fragmentation_ratio: 0.7468,
        avg_gap_bytes: 1.5e9,
        sample_count: 20,
      },
      description: expect.stringContaining("71%"),
    });
  });
});

describe("telemetry of version 4", () => {
  const events = (rank: number, isV4: boolean, inactive: (i: number) => number | null) =>
    Array.from({ length: 12 }, (_, i) =>
      eventOf({
        rank,
        worldSize: 2,
        timestampNs: REPLAY_START_NS + BigInt(i) * 100_000_000n,
        allocatorAllocated: 1e9,
        allocatorReserved: 2e9,
        allocatorInactive: inactive(i),
        deviceUsed: 4e9,
        deviceTotal: 2e10,
        ...(isV4 ? { isV4 } : {}),
      }),
    );
  const fragmented = (all: ReturnType<typeof events>) => {
    const { findings, rules } = analyze(recordingOf([], { events: all }));
    return { rules, found: findings.filter(({ classification }) => classification === "fragmentation_like") };
  };

  it("fragmentation in telemetry of version 4 is measured by inactive split blocks where a sample has the counter", () => {
    const { found, rules } = fragmented(events(0, true, (i) => (i % 2 === 0 ? 1.2e9 : null)));
    expect(rules).toEqual({ fragmentation_like: ["0.4.3"] });
    expect(found.map(({ severity, evidence }) => [severity, evidence])).toEqual([
      ["critical", { avg_fragmentation_ratio: 0.6, max_fragmentation_ratio: 0.6, avg_gap_bytes: 2e9, sample_count: 6 }],
    ]);
    expect(fragmented(events(0, true, () => null)).found).toEqual([]);
  });

  it("follows its own rule beside a rank of an earlier version, and the document names both", () => {
    const { found, rules } = fragmented([...events(0, false, () => 0), ...events(1, true, () => 0)]);
    expect(rules).toEqual({ fragmentation_like: ["0.3.10", "0.4.3"] });
    expect(found.map(({ rank }) => rank)).toEqual([0]);
  });
});

describe("boundaries", () => {
  const at = (n: number, used: (i: number) => number) =>
    findingsOf(n, 2e10, (i) => ({ allocated: 1.9e9, reserved: 2e9, used: used(i) }));

  it("counts a gap of exactly 5 % (g07), and no byte less (g08)", () => {
    expect(at(5, (i) => 2.2e9 + 2e8 * i)[0]).toMatchObject({
      classification: "persistent_drift",
      severity: "critical",
      confidence: 1,
      evidence: { slope_bytes_per_sec: 2e9, gap_start_bytes: 2e8, gap_end_bytes: 1e9 },
      description: expect.stringContaining("1.86 GB/s (R²=1.00)"),
    });
    expect(at(5, (i) => 2199999999 + 199999999 * i)).toEqual([]);
  });

  it("needs five samples for a drift (g09, g10)", () => {
    expect(at(4, (i) => 3e9 + 2e8 * i)).toEqual([]);
    expect(at(5, (i) => 3e9 + 2e8 * i)[0]?.evidence).toMatchObject({
      slope_bytes_per_sec: 2e9,
      gap_start_bytes: 1e9,
      gap_end_bytes: 1.8e9,
    });
  });

  it("the gap rule cannot detect one spike among five samples (g11)", () => {
    expect(at(5, (i) => (i === 2 ? 6e9 : 3.1e9))).toEqual([]);
  });

  it.each([
    [6, 3, "warning", 0.34, 2.041, 1583333333.3, 1183920042.3],
    [18, 9, "critical", 0.668, 4.007, 1261111111.1, 683536555.1],
    [30, 15, "critical", 0.882, 5.295, 1196666666.7, 529465138.9],
  ] as const)("reports one spike among %d samples (g11)", (n, where, severity, confidence, z, mean, std) => {
    const findings = at(n, (i) => (i === where ? 6e9 : 3.1e9));
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ severity, confidence });
    expect(findings[0]?.evidence).toEqual({
      spike_count: 1,
      max_gap_bytes: 4e9,
      max_zscore: z,
      mean_gap_bytes: mean,
      std_gap_bytes: std,
    });
  });

  it("reports nothing for a constant gap (g12) or a shrinking one (g13)", () => {
    expect(at(12, () => 4e9)).toEqual([]);
    expect(at(20, (i) => 6e9 - 1e8 * i)).toEqual([]);
  });

  it("reports no drift for equal timestamps and missing values", () => {
    const used = Array.from({ length: 10 }, (_, i) => (i === 4 ? Number.NaN : 3e9 + 2e8 * i));
    const constant = (value: number) => used.map(() => value);
    const findings = gapFindings({
      rank: 1,
      device: "cuda:0",
      timeNs: constant(5),
      allocated: constant(1.9e9),
      reserved: constant(2e9),
      used,
      total: constant(2e10),
    });
    expect(findings).toEqual([]);
  });

  it("analyses every rank separately, so that one rank's drift is not lost among the others", () => {
    const events = Array.from({ length: 30 }, (_, i) => i).flatMap((i) =>
      [0, 1, 2].map((rank) =>
        eventOf({
          rank,
          worldSize: 3,
          timestampNs: REPLAY_START_NS + BigInt(i) * 100_000_000n,
          allocatorAllocated: 1.9e9,
          allocatorReserved: 2e9,
          deviceUsed: rank === 1 ? 3e9 + 2e7 * i : 4e9,
          deviceTotal: 2e10,
        }),
      ),
    );
    const drifts = analyze(recordingOf([], { events })).findings.filter((f) => f.classification === "persistent_drift");
    expect(drifts.map((finding) => finding.rank)).toEqual([1]);
  });
});
