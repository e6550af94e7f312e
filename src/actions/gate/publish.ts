import { existsSync } from "node:fs";
import path from "node:path";
import type { GateError } from "../../core/errors.ts";
import { type ArtifactJob, uploadBundle, uploadTimeline } from "../../github/artifacts/artifact.ts";
import { commentWarning } from "../../github/comment/comment.ts";
import { MAX_SUMMARY_BYTES, writeSummary } from "../../github/comment/summary.ts";
import type { Published } from "../../github/outputs.ts";
import { artifactUrl, runContext } from "../../github/run-context.ts";
import type { GateReport } from "../../report/documents/model.ts";
import { asGateError } from "../gate-error.ts";
import { errorReport } from "./error-report.ts";
import type { PublishSettings } from "./inputs.ts";
import type { PublishedSection, SectionEvidence } from "./publish-section.ts";
import { rememberUploaded } from "./state.ts";
import type { Step } from "./step.ts";

/** An upload is worth this long; cancelled, the step has to be gone within 7.5 s. */
const UPLOAD_DEADLINE_MS = 60_000;
const AFTER_INTERRUPT_MS = 3000;

interface Evidence extends SectionEvidence {
  /** Whether the artifact service did what it was asked, as far as it was asked. */
  readonly arrived: boolean;
}

const NO_EVIDENCE: Evidence = { bundleArtifact: null, timelineArtifact: null, arrived: false };

export function artifactJob(
  step: Step,
  settings: Pick<PublishSettings, "artifactName" | "retentionDays">,
): ArtifactJob {
  return {
    store: step.artifacts,
    context: runContext(step.env),
    name: settings.artifactName,
    retentionDays: settings.retentionDays,
    deadline: { ms: UPLOAD_DEADLINE_MS, interrupt: step.interrupt, msAfterInterrupt: AFTER_INTERRUPT_MS },
  };
}

async function uploadEvidence(
  step: Step,
  settings: PublishSettings,
  bundleDir: string,
  warnings: string[],
): Promise<Evidence> {
  const job = artifactJob(step, settings);
  const bundle = await uploadBundle(job, bundleDir);
  if (!bundle.ok) {
    warnings.push(bundle.warning);
    // Cancelled in the middle of it: the post step has more time.
    if (!step.interrupt.aborted) rememberUploaded(step.runner);
    return NO_EVIDENCE;
  }
  rememberUploaded(step.runner);
  const evidence = { bundleArtifact: bundle.id, timelineArtifact: null, arrived: true };
  const html = path.join(bundleDir, "timeline.html");
  if (!existsSync(html) || step.interrupt.aborted) return evidence;
  const timeline = await uploadTimeline({ ...job, name: bundle.name }, html, path.dirname(bundleDir));
  if (timeline.ok) return { ...evidence, timelineArtifact: timeline.id };
  warnings.push(timeline.warning);
  return { ...evidence, arrived: false };
}

/** Loaded on use: the renderers and GitHub's client are larger than everything a step starts with. */
async function publishSection(
  step: Step,
  settings: PublishSettings,
  report: GateReport,
  evidence: Evidence & { readonly told: boolean; readonly scratch: string },
): Promise<PublishedSection> {
  // A cancelled step has seconds left, and nobody waits for what it says; one whose time was over leaves its section all the same.
  if (step.interrupt.aborted && asGateError(step.interrupt.reason).code !== "STEP_TIMEOUT") {
    return { commentUrl: null, warnings: [] };
  }
  try {
    const { publishSection: publish } = await import("./publish-section.ts");
    const { told, scratch } = evidence;
    return await publish(step, settings, report, evidence, { artifacts: artifactJob(step, settings), scratch, told });
  } catch (error) {
    return { commentUrl: null, warnings: [commentWarning(error)] };
  }
}

export interface Publication {
  readonly published: Published;
  /** What could not be published, one line each; nothing of it touches the verdict. */
  readonly warnings: readonly string[];
}

/** Bring a report to everybody who waits for it: artifact, comment, job summary. Never throws for what the network does. */
export async function publishReport(
  step: Step,
  settings: PublishSettings,
  report: GateReport,
  bundleDir: string,
): Promise<Publication> {
  const warnings: string[] = [];
  // A cancelled step has seconds left: the post step uploads, and nobody waits for a comment.
  const evidence = step.interrupt.aborted ? NO_EVIDENCE : await uploadEvidence(step, settings, bundleDir, warnings);
  const context = runContext(step.env);
  const page = (id: number | null): string | null => (id === null ? null : artifactUrl(context, id));
  const [bundleUrl, timelineUrl] = [page(evidence.bundleArtifact), page(evidence.timelineArtifact)];
  const scratch = path.dirname(bundleDir);
  const section = await publishSection(step, settings, report, { ...evidence, told: !evidence.arrived, scratch });
  warnings.push(...section.warnings);
  await summarize(
    step,
    settings,
    { ...report, warnings: [...report.warnings, ...warnings] },
    { bundleUrl, timelineUrl },
    warnings,
  );
  return {
    published: {
      artifactId: evidence.bundleArtifact,
      artifactUrl: bundleUrl,
      timelineUrl,
      bundlePath: bundleDir,
      reportPath: path.join(bundleDir, "report.json"),
      commentUrl: section.commentUrl,
    },
    warnings,
  };
}

/** A gate that could not start says so where its verdict would stand, so that no older verdict seems to hold. */
export async function publishError(
  step: Step,
  settings: PublishSettings,
  error: GateError,
  place: { readonly bundleDir: string; readonly scenario: string | undefined },
): Promise<{ readonly commentUrl: string | null; readonly warnings: readonly string[] }> {
  const report = errorReport(error, place.scenario, new Date());
  const scratch = path.dirname(place.bundleDir);
  const section = await publishSection(step, settings, report, { ...NO_EVIDENCE, told: false, scratch });
  const warnings = [...section.warnings];
  await summarize(step, settings, { ...report, warnings }, { bundleUrl: null, timelineUrl: null }, warnings);
  return { commentUrl: section.commentUrl, warnings };
}

async function summarize(
  step: Step,
  settings: PublishSettings,
  report: GateReport,
  links: { readonly bundleUrl: string | null; readonly timelineUrl: string | null },
  warnings: string[],
): Promise<void> {
  const summary = await step.markdown(report, {
    timelineImageUrl: null,
    bundleUrl: links.bundleUrl,
    htmlUrl: links.timelineUrl,
    mermaid: settings.image !== "none",
    gate: settings.gateId === "default" ? null : settings.gateId,
    maxChars: MAX_SUMMARY_BYTES,
  });
  if (!writeSummary(step.env.GITHUB_STEP_SUMMARY, summary) && step.env.GITHUB_STEP_SUMMARY) {
    warnings.push("Could not write the job summary: its file is full or cannot be written.");
  }
}
