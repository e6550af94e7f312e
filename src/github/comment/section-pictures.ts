import type { Section } from "../../report/documents/section.ts";
import { picturedSections } from "../../report/markdown/comment-markdown.ts";
import { renderTimelinePng } from "../../report/timeline/timeline-png.ts";
import { worstScenario } from "../../report/urgency.ts";
import { withDeadline } from "../deadline.ts";
import { degradedWarning } from "../degrade.ts";
import type { Octokit } from "../octokit.ts";
import type { GitData } from "../repository/git-data.ts";
import type { Repository } from "../run-context.ts";
import { checkImages } from "./image-check.ts";
import { type ImageAddresses, publishImages, type ReportImage } from "./image-ref.ts";

/** A comment waits no longer for its pictures: a client pauses a second between the writes of up to twelve. */
const PICTURES_DEADLINE_MS = 40_000;

export interface PicturesInput {
  readonly octokit: Octokit;
  readonly gitData: GitData;
  readonly repository: Repository & { readonly serverUrl: string };
  readonly pullRequest: number;
  /** With `ref` a refusal is a warning; with `auto` the comment is drawn without one. */
  readonly image: "auto" | "ref";
  readonly log: (line: string) => void;
}

/** Pictures of the sections that a comment shows, on the hidden ref of the pull request. */
export class SectionPictures {
  readonly #input: PicturesInput;
  /** By the content of the section; what was published once is not published again. */
  readonly #addresses = new Map<string, ImageAddresses>();
  readonly warnings: string[] = [];
  #off = false;
  #mayShow: Promise<boolean> | undefined;

  constructor(input: PicturesInput) {
    this.#input = input;
  }

  /** Addresses of the pictures that can be shown; the rest of the sections draws without. Never throws. */
  async addresses(sections: readonly Section[]): Promise<ReadonlyMap<Section, ImageAddresses>> {
    const shown = picturedSections(sections);
    const missing = shown.filter((section) => !this.#addresses.has(identity(section)));
    if (missing.length > 0 && !this.#off) {
      try {
        await withDeadline({ ms: PICTURES_DEADLINE_MS }, () => this.#publish(missing));
      } catch (error) {
        this.#giveUp(error);
      }
    }
    return new Map(
      shown.flatMap((section) => {
        const address = this.#addresses.get(identity(section));
        return address === undefined ? [] : [[section, address] as const];
      }),
    );
  }

  async #publish(sections: readonly Section[]): Promise<void> {
    this.#mayShow ??= this.#isShown();
    if (!(await this.#mayShow)) {
      this.#off = true;
      return;
    }
    const keyed = sections.map((section, at) => ({ section, key: keyOf(section, sections.slice(0, at)) }));
    const images: ReportImage[] = [];
    for (const { section, key } of keyed) {
      const timeline = worstScenario(section.report)?.timeline;
      if (timeline == null) continue;
      images.push({
        key,
        light: await renderTimelinePng(timeline, "light"),
        dark: await renderTimelinePng(timeline, "dark"),
      });
    }
    const { gitData, repository, pullRequest } = this.#input;
    const published = await publishImages(gitData, repository, { pullRequest, images });
    for (const { section, key } of keyed) {
      const address = published.get(key);
      if (address !== undefined) this.#addresses.set(identity(section), address);
    }
  }

  /** GitHub's image proxy is not signed in: it cannot see a private repository without a token in the address. */
  async #isShown(): Promise<boolean> {
    const { octokit, gitData, repository, image, log } = this.#input;
    const { owner, repo } = repository;
    const { data } = await octokit.rest.repos.get({ owner, repo });
    if (!data.private) return true;
    if (image !== "ref") {
      log("The repository is private: the comment draws its timeline (image: ref stores a picture).");
      return false;
    }
    const check = await checkImages({ octokit, gitData, repository });
    if (check.kind === "shown") return true;
    this.warnings.push(
      `Pictures of this private repository are not shown: ${check.reason}. The comment draws instead.`,
    );
    return false;
  }

  #giveUp(error: unknown): void {
    this.#off = true;
    const attempt = {
      what: "store the timeline's picture",
      permission: "contents: write",
      instead: "The comment draws the timeline instead.",
    };
    const warning = degradedWarning(attempt, error);
    if (this.#input.image === "ref") this.warnings.push(warning);
    else this.#input.log(warning);
  }
}

function identity({ gateId, leg, runAttempt, bundleArtifact, report }: Section): string {
  return JSON.stringify([gateId, leg, runAttempt, bundleArtifact, report.session, report.generated_at_utc]);
}

/** `<gate-id>[/<leg>]`, with a number where jobs have the same name. */
function keyOf({ gateId, leg }: Section, before: readonly Section[]): string {
  const same = before.filter((other) => other.leg === leg).length;
  const key = leg === null ? gateId : `${gateId}/${leg}`;
  return same === 0 ? key : `${key}-${same + 1}`;
}
