import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../core/errors.ts";
import {
  type CommentOptions,
  type Pictured,
  picturedTimelines,
  renderComment,
} from "../../report/markdown/comment-markdown.ts";
import { worstScenario } from "../../report/model/gate-report.ts";
import type { Section } from "../../report/model/section.ts";
import { renderTimelinePng } from "../../report/timeline/timeline-png.ts";
import { withDeadline } from "../api/deadline.ts";
import { degradedWarning } from "../api/degrade.ts";
import type { Octokit } from "../api/octokit.ts";
import type { Repository } from "../api/run-context.ts";
import type { GitData } from "../repository/git-data-client.ts";
import { type CommentResult, MAX_COMMENT_CHARS, upsertComment } from "./comment.ts";
import { type ImageAddresses, publishImages, type ReportImage } from "./image-ref.ts";

/** Input `image`: a picture where it can be stored (a failure of `ref` is a warning), or a line of block letters. */
export type ImageMode = "auto" | "ref" | "none";

export interface SectionComment {
  readonly octokit: Octokit;
  /** Where pictures go; null = nowhere. */
  readonly gitData: GitData | null;
  readonly context: Repository & { readonly serverUrl: string };
  readonly pullRequest: {
    readonly number: number;
    /** A newer head keeps this comment from being written; null = do not look. */
    readonly headSha: string | null;
  };
  readonly gateId: string;
  /** What the comment is kept under where that is not the gate alone: `<gate-id>/<leg>`. */
  readonly key?: string;
  /** Asked again after every write, until it gives what was written. Artifact ids in it become links into `runId`. */
  readonly sections: () => Promise<readonly Section[]>;
  readonly runId: number | null;
  readonly image: ImageMode;
  /** Number of legs that are required; fewer are not a pass. Null = as many as report. */
  readonly expected?: number | null;
  /** Sentences for a box below the verdict, asked at every writing; plain text, escaped here. */
  readonly notes?: () => readonly string[];
  readonly log: (line: string) => void;
}

export type SectionCommentResult = CommentResult & {
  /** What could not be done beside the text; the comment is written without it. */
  readonly warnings: readonly string[];
  /** What the last text was made of. */
  readonly sections: readonly Section[];
};

/** A matrix has at most 256 legs, each of which may run again. More changes than that are not a set of legs. */
const MAX_ROUNDS = 500;
/** Maximum wait before the first leg's comment is made, milliseconds. */
const SETTLE_MS = 3000;

/**
 * Write the one comment of a gate from its sections: read them, write, and read again until nothing new appears. Every
 * job uploads its section first, so the last writer has read all of them, in any order.
 * @throws what reading the sections throws the first time, and what the client throws
 */
export async function upsertSectionComment(given: SectionComment): Promise<SectionCommentResult> {
  const { octokit, context, pullRequest, gateId, runId, log } = given;
  const { owner, repo, serverUrl } = context;
  const { number, headSha } = pullRequest;
  const target = { owner, repo, pullRequest: number, headSha, key: given.key ?? gateId };
  const pictures = openPictures(given);
  let sections = await given.sections();
  let result: CommentResult;
  let created = false;
  for (let round = 1; ; round += 1) {
    const images = (await pictures?.addresses(sections)) ?? new Map();
    const text = renderComment(sections, {
      gateId,
      repositoryUrl: `${serverUrl}/${owner}/${repo}`,
      runId,
      images,
      expected: given.expected ?? null,
      notes: given.notes?.() ?? [],
      maxChars: MAX_COMMENT_CHARS,
    });
    const isShared = sections.some(({ leg }) => leg !== null);
    result = await upsertComment(octokit, { ...target, settleMs: isShared ? SETTLE_MS : 0 }, text);
    if (result.action === "created") created = true;
    if (result.action === "outdated") break;
    let again: readonly Section[];
    try {
      again = await given.sections();
    } catch (error) {
      // The written text remains; a job that came in between writes its own.
      log(`Could not look again for other sections: ${messageOf(error)}`);
      break;
    }
    if (identity(again) === identity(sections)) break;
    if (round === MAX_ROUNDS) {
      log(`The sections changed ${MAX_ROUNDS} times while the comment was written; it stays as it is`);
      break;
    }
    // Many legs that end together would each rewrite for each: those that wait a little find that another one has.
    await delay(Math.random() * Math.min(2000, again.length * 100));
    sections = await given.sections().catch(() => again);
    log(`The comment is written again: there are ${sections.length} sections now`);
  }
  if (created && "url" in result) result = { ...result, action: "created" };
  return { ...result, warnings: pictures?.warnings ?? [], sections };
}

/**
 * {@link upsertSectionComment}, with its warnings and what came of it in the log.
 * @returns the comment's page; null where none was written
 */
export async function keepSectionComment(
  given: SectionComment,
  warn: (message: string) => void,
): Promise<string | null> {
  const result = await upsertSectionComment(given);
  for (const warning of result.warnings) warn(warning);
  if (result.action === "outdated") {
    given.log("The pull request has a newer commit; its own run keeps the comment.");
    return null;
  }
  given.log(`Pull request comment ${result.action}: ${result.url}`);
  return result.url;
}

/** Which sections these are; their text is immutable. */
function identity(sections: readonly Section[]): string {
  return JSON.stringify(
    sections.map(({ leg, runAttempt, bundleArtifact, report }) => [
      leg,
      runAttempt,
      bundleArtifact,
      report.verdict,
      report.session,
      report.generated_at_utc,
    ]),
  );
}

/** Pictures of the sections that a comment shows, on the hidden ref of the pull request; null where none are stored. */
function openPictures({ gitData, context, pullRequest, image, log }: SectionComment) {
  if (gitData === null || image === "none") return null;
  /** By the content of the section and the scenario; what was published once is not published again. */
  const known = new Map<string, ImageAddresses>();
  const warnings: string[] = [];
  let isOff = false;
  const publish = async (shown: readonly Pictured[]): Promise<void> => {
    const sections = [...new Set(shown.map(({ section }) => section))];
    const keyed = shown.map((one) => ({ one, key: keyOf(one, sections.slice(0, sections.indexOf(one.section))) }));
    const images: ReportImage[] = [];
    for (const { one, key } of keyed) {
      const { timeline } = one;
      const [light, dark] = [await renderTimelinePng(timeline, "light"), await renderTimelinePng(timeline, "dark")];
      images.push({ key, light, dark });
    }
    // A comment, which has 30 s, waits no longer for its pictures to be stored.
    const published = await withDeadline({ ms: 10_000 }, () =>
      publishImages(gitData, context, { pullRequest: pullRequest.number, images }),
    );
    for (const { one, key } of keyed) {
      const address = published.get(key);
      if (address !== undefined) known.set(pictureKey(one), address);
    }
  };
  const giveUp = (error: unknown): void => {
    isOff = true;
    const what = "store the timeline's picture";
    const instead = "The comment has a line of letters instead.";
    const warning = degradedWarning({ what, permission: "contents: write", instead }, error);
    if (image === "ref") warnings.push(warning);
    else log(warning);
  };
  return {
    warnings,
    /** Addresses of the pictures that can be shown, by section and scenario; others have none. Never throws. */
    async addresses(sections: readonly Section[]): Promise<CommentOptions["images"]> {
      const shown = picturedTimelines(sections);
      const missing = shown.filter((one) => !known.has(pictureKey(one)));
      if (missing.length > 0 && !isOff) await publish(missing).catch(giveUp);
      const images = new Map<Section, Map<string, ImageAddresses>>();
      for (const one of shown) {
        const address = known.get(pictureKey(one));
        if (address === undefined) continue;
        images.set(one.section, (images.get(one.section) ?? new Map()).set(one.scenario, address));
      }
      return images;
    },
  };
}

function pictureKey({ section, scenario }: Pictured): string {
  const { gateId, leg, runAttempt, bundleArtifact, report } = section;
  const { session, generated_at_utc: at } = report;
  return JSON.stringify([gateId, leg, runAttempt, bundleArtifact, session, at, scenario]);
}

/** `<gate-id>[/<leg>][/<scenario>]`, with a number where jobs have the same name; the worst scenario has no name. */
function keyOf({ section, scenario }: Pictured, before: readonly Section[]): string {
  const { gateId, leg, report } = section;
  const same = before.filter((other) => other.leg === leg).length;
  const key = leg === null ? gateId : `${gateId}/${leg}`;
  const numbered = same === 0 ? key : `${key}-${same + 1}`;
  return worstScenario(report)?.scenario === scenario ? numbered : `${numbered}/${scenario}`;
}
