/** How an acceptance was said: a comment on the pull request, a label with a reason in its body, or a commit's trailer. */
export type AcceptanceWay = "comment" | "label" | "trailer";

/** A difference to the baseline that a person with write permission took on purpose, with a reason. */
export interface Acceptance {
  /** Token of the difference that was accepted: which checks failed, and up to which size. */
  readonly difference: string;
  /** Login of who accepted it. */
  readonly by: string;
  readonly reason: string;
  readonly via: AcceptanceWay;
  /** When, ISO 8601 UTC; null where it is not known. */
  readonly at_iso: string | null;
  /** Head commit the person looked at; null where it was not said. */
  readonly head_sha: string | null;
  /** Page of the comment or commit. */
  readonly url: string | null;
}

/** Something that was written as an acceptance and does not count. */
export interface RefusedAcceptance {
  readonly difference: string;
  /** Login as GitHub tells it; null where it knows no account. */
  readonly by: string | null;
  readonly via: AcceptanceWay;
  readonly url: string | null;
  /** Why it does not count and what to do, one sentence without its full stop. */
  readonly why: string;
}

/** What people accepted of a pull request, read live. */
export interface Acceptances {
  readonly accepted: readonly Acceptance[];
  readonly refused: readonly RefusedAcceptance[];
  /** What could not be asked; the verdict stands all the same. */
  readonly warnings: readonly string[];
}
