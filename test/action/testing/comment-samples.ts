import type { CommentOptions } from "../../../src/report/markdown/comment-markdown.ts";
import type { Verdict } from "../../../src/report/model/gate-report.ts";
import type { Section } from "../../../src/report/model/section.ts";
import {
  sampleCheck,
  sampleJudgement,
  sampleReport,
  sampleScenario,
} from "../../../src/report/testing/sample-report.ts";

/** Comments of every kind, for a person, a renderer and a browser. */

export function sampleSection(verdict: Verdict, overrides: Partial<Section> = {}): Section {
  return {
    gateId: "default",
    leg: null,
    headSha: "a".repeat(40),
    runAttempt: 1,
    bundleArtifact: 501,
    timelineArtifact: 502,
    report: sampleReport(verdict, verdict === "fail" ? { scenarios: [failed()] } : {}),
    ...overrides,
  };
}

const LINE = {
  classification: "leak_line",
  severity: "critical",
  confidence: 0.97,
  rank: 0,
  device: "cuda:0",
  metric: "allocated",
  evidence: {
    line: "src/train.py:48",
    function: "train_step",
    code: "losses.append(loss)",
    bytes_per_step: 231_424,
    share: 0.97,
  },
  description: "what losses.append(loss) holds grows by 226.00 KiB every step",
  remediation: ["Keep the number, not the graph: losses.append(loss.item())"],
} as const;

function failed() {
  const scenario = sampleScenario("fail", { difference: "3f9a2c1d-183" });
  return { ...scenario, findings: [LINE, ...scenario.findings] };
}

function accepted() {
  return sampleScenario("warn", {
    judgement: sampleJudgement("fail"),
    difference: "3f9a2c1d-183",
    accepted: {
      difference: "3f9a2c1d-183",
      by: "octocat",
      reason: "the larger batch is wanted; see the design note",
      via: "comment",
      at_iso: "2026-11-20T10:02:00Z",
      head_sha: "9c1f0e7d52a84b3d9e6f7a1b2c3d4e5f60718293",
      url: "https://github.com/octo/model/pull/12#issuecomment-4711",
    },
  });
}

function foreign() {
  return sampleScenario("unjudged", {
    judgement: sampleJudgement("unjudged", {
      reason: "the baseline was measured on another GPU",
      checks: [
        sampleCheck({ verdict: "unjudged", baseline_bytes: null, threshold_bytes: null, reason: "no baseline here" }),
      ],
      fingerprint: [
        {
          field: "device_model",
          kind: "identity",
          baseline: "NVIDIA A100-SXM4-80GB",
          candidate: "NVIDIA H100 80GB HBM3",
        },
      ],
    }),
  });
}

const CHANGES = [
  { path: "scenarios.train-mlp.budget.allocated", base: "2GiB", head: "4GiB" },
  { path: "policy.unjudged", base: null, head: "pass" },
];

const MATRIX: readonly Verdict[] = ["pass", "fail", "pass", "pass", "fail", "pass"];

const legs = (verdicts: readonly Verdict[]): readonly Section[] =>
  verdicts.map((verdict, n) =>
    sampleSection(verdict, {
      leg: `linux-2.${n}-cu12${n % 3}`,
      bundleArtifact: 501 + 2 * n,
      timelineArtifact: 502 + 2 * n,
    }),
  );

export const SAMPLE_COMMENTS: Readonly<Record<string, readonly Section[]>> = {
  fail: [sampleSection("fail")],
  pass: [sampleSection("pass")],
  unjudged: [sampleSection("unjudged", { report: sampleReport("unjudged", { scenarios: [foreign()] }) })],
  error: [sampleSection("error")],
  accepted: [sampleSection("warn", { report: sampleReport("warn", { scenarios: [accepted()] }) })],
  policy: [sampleSection("fail", { report: sampleReport("fail", { scenarios: [failed()], policy_changes: CHANGES }) })],
  scenarios: [
    sampleSection("fail", {
      report: sampleReport("fail", {
        scenarios: [
          failed(),
          sampleScenario("pass", { scenario: "serve" }),
          sampleScenario("error", { scenario: "export" }),
        ],
        warnings: ["The native sampler could not be loaded; the plain one was used."],
      }),
    }),
  ],
  "matrix of six": legs(MATRIX),
  "matrix that passed": legs(["pass", "pass", "pass", "pass"]),
};

export function commentOptions(overrides: Partial<CommentOptions> = {}): CommentOptions {
  return {
    gateId: "default",
    repositoryUrl: "https://github.com/octo/model",
    runId: 77,
    images: new Map(),
    expected: null,
    notes: [],
    maxChars: 60_000,
    ...overrides,
  };
}
