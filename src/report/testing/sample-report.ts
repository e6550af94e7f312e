import type { AnalysisDocument, Finding, SeriesAnalysis } from "../../analysis/series/document.ts";
import { GIB, KIB, MIB } from "../../core/units.ts";
import { prng } from "../../stats/testing/prng.ts";
import type { RecordingInfo } from "../../telemetry/recording/model.ts";
import {
  type Check,
  type CheckDocument,
  type CheckVerdict,
  DONE,
  type Judgement,
} from "../../verdict/model/judgement.ts";
import { readCheck } from "../../verdict/model/judgement-document.ts";
import {
  type GateReport,
  type ScenarioReport,
  scenarioReport,
  type Timeline,
  type TimelineSeries,
  type Verdict,
} from "../model/gate-report.ts";

/** Reports for tests of the renderers: a training script that keeps memory per step. Same seed, same bytes. */

interface CurveOptions {
  readonly seed?: number;
  readonly seconds?: number;
  readonly hz?: number;
  /** Level after loading, bytes. */
  readonly level?: number;
  /** Amplitude of the saw-tooth of forward and backward, bytes. */
  readonly swing?: number;
  /** Growth after loading, bytes per second. */
  readonly growth?: number;
}

/** Memory of a training loop: start-up, loading, then a saw-tooth of steps over a level that may grow. */
function trainingCurve(options: CurveOptions = {}): { time_s: Float64Array; bytes: Float64Array } {
  const { seed = 1, seconds = 42, hz = 50, level = 1.24 * GIB, swing = 190 * MIB, growth = 0 } = options;
  const random = prng(seed).uniform;
  const count = Math.max(1, Math.round(seconds * hz));
  const time_s = new Float64Array(count);
  const bytes = new Float64Array(count);
  const load = seconds * 0.09;
  for (let i = 0; i < count; i++) {
    const t = i / hz;
    const phase = (t * 1.7) % 1;
    const saw = phase < 0.65 ? phase / 0.65 : (1 - phase) / 0.35;
    const ramp = Math.min(1, t / load);
    const base = level * ramp ** 1.5 + (ramp === 1 ? saw * swing + growth * (t - load) : 0);
    time_s[i] = t;
    bytes[i] = Math.max(0, Math.round((base + (random() - 0.5) * 6 * MIB * ramp) / 512) * 512);
  }
  return { time_s, bytes };
}

export function sampleSeries(options: CurveOptions & Partial<TimelineSeries> = {}): TimelineSeries {
  const { rank = 0, device = "cuda:0", metric = "allocated", gating = true, ...curve } = options;
  return { rank, device, metric, gating, ...trainingCurve(curve) };
}

export function sampleTimeline(overrides: Partial<Timeline> = {}, growth = 11.8 * MIB): Timeline {
  const base = trainingCurve({ hz: 4.5 });
  return {
    scenario: "train-mlp",
    verdict: "fail",
    subtitle:
      "allocated on cuda:0 grows 11.80 MiB/s and is a leak; peak +441.00 MiB over the baseline, confirmed by 3 of 3 runs",
    series: [
      sampleSeries({ growth }),
      sampleSeries({ metric: "reserved", gating: false, level: 1.62 * GIB, swing: 0, growth: growth * 0.9, seed: 3 }),
    ],
    envelope: {
      rank: 0,
      device: "cuda:0",
      metric: "allocated",
      time_s: [...base.time_s],
      low_bytes: [...base.bytes].map((value) => value * 0.985),
      mid_bytes: [...base.bytes],
      high_bytes: [...base.bytes].map((value) => value * 1.012),
    },
    budget_bytes: 2 * GIB,
    threshold_bytes: 1.45 * GIB,
    marks: [{ time_s: 3.8, text: "first step" }],
    ...overrides,
  };
}

export function sampleCheck(overrides: Partial<CheckDocument> = {}): Check {
  return readCheck({
    rank: 0,
    device: "cuda:0",
    metric: "allocated",
    aspect: "peak",
    limit: "baseline",
    gating: true,
    verdict: "pass",
    candidate_bytes: 1.431 * GIB,
    baseline_bytes: 1.428 * GIB,
    threshold_bytes: 1.45 * GIB,
    mde_bytes: 11 * MIB,
    candidate_class: null,
    baseline_class: null,
    needs_more_runs: 0,
    needs_base_runs: 0,
    improved: false,
    confirmed: false,
    reason: "1.43 GiB is within 1.45 GiB, the baseline's middle plus its spread",
    ...overrides,
  });
}

const FAILED_CHECKS: readonly Check[] = [
  sampleCheck({
    verdict: "fail",
    confirmed: true,
    candidate_bytes: 1.88 * GIB,
    reason: "peak is 462.00 MiB over the baseline, above the limit of 1.45 GiB in 3 of 3 runs",
  }),
  sampleCheck({
    aspect: "growth",
    verdict: "fail",
    confirmed: true,
    candidate_bytes: 451 * MIB,
    baseline_bytes: 96 * KIB,
    threshold_bytes: 12 * MIB,
    mde_bytes: 9.5 * MIB,
    reason: "grows 11.80 MiB/s where the baseline is flat",
  }),
  sampleCheck({
    aspect: "class",
    verdict: "fail",
    confirmed: true,
    candidate_bytes: null,
    baseline_bytes: null,
    threshold_bytes: null,
    mde_bytes: null,
    candidate_class: "leak",
    baseline_class: "plateau",
    reason: "the class changed from plateau to leak",
  }),
  sampleCheck({
    limit: "budget",
    candidate_bytes: 1.88 * GIB,
    baseline_bytes: null,
    threshold_bytes: 2 * GIB,
    mde_bytes: null,
    reason: "within the budget of 2.00 GiB",
  }),
  sampleCheck({
    metric: "reserved",
    gating: false,
    verdict: "warn",
    candidate_bytes: 2.05 * GIB,
    baseline_bytes: 1.63 * GIB,
    threshold_bytes: 1.7 * GIB,
    mde_bytes: 32 * MIB,
    reason: "reserved memory follows the leak",
  }),
];

export function sampleJudgement(verdict: CheckVerdict = "fail", overrides: Partial<Judgement> = {}): Judgement {
  const checks: readonly Check[] =
    verdict === "fail"
      ? FAILED_CHECKS
      : verdict === "unjudged"
        ? [
            sampleCheck({
              verdict: "unjudged",
              baseline_bytes: null,
              threshold_bytes: null,
              reason: "the baseline has 2 runs; a relative check needs 5",
            }),
          ]
        : [
            sampleCheck(verdict === "warn" ? { verdict: "warn", gating: false, metric: "reserved" } : {}),
            sampleCheck({
              aspect: "growth",
              candidate_bytes: 0,
              baseline_bytes: 0,
              threshold_bytes: 12 * MIB,
              reason: "no growth; the baseline has none either",
            }),
          ];
  return {
    verdict,
    next: DONE,
    confirmed: verdict === "fail",
    checks,
    fingerprint: [{ field: "driver", kind: "context", baseline: "570.86.15", candidate: "575.51.03" }],
    reason: {
      fail: "allocated on cuda:0 grows 11.80 MiB/s and is a leak; the peak is 462.00 MiB over the baseline",
      warn: "reserved memory rose, allocated did not",
      unjudged: "the baseline has 2 runs of this environment; a relative check needs 5",
      pass: "every check is within its limit",
    }[verdict],
    ...overrides,
  };
}

export const SAMPLE_FINDING: Finding = {
  classification: "leak",
  severity: "critical",
  confidence: 0.98,
  rank: 0,
  device: "cuda:0",
  metric: "allocated",
  evidence: { slope_bytes_per_s: 12373196, growth_bytes: 472907776, line: "train.py:48" },
  description: "allocated memory grows by 226.00 KiB every step and none of it comes back",
  remediation: ["Detach the loss before keeping it: losses.append(loss.item()) in train.py:48"],
};

export function sampleSeriesAnalysis(overrides: Partial<SeriesAnalysis> = {}): SeriesAnalysis {
  return {
    rank: 0,
    device: "cuda:0",
    metric: "allocated",
    highwater: false,
    samples: 2100,
    duration_s: 42,
    steps: 2000,
    peak_bytes: 2018508800,
    peak_kind: "exact",
    slope_bytes_per_s: 12373196,
    slope_bytes_per_step: 231424,
    slope_interval: [229376, 233472],
    growth_bytes: 472907776,
    class: "leak",
    mde_bytes: 9961472,
    steps_to_oom: 310000,
    seconds_to_oom: 6510,
    ...overrides,
  };
}

export function sampleAnalysis(overrides: Partial<AnalysisDocument> = {}): AnalysisDocument {
  return {
    schema: "stormlog.analysis/1",
    series: [
      sampleSeriesAnalysis(),
      sampleSeriesAnalysis({
        metric: "host",
        device: "host",
        class: "plateau",
        slope_bytes_per_s: 0,
        slope_bytes_per_step: 0,
        growth_bytes: 0,
        peak_bytes: 0.9 * GIB,
      }),
    ],
    findings: [SAMPLE_FINDING],
    diagnosis: [{ kind: "CREEP_CONFIRMED", status: "MEMORY CREEP", severity: "crit", worst_rank: 0 }],
    ranks: {
      job_id: null,
      world_size: 1,
      participating_ranks: [0],
      missing_ranks: [],
      rank_sample_counts: { "0": 2100 },
      alignment_offsets_ns: { "0": "0" },
      cluster_onset_timestamp_ns: null,
      first_cause_suspects: [],
      notes: [],
    },
    missing: {},
    ...overrides,
  };
}

export function sampleRecordingInfo(overrides: Partial<RecordingInfo> = {}): RecordingInfo {
  return {
    schema: "stormlog.recording/1",
    complete: true,
    scenario: "train-mlp",
    run: 1,
    session: "s-4f1c",
    commit: "9c1f0e7d52a84b3d9e6f7a1b2c3d4e5f60718293",
    command: { argv: ["python", "train.py", "--steps", "2000"], shell: false, cwd: "/home/user/project" },
    exit: { kind: "exited", code: 0 },
    clock: { monotonic_start_ns: "81234567890123", epoch_ns: "1795246780123456789", duration_s: 42.13 },
    identity: { rank: 0, local_rank: 0, world_size: 1, job_id: null, host: "runner-7", pid: 4711 },
    fingerprint: SAMPLE_FINGERPRINT,
    sampler: {
      kind: "native",
      reason: null,
      host_period_ns: 5_000_000,
      device_period_ns: 20_000_000,
      host_rate_hz: 199.8,
      device_rate_hz: 49.9,
      ticks: 8418,
      missed_ticks: 2,
      cpu_s: 0.11,
      cpu_budget_percent: 1,
    },
    sources: [],
    peaks: [],
    output: { bytes: 18231, kept_bytes: 18231 },
    lost: [],
    ...overrides,
  };
}

const SAMPLE_FINGERPRINT = {
  backend: "cuda",
  device_model: "NVIDIA H100 80GB HBM3",
  device_memory: 85520809984,
  world_size: 1,
  framework: "torch 2.9",
  driver: "575.51.03",
} as const;

export function sampleScenario(verdict: Verdict = "fail", overrides: Partial<ScenarioReport> = {}): ScenarioReport {
  const failed = verdict === "error";
  return scenarioReport({
    scenario: "train-mlp",
    verdict,
    judgement: verdict === "error" ? null : sampleJudgement(verdict),
    error: failed
      ? {
          code: "COMMAND_FAILED",
          message: "the measured command exited with status 7",
          hint: "Run the command by itself and repair it; a failed run is not judged.",
          output_tail:
            'Traceback (most recent call last):\n  File "train.py", line 12, in <module>\nValueError: bad shape\n',
        }
      : null,
    runs: [
      {
        role: "candidate",
        directory: "runs/train-mlp/1",
        info: sampleRecordingInfo(failed ? { exit: { kind: "exited", code: 7 } } : {}),
        analysis: failed ? null : sampleAnalysis(verdict === "fail" ? {} : { findings: [], diagnosis: [] }),
      },
    ],
    baseline: {
      source: "file:baselines",
      runs: verdict === "unjudged" ? 2 : 12,
      sessions: verdict === "unjudged" ? 1 : 4,
      newest_iso: "2026-11-18T02:14:07Z",
      commit: "5d2a7c18f4e0b6a9d3c2f1e0a9b8c7d6e5f40312",
    },
    fingerprint: SAMPLE_FINGERPRINT,
    findings: verdict === "fail" ? [SAMPLE_FINDING] : [],
    timeline:
      verdict === "fail"
        ? sampleTimeline()
        : sampleTimeline(
            {
              verdict,
              subtitle: SUBTITLES[verdict],
              ...(verdict === "unjudged" ? { envelope: null, threshold_bytes: null } : {}),
            },
            0,
          ),
    ...overrides,
  });
}

const SUBTITLES: Readonly<Record<Verdict, string>> = {
  fail: "",
  pass: "peak 1.43 GiB, within the baseline; no growth above 9.50 MiB could have hidden",
  warn: "reserved memory rose by 70.00 MiB; allocated did not",
  unjudged: "nothing comparable yet: the baseline has 2 runs of this environment, 5 are needed",
  error: "the measured command exited with status 7; a failed run is not judged",
};

export function sampleReport(verdict: Verdict = "fail", overrides: Partial<GateReport> = {}): GateReport {
  return {
    tool: {
      name: "stormlog-gate",
      version: "0.1.0",
      argv: ["stormlog-gate", "run", "--scenario", "train-mlp", "--", "python", "train.py"],
    },
    generated_at_utc: "2026-11-20T09:41:12.000Z",
    verdict,
    exit_code: { pass: 0, warn: 0, fail: 4, unjudged: 6, error: 1 }[verdict],
    confirmed: verdict === "fail",
    session: "s-4f1c",
    commit: "9c1f0e7d52a84b3d9e6f7a1b2c3d4e5f60718293",
    scenarios: [sampleScenario(verdict)],
    cost: { runs: verdict === "fail" ? 4 : 1, minutes: verdict === "fail" ? 3.1 : 0.8 },
    warnings: [],
    ...overrides,
  };
}
