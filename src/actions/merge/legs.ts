import { GateError, messageOf } from "../../core/errors.ts";
import { withDeadline } from "../../github/api/deadline.ts";
import { type ArtifactStore, actionsArtifactStore } from "../../github/artifacts/artifact.ts";
import { type SectionReader, sectionReader } from "../../github/artifacts/section-artifacts.ts";
import { readPullRequest } from "../../github/pull-request/pull-request.ts";
import { answerOfSections, type SectionsAnswer, uniteSections } from "../../merge/merge-sections.ts";
import type { Section } from "../../report/model/section.ts";
import { callsItselfAccepted, type Ground, holdClaims } from "../report/claims.ts";
import type { SubAction } from "../sub-action.ts";
import type { MergeSettings } from "./settings.ts";

/** The sections of this run's legs, as they are now. */
export interface LegsNow {
  /** As the comment shows them. */
  readonly sections: readonly Section[];
  readonly answer: SectionsAnswer;
  /** Notes about sections whose claims were corrected. */
  readonly notes: readonly string[];
}

function notesOf(unaccepted: number, embellished: number): readonly string[] {
  const notes: string[] = [];
  if (unaccepted > 0) {
    notes.push("Ignored an acceptance by someone without write permission; the original verdict stands.");
  }
  if (embellished > 0) notes.push("A leg reported a better verdict than its own checks support; the checks were used.");
  return notes;
}

/** The sections of this run's legs through the job's own artifact service, read at every call. */
export class Legs {
  readonly #action: SubAction;
  readonly #settings: MergeSettings;
  readonly #reader: SectionReader;

  constructor(action: SubAction, settings: MergeSettings, store: ArtifactStore = actionsArtifactStore()) {
    this.#action = action;
    this.#settings = settings;
    const { runAttempt: attempt } = action.context;
    this.#reader = sectionReader(store, settings.gateId, {
      headSha: readPullRequest(action.env)?.headSha ?? null,
      attempt,
    });
  }

  /** Whether a leg reports an accepted difference, which has to be checked with GitHub. */
  async callThemselvesAccepted(): Promise<boolean> {
    return callsItselfAccepted(await this.#sections());
  }

  /** @throws GateError SECTIONS_UNREADABLE: a verdict needs the legs' sections */
  async read(ground: Ground): Promise<LegsNow> {
    const given = await this.#sections();
    const held = holdClaims(given, ground);
    const united = uniteSections(held.sections);
    const { expected, unjudged, result } = this.#settings;
    const answer = answerOfSections({
      given,
      united,
      expected,
      unjudged,
      refused: this.#reader.refused(),
      recorded: result === "success" ? null : result,
      argv: ["stormlog-gate", "merge"],
      now: new Date(),
    });
    const notes = [...notesOf(held.unaccepted, held.embellished), ...this.#older(given)];
    return { sections: answer.sections, answer, notes };
  }

  /** A leg that ran again and left nothing looks like one that did not run: only GitHub's own record separates them. */
  #older(given: readonly Section[]): readonly string[] {
    const { runAttempt } = this.#action.context;
    const older = given.filter((section) => section.runAttempt < runAttempt).map(({ leg }) => leg ?? "job");
    if (older.length === 0 || this.#settings.result !== null) return [];
    const shown = older.length > 5 ? `${older.slice(0, 5).join(", ")} and ${older.length - 5} more` : older.join(", ");
    return [
      `Measured in an earlier attempt of this run: ${shown}. Set the input result to detect a leg that has failed since.`,
    ];
  }

  async #sections(): Promise<readonly Section[]> {
    const { signal, log } = this.#action;
    try {
      const deadline = { ms: 120_000, interrupt: signal, msAfterInterrupt: 1000 };
      const sections = await withDeadline(deadline, () => this.#reader.read());
      for (const line of this.#reader.refused()) log(`Not a section: ${line}`);
      return sections;
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      throw new GateError("SECTIONS_UNREADABLE", `the sections of the legs cannot be read: ${messageOf(cause)}`, {
        hint: "Re-run this job. The measurements of the legs are kept.",
        cause,
      });
    }
  }
}
