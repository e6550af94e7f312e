import path from "node:path";
import { endGroup, startGroup } from "@actions/core";
import { messageOf } from "../../core/errors.ts";
import { makeDirectories } from "../../core/files.ts";
import { withDeadline } from "../../github/api/deadline.ts";
import { connect, loadClient } from "../../github/api/octokit.ts";
import { type KnownRun, runContext } from "../../github/api/run-context.ts";
import type { ArtifactJob, ArtifactStore } from "../../github/artifacts/artifact.ts";
import { newestSections, sectionReader, uploadSection } from "../../github/artifacts/section-artifacts.ts";
import { commentWarning } from "../../github/comment/comment.ts";
import { keepSectionComment } from "../../github/comment/section-comment.ts";
import { type PullRequest, readPullRequest } from "../../github/pull-request/pull-request.ts";
import { openGitData } from "../../github/repository/git-data-client.ts";
import type { GateReport } from "../../report/model/gate-report.ts";
import { parseSection, type Section, sectionText } from "../../report/model/section.ts";
import { log } from "../log.ts";
import { refusedNote } from "../report/notes.ts";
import type { GateStep } from "./inputs.ts";

/** A section is small: an upload that takes longer means that the service does not work. */
const SECTION_DEADLINE_MS = 15_000;
const COMMENT_DEADLINE_MS = 30_000;
/** Legs that end together write in turns, and GitHub wants a second between two writes. */
const COMMENT_OF_LEGS_DEADLINE_MS = 90_000;
const AFTER_INTERRUPT_MS = 3000;

export interface SectionEvidence {
  readonly bundleArtifact: number | null;
  readonly timelineArtifact: number | null;
  /** A failure of the artifact service was reported already. */
  readonly warned: boolean;
}

export interface PublishedSection {
  /** The comment's page; null when there is none. */
  readonly commentUrl: string | null;
  readonly warnings: readonly string[];
}

/** Upload this job's section and write the gate's one comment from all of them. Never throws for a network failure. */
export async function publishSection(
  step: GateStep,
  report: GateReport,
  { warned, bundleArtifact, timelineArtifact }: SectionEvidence,
  artifacts: Omit<ArtifactJob, "name">,
): Promise<PublishedSection> {
  const { env, settings, signal } = step;
  const { gateId, leg, token } = settings;
  const context = runContext(env);
  const pullRequest = readPullRequest(env);
  const made = {
    gateId,
    leg,
    headSha: pullRequest?.headSha ?? null,
    runAttempt: context.runAttempt,
    bundleArtifact,
    timelineArtifact,
    report,
  };
  // Read back as every other reader sees it.
  const own = parseSection(Buffer.from(sectionText(made)), "the section of this job");
  const scratch = path.dirname(step.bundleDir);
  makeDirectories(scratch);
  const deadline = { ms: SECTION_DEADLINE_MS, interrupt: signal, msAfterInterrupt: AFTER_INTERRUPT_MS };
  const upload = await uploadSection({ ...artifacts, deadline }, own, scratch);
  const warnings: string[] = [];
  // One warning about a failing service is enough. A job that is alone needs no section for its comment.
  if (!upload.ok && !warned) warnings.push(upload.warning);
  if (!settings.comment || signal.aborted || pullRequest === null) return { commentUrl: null, warnings };
  const { owner, repo } = context;
  if (owner === null || repo === null) return { commentUrl: null, warnings };
  if (token === null) {
    return {
      commentUrl: null,
      warnings: [...warnings, "No comment was written: the token is missing. See the job summary."],
    };
  }
  const sections = upload.ok ? await sectionsOfGate(signal, artifacts.store, own) : null;
  const known = { ...context, owner, repo };
  const comment = await writeComment(step, token, { known, pullRequest, own, sections });
  return { commentUrl: comment.commentUrl, warnings: [...warnings, ...comment.warnings] };
}

type Sections = () => Promise<readonly Section[]>;

interface SectionSource {
  readonly read: Sections;
  readonly refused: () => readonly string[];
}

/** All sections of this gate, this job's own included however slow the service is; null when they cannot be read. */
async function sectionsOfGate(signal: AbortSignal, store: ArtifactStore, own: Section): Promise<SectionSource | null> {
  const reader = sectionReader(store, own.gateId, { headSha: own.headSha, attempt: own.runAttempt });
  const read: Sections = async () => {
    const listed = await reader.read();
    const hasOwn = listed.some(({ leg, runAttempt, report }) => {
      return leg === own.leg && runAttempt === own.runAttempt && report.session === own.report.session;
    });
    return hasOwn ? listed : newestSections([own, ...[...listed].reverse()]);
  };
  startGroup("Stormlog Gate: reading the sections of this gate's jobs");
  try {
    let first: readonly Section[] | null = await withDeadline(
      { ms: 15_000, interrupt: signal, msAfterInterrupt: 0 },
      read,
    );
    for (const line of reader.refused()) log(`Not a section: ${line}`);
    const again: Sections = async () => {
      const known = first ?? (await read());
      first = null;
      return known;
    };
    return { read: again, refused: reader.refused };
  } catch (error) {
    log(`The sections of other jobs cannot be read: ${messageOf(error)}`);
    return null;
  } finally {
    endGroup();
  }
}

interface CommentWork {
  readonly known: KnownRun;
  readonly pullRequest: PullRequest;
  readonly own: Section;
  readonly sections: SectionSource | null;
}

async function writeComment(
  { settings, signal: interrupt }: GateStep,
  token: string,
  { known, pullRequest, own, sections }: CommentWork,
): Promise<PublishedSection> {
  const { gateId, leg, image } = settings;
  const ms = leg === null ? COMMENT_DEADLINE_MS : COMMENT_OF_LEGS_DEADLINE_MS;
  const refused = (): readonly string[] => sections?.refused() ?? [];
  let held: readonly Section[] = [own];
  const warnings: string[] = [];
  try {
    const client = await loadClient();
    const commentUrl = await withDeadline({ ms, interrupt, msAfterInterrupt: AFTER_INTERRUPT_MS }, async (signal) => {
      const maxWaitS = COMMENT_DEADLINE_MS / 2000;
      const octokit = connect(client, { token, context: known, signal, maxWaitS, log });
      // Legs that end together would wait for each other at the ref; `report` and `merge` add the pictures.
      const pictures = image === "ref" || (image === "auto" && leg === null);
      const comment = {
        octokit,
        gitData: pictures ? openGitData(octokit, known, { log }) : null,
        context: known,
        pullRequest,
        gateId,
        // Without the other legs' sections a shared comment would lose them: this leg then has a comment of its own.
        ...(sections === null && leg !== null ? { key: `${gateId}/${leg}` } : {}),
        sections: async () => {
          held = (await sections?.read()) ?? [own];
          return held;
        },
        // A refused section may be that of a failed job: it counts as a missing one, which is never a pass.
        get expected() {
          return refused().length === 0 ? null : held.length + refused().length;
        },
        notes: () => (refused().length === 0 ? [] : [refusedNote(refused())]),
        runId: known.runId,
        image,
        log,
      };
      return keepSectionComment(comment, (message) => warnings.push(message));
    });
    return { commentUrl, warnings };
  } catch (error) {
    return { commentUrl: null, warnings: [commentWarning(error)] };
  }
}
