import * as v from "valibot";
import { text } from "../../analysis/series/document.ts";
import type { DeepReadonly } from "../../core/json.ts";

/** A difference to the baseline that a person with write permission accepted, with a reason. */
export const AcceptanceSchema = v.object({
  /** Token of the difference that was accepted: which checks failed, and up to which size. */
  difference: text,
  /** Login of who accepted it. */
  by: text,
  reason: text,
  /** Source: a comment on the pull request, a label with a reason in its body, a commit's trailer. */
  via: v.picklist(["comment", "label", "trailer"]),
  /** When, ISO 8601 UTC; null where it is not known. */
  at_iso: v.nullable(text),
  /** Head commit that the acceptance names; null where it names none. */
  head_sha: v.nullable(text),
  /** Page of the comment or commit. */
  url: v.nullable(text),
});
export type Acceptance = DeepReadonly<v.InferOutput<typeof AcceptanceSchema>>;
export type AcceptanceWay = Acceptance["via"];

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
