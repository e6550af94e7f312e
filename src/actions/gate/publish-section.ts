import { mkdirSync } from "node:fs";
import type { ArtifactJob } from "../../github/artifacts/artifact.ts";
import { newestSections, sectionReader, uploadSection } from "../../github/artifacts/section-artifacts.ts";
import { commentWarning } from "../../github/comment/comment.ts";
import { type SectionCommentResult, upsertSectionComment } from "../../github/comment/section-comment.ts";
import { withDeadline } from "../../github/deadline.ts";
import { connect } from "../../github/octokit.ts";
import { type PullRequest, readPullRequest } from "../../github/pull-request/pull-request.ts";
import { openGitData } from "../../github/repository/git-data-client.ts";
import { type KnownRun, runContext } from "../../github/run-context.ts";
import type { GateReport } from "../../report/documents/model.ts";
import { parseSection, type Section, sectionText } from "../../report/documents/section.ts";
import type { PublishSettings } from "./inputs.ts";
import type { Step } from "./step.ts";

/** A section is small; where it takes longer than this the service does not work. */
const SECTION_DEADLINE_MS = 15_000;
const FIRST_READ_DEADLINE_MS = 15_000;
const COMMENT_DEADLINE_MS = 30_000;
/** Legs that end together write in turns, and GitHub wants a second between two writes. */
const COMMENT_OF_LEGS_DEADLINE_MS = 90_000;
const AFTER_INTERRUPT_MS = 3000;

export interface SectionEvidence {
  readonly bundleArtifact: number | null;
  readonly timelineArtifact: number | null;
}

export interface PublishedSection {
  /** The comment's page; null when there is none. */
  readonly commentUrl: string | null;
  readonly warnings: readonly string[];
}

/**
 * Leave what this job says as its section, and keep the gate's one comment from the sections of all its jobs. Never throws for what
 * the network does.
 * @param job where artifacts go; null = they are known not to arrive, which was said already
 */
export async function publishSection(
  step: Step,
  settings: PublishSettings,
  report: GateReport,
  evidence: SectionEvidence,
  job: { readonly artifacts: Omit<ArtifactJob, "name">; readonly scratch: string; readonly told: boolean },
): Promise<PublishedSection> {
  const { gateId, leg } = settings;
  const context = runContext(step.env);
  const pullRequest = readPullRequest(step.env);
  const made = {
    gateId,
    leg,
    headSha: pullRequest?.headSha ?? null,
    runAttempt: context.runAttempt,
    ...evidence,
    report,
  };
  // Read back as every other reader will see it.
  const own = parseSection(Buffer.from(sectionText(made)), "the section of this job");
  mkdirSync(job.scratch, { recursive: true });
  const deadline = { ms: SECTION_DEADLINE_MS, interrupt: step.interrupt, msAfterInterrupt: AFTER_INTERRUPT_MS };
  const upload = await uploadSection({ ...job.artifacts, deadline }, own, job.scratch);
  const warnings: string[] = [];
  // Of a service that already failed one warning is enough; a job that is alone needs no section for its comment.
  if (!upload.ok && !job.told) warnings.push(upload.warning);
  if (!settings.comment || step.interrupt.aborted || pullRequest === null) return { commentUrl: null, warnings };
  const { owner, repo } = context;
  if (owner === null || repo === null) return { commentUrl: null, warnings };
  if (settings.token === null) {
    const instead = "the job summary shows what it would have said";
    return {
      commentUrl: null,
      warnings: [...warnings, `There is no token, so the pull request gets no comment; ${instead}.`],
    };
  }
  const sections = upload.ok ? await sectionsOfGate(step, own) : null;
  const known = { ...context, owner, repo };
  const comment = await keepComment(
    step,
    { ...settings, token: settings.token },
    { known, pullRequest, own, sections },
  );
  return { commentUrl: comment.commentUrl, warnings: [...warnings, ...comment.warnings] };
}

type Sections = () => Promise<readonly Section[]>;

interface SectionSource {
  readonly read: Sections;
  readonly refused: () => readonly string[];
}

/** All sections of this gate, this job's own among them however slow the service is; null when the service cannot tell. */
async function sectionsOfGate(step: Step, own: Section): Promise<SectionSource | null> {
  const reader = sectionReader(step.artifacts, own.gateId);
  const read: Sections = async () => {
    const listed = await reader.read();
    const hasOwn = listed.some(({ leg, runAttempt, report }) => {
      return leg === own.leg && runAttempt === own.runAttempt && report.session === own.report.session;
    });
    return hasOwn ? listed : newestSections([own, ...[...listed].reverse()]);
  };
  step.runner.startGroup("Stormlog Gate: reading what the jobs of this gate said");
  try {
    let first: readonly Section[] | null = await withDeadline(
      { ms: FIRST_READ_DEADLINE_MS, interrupt: step.interrupt, msAfterInterrupt: 0 },
      read,
    );
    for (const line of reader.refused()) step.runner.info(`Not taken for a section: ${line}`);
    const again: Sections = async () => {
      const known = first ?? (await read());
      first = null;
      return known;
    };
    return { read: again, refused: reader.refused };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    step.runner.info(`The sections of other jobs cannot be read: ${why}`);
    return null;
  } finally {
    step.runner.endGroup();
  }
}

interface CommentWork {
  readonly known: KnownRun;
  readonly pullRequest: PullRequest;
  readonly own: Section;
  readonly sections: SectionSource | null;
}

async function keepComment(
  step: Step,
  settings: PublishSettings & { readonly token: string },
  { known, pullRequest, own, sections }: CommentWork,
): Promise<PublishedSection> {
  const { gateId, leg, image, token } = settings;
  const log = (line: string): void => step.runner.info(line);
  const ms = leg === null ? COMMENT_DEADLINE_MS : COMMENT_OF_LEGS_DEADLINE_MS;
  let result: SectionCommentResult;
  try {
    result = await withDeadline(
      { ms, interrupt: step.interrupt, msAfterInterrupt: AFTER_INTERRUPT_MS },
      async (signal) => {
        const octokit = await connect({ token, context: known, signal, longestWaitS: COMMENT_DEADLINE_MS / 2000, log });
        // Legs that end together would wait for each other at the ref; `report` and `merge` give their comment its pictures.
        const pictures = image === "ref" || (image === "auto" && leg === null);
        return upsertSectionComment({
          octokit,
          gitData: pictures ? openGitData(octokit, known, { log }) : null,
          context: known,
          pullRequest: { number: pullRequest.number, headSha: pullRequest.headSha },
          gateId,
          // Without the other legs' sections a shared comment would lose them: this leg then keeps its own.
          ...(sections === null && leg !== null ? { key: `${gateId}/${leg}` } : {}),
          sections: sections?.read ?? (async () => [own]),
          notes: () => refusedNotes(sections?.refused() ?? []),
          runId: known.runId,
          image,
          log,
        });
      },
    );
  } catch (error) {
    return { commentUrl: null, warnings: [commentWarning(error)] };
  }
  if (result.action === "failed") return { commentUrl: null, warnings: [result.warning] };
  if (result.action === "outdated") {
    log("The pull request has a newer commit; its own run keeps the comment.");
    return { commentUrl: null, warnings: result.warnings };
  }
  log(`Pull request comment ${result.action}: ${result.url}`);
  return { commentUrl: result.url, warnings: result.warnings };
}

/** A job whose section cannot be read is not there; that it should be is said where the others are. */
function refusedNotes(refused: readonly string[]): readonly string[] {
  if (refused.length === 0) return [];
  const several = refused.length > 1;
  return [
    `${refused.length} artifact${several ? "s" : ""} named like a section of this gate could not be read and ${several ? "are" : "is"} not counted.`,
  ];
}
