/** Source of an acceptance: a comment on the pull request, a label with a reason in its body, a commit's trailer. */
export type AcceptanceWay = "comment" | "label" | "trailer";

/** A difference to the baseline that a person with write permission accepted, with a reason. */
export interface Acceptance {
  /** Token of the difference that was accepted: which checks failed, and up to which size. */
  readonly difference: string;
  /** Login of who accepted it. */
  readonly by: string;
  readonly reason: string;
  readonly via: AcceptanceWay;
  /** When, ISO 8601 UTC; null where it is not known. */
  readonly at_iso: string | null;
  /** Head commit that the acceptance names; null where it names none. */
  readonly head_sha: string | null;
  /** Page of the comment or commit. */
  readonly url: string | null;
}

/** An acceptance that is ignored. */
export interface RefusedAcceptance {
  readonly difference: string;
  /** Login reported by GitHub; null where it knows no account. */
  readonly by: string | null;
  readonly via: AcceptanceWay;
  readonly url: string | null;
  /** Why it is ignored and what to do, one sentence without its full stop. */
  readonly why: string;
}

/** The acceptances of a pull request, read live. */
export interface Acceptances {
  readonly accepted: readonly Acceptance[];
  readonly refused: readonly RefusedAcceptance[];
  /** What could not be read; the verdict does not depend on it. */
  readonly warnings: readonly string[];
}
