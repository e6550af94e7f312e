import { picturedSections } from "../../report/markdown/comment-markdown.ts";
import { worstScenario } from "../../report/model/gate-report.ts";
import type { Section } from "../../report/model/section.ts";
import { renderTimelinePng } from "../../report/timeline/timeline-png.ts";
import { withDeadline } from "../api/deadline.ts";
import { degradedWarning } from "../api/degrade.ts";
import type { Repository } from "../api/run-context.ts";
import type { GitData } from "../repository/git-data-client.ts";
import { type ImageAddresses, publishImages, type ReportImage } from "./image-ref.ts";

export interface PicturesInput {
  readonly gitData: GitData;
  readonly repository: Repository & { readonly serverUrl: string };
  readonly pullRequest: number;
  /** With `ref` a refusal is a warning. */
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

  constructor(input: PicturesInput) {
    this.#input = input;
  }

  /** Addresses of the pictures that can be shown; the rest of the sections has none. Never throws. */
  async addresses(sections: readonly Section[]): Promise<ReadonlyMap<Section, ImageAddresses>> {
    const shown = picturedSections(sections);
    const missing = shown.filter((section) => !this.#addresses.has(identity(section)));
    if (missing.length > 0 && !this.#off) {
      try {
        await this.#publish(missing);
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
    // A comment, which has 30 s, waits no longer for its pictures to be stored.
    const published = await withDeadline({ ms: 10_000 }, () =>
      publishImages(gitData, repository, { pullRequest, images }),
    );
    for (const { section, key } of keyed) {
      const address = published.get(key);
      if (address !== undefined) this.#addresses.set(identity(section), address);
    }
  }

  #giveUp(error: unknown): void {
    this.#off = true;
    const attempt = {
      what: "store the timeline's picture",
      permission: "contents: write",
      instead: "The comment has a line of letters instead.",
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
