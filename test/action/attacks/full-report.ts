import type { Finding } from "../../../src/analysis/series/document.ts";
import type { GateReport, ScenarioReport } from "../../../src/report/model/gate-report.ts";
import { parseSection, type Section, sectionText } from "../../../src/report/model/section.ts";
import {
  SAMPLE_FINDING,
  sampleCheck,
  sampleJudgement,
  sampleRecordingInfo,
  sampleReport,
  sampleScenario,
  sampleTimeline,
} from "../../../src/report/testing/sample-report.ts";
import type { RecordingInfo } from "../../../src/telemetry/recording/model.ts";
import { sampleSection } from "../testing/sample-section.ts";

/** A report with every optional part, so that all untrusted text is printed. */
const leakLine: Finding = {
  ...SAMPLE_FINDING,
  classification: "leak_line",
  evidence: {
    line: "src/train.py:48",
    function: "step",
    code: "losses.append(loss)",
    bytes_per_step: 2048,
    share: 0.97,
  },
  package: {
    ecosystem: "node",
    name: "left-pad",
    version: "1.0.0",
    deprecated: "use padStart",
    relation: "called",
  },
};

const checks = [
  sampleCheck({ verdict: "fail", aspect: "growth", reason: "grows" }),
  sampleCheck({ verdict: "fail", limit: "budget", rank: 1, device: "cuda:1", reason: "over its budget" }),
  sampleCheck({ verdict: "warn", gating: false, metric: "reserved", device: "cuda:2", reason: "rose" }),
  sampleCheck({ verdict: "unjudged", metric: "host", device: "host", reason: "too few runs" }),
];

const failing: ScenarioReport = sampleScenario("fail", {
  judgement: sampleJudgement("fail", {
    checks,
    reason: "it grows",
    fingerprint: [
      { field: "driver", kind: "context", baseline: "570", candidate: "575" },
      { field: "device_model", kind: "identity", baseline: "A100", candidate: "H100" },
    ],
  }),
  findings: [leakLine, SAMPLE_FINDING, { ...SAMPLE_FINDING, severity: "warning", classification: "rank_skew" }],
  lock_changes: {
    total: 9,
    packages: [
      { ecosystem: "node", name: "left-pad", from: "0.9.0", to: "1.0.0" },
      { ecosystem: "python", name: "numpy", from: null, to: "2.0.0" },
    ],
  },
  difference: "3f9a2c1d-183",
  interference: ["baselines/train/0.json was removed during the run"],
});

function run(exit: RecordingInfo["exit"]): ScenarioReport["runs"][number] {
  return { role: "candidate", directory: "runs/broken/2", info: sampleRecordingInfo({ exit }), analysis: null };
}

const broken: ScenarioReport = sampleScenario("error", {
  scenario: "broken",
  runs: [
    {
      role: "candidate",
      directory: "runs/broken/1",
      info: sampleRecordingInfo({
        exit: { kind: "exited", code: 7 },
        lost: ["the device's counter", "the output's middle"],
      }),
      analysis: null,
    },
    run({ kind: "signaled", signal: "SIGKILL" }),
    run({ kind: "not-started", code: "ENOENT", message: "no such file" }),
  ],
});

const accepted: ScenarioReport = sampleScenario("warn", {
  scenario: "accepted",
  judgement: sampleJudgement("fail"),
  accepted: {
    difference: "3f9a2c1d-183",
    by: "octocat",
    reason: "a larger batch",
    via: "comment",
    at_iso: "2026-11-20T09:41:12Z",
    head_sha: "a".repeat(40),
    url: "https://github.com/octo/model/pull/12#issuecomment-1",
  },
});

const foreign: ScenarioReport = sampleScenario("unjudged", {
  scenario: "foreign",
  caused_by: "edited",
  difference: "0123456789ab-policy",
  judgement: sampleJudgement("unjudged", {
    fingerprint: [{ field: "framework", kind: "identity", baseline: "torch 2.8", candidate: "torch 2.9" }],
  }),
});

const passing: ScenarioReport = sampleScenario("pass", { scenario: "passing", findings: [SAMPLE_FINDING] });

export function fullReport(): GateReport {
  return sampleReport("fail", {
    scenarios: [{ ...failing, timeline: sampleTimeline() }, broken, accepted, foreign, passing],
    warnings: ["the fallback sampler was used", "the device's counters cannot be read"],
    policy_changes: [
      { path: "scenarios.train.budget.host", base: "2 GiB", head: "4 GiB" },
      { path: "policy.unjudged", base: null, head: "pass" },
    ],
  });
}

const SHORT: readonly string[] = ["tool.version", "generated_at_utc"];

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Path = readonly (string | number)[];

/** Fields with a fixed set of values. */
const FIXED =
  /(^schema$|^gate_id$|^leg$|^head_sha$|\.(schema|verdict|severity|kind|role|metric|aspect|limit|class|peak_kind|candidate_class|baseline_class|via|status|caused_by)$)/;

function walk(node: Json, path: Path, visit: (path: Path, text: string) => void): void {
  if (typeof node === "string") visit(path, node);
  else if (Array.isArray(node)) for (const [at, item] of node.entries()) walk(item, [...path, at], visit);
  else if (node !== null && typeof node === "object") {
    for (const [key, item] of Object.entries(node)) walk(item, [...path, key], visit);
  }
}

function documentOf(section: Section): Json {
  return JSON.parse(sectionText(section)) as Json;
}

function put(node: Json, path: Path, value: Json): void {
  let at = node as Record<string | number, Json>;
  for (const key of path.slice(0, -1)) at = at[key] as Record<string | number, Json>;
  at[path.at(-1) as string] = value;
}

/** Name of a field without the numbers of lists: `report.scenarios[].judgement.checks[].reason`. */
function nameOf(path: Path): string {
  return path
    .map((key) => (typeof key === "number" ? "[]" : `.${key}`))
    .join("")
    .slice(1);
}

const base = documentOf(sampleSection({ report: fullReport() }));

function read(document: Json): Section | null {
  try {
    return parseSection(Buffer.from(JSON.stringify(document)), "the section");
  } catch {
    return null;
  }
}

/** Every field of a section that takes untrusted text, found by trying: the reader refuses it in all others. */
export const FIELDS: ReadonlyMap<string, readonly Path[]> = (() => {
  const fields = new Map<string, Path[]>();
  walk(base, [], (path) => {
    const name = nameOf(path);
    fields.set(name, [...(fields.get(name) ?? []), path]);
  });
  for (const [name, paths] of fields) {
    const document = structuredClone(base);
    put(document, paths[0]!, "an untrusted text");
    if (FIXED.test(`.${name}`) || read(document) === null) fields.delete(name);
  }
  return fields;
})();

const filled = new Map<string, Section>();

/** The full report as an untrusted section with a text in every field, read back. */
export function hostileSection(text: string, names?: readonly string[]): Section {
  if (names !== undefined) return sectionWith(text, names);
  const known = filled.get(text) ?? sectionWith(text, [...FIELDS.keys()]);
  filled.set(text, known);
  return known;
}

function sectionWith(text: string, names: readonly string[]): Section {
  const document = structuredClone(base);
  for (const name of names) {
    // The reader takes short texts only in the fields about the tool.
    const fitting = SHORT.includes(name) ? text.slice(0, 200) : text;
    for (const path of FIELDS.get(name) ?? []) put(document, path, fitting);
  }
  const section = read(document);
  if (section === null) throw new Error(`the reader refuses ${JSON.stringify(text.slice(0, 40))}`);
  return section;
}
