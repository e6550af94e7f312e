import * as v from "valibot";
import { GateError, invalidInput } from "../../core/errors.ts";
import { groupBy } from "../../core/group-by.ts";
import { type GateReport, VERDICTS_BY_URGENCY, type Verdict, verdictUrgency } from "./gate-report.ts";
import { payloadOf, reportOf } from "./payload.ts";
import { PayloadSchema } from "./report-schema.ts";

/**
 * A section is the report of one job of a gate as one small document: a leg of a matrix, a node, or the only job. The
 * comment and a merged verdict are rendered from sections alone, so the job that posts them runs no code of the change.
 * A section of a fork is untrusted until {@link parseSection} has accepted it.
 */
export interface Section {
  /** Each gate has one comment. */
  readonly gateId: string;
  /** Leg of the matrix, unique within a gate and workflow run; null without a matrix. */
  readonly leg: string | null;
  /** Head commit of the measured pull request; null outside one. A claim of the section, which its reader checks. */
  readonly headSha: string | null;
  readonly runAttempt: number;
  /** Ids of the evidence within the same workflow run; the renderer makes addresses of them. */
  readonly bundleArtifact: number | null;
  readonly timelineArtifact: number | null;
  readonly report: GateReport;
}

/** Upper bound of a section, whose timelines are thinned. */
export const MAX_SECTION_BYTES = 4 * 1024 * 1024;

const id = v.nullable(v.pipe(v.number(), v.safeInteger(), v.minValue(1)));
const short = v.pipe(v.string(), v.maxLength(200));

const SectionSchema = v.object({
  schema: v.literal("stormlog.section/1"),
  gate_id: v.pipe(v.string(), v.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)),
  leg: v.nullable(v.pipe(v.string(), v.regex(/^[A-Za-z0-9._-]{1,60}$/))),
  head_sha: v.nullable(v.pipe(v.string(), v.regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/))),
  run_attempt: v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(1000)),
  bundle_artifact: id,
  timeline_artifact: id,
  tool: v.object({ version: short, argv: v.pipe(v.array(v.pipe(v.string(), v.maxLength(20_000))), v.maxLength(1000)) }),
  generated_at_utc: short,
  report: PayloadSchema,
});

type Document = v.InferInput<typeof SectionSchema>;

/** A section's document, at most {@link MAX_SECTION_BYTES} long; a very large report loses its explanations first. */
export function sectionText(section: Section): string {
  const { report } = section;
  let document: Document = clipped({
    schema: "stormlog.section/1",
    gate_id: section.gateId,
    leg: section.leg,
    head_sha: section.headSha,
    run_attempt: section.runAttempt,
    bundle_artifact: section.bundleArtifact,
    timeline_artifact: section.timelineArtifact,
    tool: { version: report.tool.version.slice(0, 200), argv: report.tool.argv.slice(0, 1000) },
    generated_at_utc: report.generated_at_utc,
    report: payloadOf(report),
  });
  let text = `${JSON.stringify(document)}\n`;
  for (const shorten of SHORTER) {
    if (Buffer.byteLength(text) <= MAX_SECTION_BYTES) break;
    document = { ...document, report: shorten(document.report) };
    text = `${JSON.stringify(document)}\n`;
  }
  return text;
}

type ReportDocument = Document["report"];
type ScenarioDocument = ReportDocument["scenarios"][number];

const each =
  (shorten: (scenario: ScenarioDocument) => ScenarioDocument) =>
  (report: ReportDocument): ReportDocument => ({ ...report, scenarios: report.scenarios.map(shorten) });

/** Reductions of a section that is too large, in their order; verdicts and reasons are kept longest. */
const SHORTER: readonly ((report: ReportDocument) => ReportDocument)[] = [
  // No more are shown.
  each(({ lock_changes: locks, ...scenario }) => ({
    ...scenario,
    ...(locks === undefined ? {} : { lock_changes: { ...locks, packages: locks.packages.slice(0, 5) } }),
  })),
  each((scenario) => ({ ...scenario, runs: scenario.runs.map((run) => ({ ...run, analysis: null })) })),
  each((scenario) => (scenario.verdict === "pass" ? { ...scenario, timeline: null } : scenario)),
  each(({ peak: _, ...scenario }) => scenario),
  each((scenario) => ({
    ...scenario,
    runs: [],
    findings: scenario.findings.slice(0, 20),
    judgement: scenario.judgement && { ...scenario.judgement, checks: worst(scenario.judgement.checks, 50) },
  })),
  // A command that lost a part would do something else.
  (report) => clipped(each(({ invocation: _, ...scenario }) => scenario)(report), 600),
  each((scenario) => ({
    ...scenario,
    timeline: null,
    findings: scenario.findings.slice(0, 3),
    judgement: scenario.judgement && { ...scenario.judgement, checks: worst(scenario.judgement.checks, 5) },
  })),
  // About 3 KiB remain of each: the last resort for a report with thousands of scenarios.
  (report) => ({ ...clipped(report, 100), warnings: [], scenarios: worst(report.scenarios, 500).map(bare) }),
];

function bare(scenario: ScenarioDocument): ScenarioDocument {
  const { judgement } = scenario;
  return clipped(
    {
      ...scenario,
      fingerprint: {},
      findings: [],
      judgement: judgement && { ...judgement, checks: [], fingerprint: [] },
    },
    300,
  );
}

/** The first items, those that did not pass before the others. */
function worst<T extends { readonly verdict: string }>(items: readonly T[], most: number): T[] {
  const passed = (item: T): boolean => item.verdict === "pass";
  return [...items.filter((item) => !passed(item)), ...items.filter(passed)].slice(0, most);
}

/** A value with its texts and lists cut to the bounds of the schema, or to a smaller bound. */
function clipped<T>(value: T, maxChars?: number): T;
function clipped(value: unknown, maxChars = 20_000): unknown {
  if (typeof value === "string") return value.length > maxChars ? value.slice(0, maxChars) : value;
  if (Array.isArray(value)) return value.slice(0, 10_000).map((item: unknown) => clipped(item, maxChars));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [clipped(key, maxChars), clipped(item, maxChars)]),
  );
}

/** Read an untrusted section; throws SECTION_TOO_LARGE or SECTION_INVALID (exit 5). */
export function parseSection(bytes: Uint8Array, where: string): Section {
  if (bytes.byteLength > MAX_SECTION_BYTES) {
    throw invalidInput("SECTION_TOO_LARGE", `${where} is larger than ${MAX_SECTION_BYTES} bytes`, where);
  }
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new GateError("SECTION_INVALID", `${where} is not valid JSON`, { kind: "invalid-input", where, cause });
  }
  const parsed = v.safeParse(SectionSchema, json, { abortEarly: true });
  if (!parsed.success) {
    const [issue] = parsed.issues;
    // Nothing of the document itself: the sentence is printed where its author must not write.
    const at = (v.getDotPath(issue) ?? "document").replace(/[^A-Za-z0-9_.]/g, "?").slice(0, 100);
    throw invalidInput("SECTION_INVALID", `${where}: ${at}: expected ${issue.expected ?? "another value"}`, where);
  }
  const document = parsed.output;
  return {
    gateId: document.gate_id,
    leg: document.leg,
    headSha: document.head_sha,
    runAttempt: document.run_attempt,
    bundleArtifact: document.bundle_artifact,
    timelineArtifact: document.timeline_artifact,
    report: reportOf(
      document.report,
      { name: "stormlog-gate", version: document.tool.version, argv: document.tool.argv },
      document.generated_at_utc,
    ),
  };
}

/** A section with the name of its leg. */
export interface Leg {
  readonly section: Section;
  /** Plain text, unique among the sections. */
  readonly name: string;
}

/** Sections with the names of their legs; jobs that share a name are numbered. */
export function nameLegs(sections: readonly Section[]): readonly Leg[] {
  return [...groupBy(sections, ({ leg }) => leg ?? "job")]
    .flatMap(([base, own]) =>
      own.map((section, at) => ({ section, name: own.length > 1 ? `${base} (${at + 1})` : base })),
    )
    .sort((a, b) => sections.indexOf(a.section) - sections.indexOf(b.section));
}

export interface SectionsVerdict {
  readonly verdict: Verdict;
  /** False when a failed section was not confirmed. */
  readonly confirmed: boolean;
  /** Sections per verdict, the worst first, without verdicts that no section has. */
  readonly counts: readonly { readonly verdict: Verdict; readonly count: number }[];
  /** Sections that are expected and missing; 0 where their number is unknown. */
  readonly missing: number;
}

/** The worst verdict of a gate's sections, never a pass while one is missing; `expected` null = as many as given. */
export function verdictOfSections(sections: readonly Section[], expected: number | null): SectionsVerdict {
  const counts = VERDICTS_BY_URGENCY.map((verdict) => ({
    verdict,
    count: sections.filter(({ report }) => report.verdict === verdict).length,
  })).filter(({ count }) => count > 0);
  const missing = Math.max(sections.length === 0 ? 1 : 0, (expected ?? 0) - sections.length);
  const worst = counts[0]?.verdict ?? "unjudged";
  const verdict = missing > 0 && verdictUrgency(worst) > verdictUrgency("unjudged") ? "unjudged" : worst;
  const failed = sections.filter(({ report }) => report.verdict === "fail");
  return { verdict, confirmed: failed.every(({ report }) => report.confirmed), counts, missing };
}

/** The section nearest to one of its gating limits; the first one where no limit is known. */
export function tightestSection(sections: readonly Section[]): Section | null {
  const loads = sections.map((section) => ({ section, load: loadOfSection(section) }));
  return loads.sort((a, b) => b.load - a.load)[0]?.section ?? null;
}

/** The largest share of its limit that a gating peak of the section uses; 0 where no limit is known. */
export function loadOfSection({ report }: Section): number {
  const checks = report.scenarios.flatMap(({ judgement }) => judgement?.checks ?? []);
  return checks.reduce((most, { gating, aspect, candidate_bytes: bytes, threshold_bytes: limit }) => {
    const isKnown = gating && aspect === "peak" && bytes !== null && limit !== null && limit > 0;
    return isKnown ? Math.max(most, bytes / limit) : most;
  }, 0);
}
