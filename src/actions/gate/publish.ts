import { existsSync } from "node:fs";
import path from "node:path";
import type { GateError } from "../../core/errors.ts";
import { packageVersion } from "../../core/package-root.ts";
import { artifactUrl, runContext } from "../../github/api/run-context.ts";
import {
  type ArtifactJob,
  actionsArtifactStore,
  uploadBundle,
  uploadTimeline,
} from "../../github/artifacts/artifact.ts";
import { commentWarning } from "../../github/comment/comment.ts";
import { MAX_SUMMARY_BYTES, writeSummary } from "../../github/comment/summary.ts";
import { NOT_PUBLISHED, type Published } from "../../github/outputs.ts";
import type { SummaryOptions } from "../../report/markdown/summary-markdown.ts";
import { type GateReport, missingScenario } from "../../report/model/gate-report.ts";
import { asGateError } from "../gate-error.ts";
import type { GateStep } from "./inputs.ts";
import type { PublishedSection, SectionEvidence } from "./publish-section.ts";

const NO_EVIDENCE: SectionEvidence = { bundleArtifact: null, timelineArtifact: null, warned: false };

async function artifactJob({ env, settings, signal }: GateStep): Promise<ArtifactJob> {
  return {
    store: await actionsArtifactStore(),
    context: runContext(env),
    name: settings.artifactName,
    retentionDays: settings.retentionDays,
    // Limit for an upload. A cancelled step has some seconds, the end of the measured processes included.
    deadline: { ms: 60_000, interrupt: signal, msAfterInterrupt: 5000 },
  };
}

async function uploadEvidence(step: GateStep, warnings: string[]): Promise<SectionEvidence> {
  const { bundleDir } = step;
  if (!existsSync(bundleDir)) return NO_EVIDENCE;
  const job = await artifactJob(step);
  const bundle = await uploadBundle(job, bundleDir);
  if (!bundle.ok) {
    warnings.push(bundle.warning);
    return { ...NO_EVIDENCE, warned: true };
  }
  const evidence = { bundleArtifact: bundle.id, timelineArtifact: null, warned: false };
  const html = path.join(bundleDir, "timeline.html");
  if (!existsSync(html) || step.signal.aborted) return evidence;
  const timeline = await uploadTimeline({ ...job, name: bundle.name }, html, path.dirname(bundleDir));
  if (timeline.ok) return { ...evidence, timelineArtifact: timeline.id };
  warnings.push(timeline.warning);
  return { ...evidence, warned: true };
}

/** Loaded on use: the renderers and GitHub's client are larger than everything a step starts with. */
async function publishSection(
  step: GateStep,
  report: GateReport,
  evidence: SectionEvidence,
): Promise<PublishedSection> {
  // A cancelled step has seconds left. One whose time was over leaves its section all the same.
  if (step.signal.aborted && asGateError(step.signal.reason).code !== "STEP_TIMEOUT") {
    return { commentUrl: null, warnings: [] };
  }
  try {
    const { publishSection: publish } = await import("./publish-section.ts");
    return await publish(step, report, evidence, await artifactJob(step));
  } catch (error) {
    return { commentUrl: null, warnings: [commentWarning(error)] };
  }
}

interface Publication {
  readonly published: Published;
  /** What could not be published, one line each; none of it changes the verdict. */
  readonly warnings: readonly string[];
}

const existing = (file: string): string => (existsSync(file) ? file : "");

/** What of a step that publishes nothing is known: its bundle on the runner, where there is one. */
export function nothingPublished(bundleDir: string): Published {
  const reportPath = path.join(bundleDir, "report.json");
  return { ...NOT_PUBLISHED, bundlePath: existing(bundleDir), reportPath: existing(reportPath) };
}

/** Publish a report as artifact, comment and job summary. Never throws for what the network does. */
export async function publishReport(step: GateStep, report: GateReport): Promise<Publication> {
  const warnings: string[] = [];
  const evidence = await uploadEvidence(step, warnings);
  const context = runContext(step.env);
  const artifact = artifactUrl(context, evidence.bundleArtifact);
  const timelineUrl = artifactUrl(context, evidence.timelineArtifact);
  const section = await publishSection(step, report, evidence);
  warnings.push(...section.warnings);
  const links = { bundleUrl: artifact, htmlUrl: timelineUrl };
  await summarize(step, { ...report, warnings: [...report.warnings, ...warnings] }, links, warnings);
  return {
    published: {
      ...nothingPublished(step.bundleDir),
      artifactId: evidence.bundleArtifact,
      artifactUrl: artifact,
      timelineUrl,
      commentUrl: section.commentUrl,
    },
    warnings,
  };
}

/** A gate that failed, as a report: the leg of a matrix then counts as failed, and no older verdict seems to hold. */
export function errorReport(error: GateError, scenario: string | undefined): GateReport {
  const { code, message, hint, exitCode } = error;
  return {
    tool: { name: "stormlog-gate", version: packageVersion(), argv: [] },
    generated_at_utc: new Date().toISOString(),
    verdict: "error",
    exit_code: exitCode,
    confirmed: false,
    session: "",
    commit: null,
    scenarios: [missingScenario(scenario ?? "", "error", { code, message, hint: hint ?? null })],
    cost: { runs: 0, minutes: 0 },
    warnings: [],
  };
}

async function summarize(
  { env, settings }: GateStep,
  report: GateReport,
  links: Pick<SummaryOptions, "bundleUrl" | "htmlUrl">,
  warnings: string[],
): Promise<void> {
  const { renderSummary } = await import("../../report/markdown/summary-markdown.ts");
  const summary = renderSummary(report, {
    ...links,
    gate: settings.gateId === "default" ? null : settings.gateId,
    maxChars: MAX_SUMMARY_BYTES,
  });
  if (!writeSummary(env.GITHUB_STEP_SUMMARY, summary) && env.GITHUB_STEP_SUMMARY) {
    warnings.push("Could not write the job summary: its file is full or not writable.");
  }
}
