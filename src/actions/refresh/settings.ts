import { usageError } from "../../core/errors.ts";
import type { PromotionPolicy } from "../../nightly/state.ts";
import { choice, gateIdInput, type Input, legInput, wholeInput } from "../input-values.ts";

/** What the workflow asks of a refresh, beside what is measured and how. */
export interface RefreshSettings {
  /** Gate id, with the leg of a matrix behind a slash. */
  readonly key: string;
  /** The store, as a baseline spec: `ref:…` or `file:…`. */
  readonly baseline: string;
  readonly runs: "auto" | number;
  readonly promotion: PromotionPolicy;
  readonly selfTest: boolean;
  /** What the peak of a new level consists of is measured and stored. */
  readonly composition: boolean;
  /** Reason by which whatever is measured becomes the new normal; null = it is judged. */
  readonly accept: string | null;
  readonly anchor: "auto" | "propose" | "off";
  readonly issue: boolean;
  /** Where a `file:` store's new records go: left in the working tree, or proposed. */
  readonly save: "tree" | "pull-request";
  readonly requireProtected: boolean;
  /** `measure` leaves the session as an artifact, `write` stores it in another job; `all` does both. */
  readonly stage: "all" | "measure" | "write";
  /** Only set the outputs with the gate's mode. */
  readonly readMode: boolean;
  readonly artifactName: string;
  readonly retentionDays: number | null;
}

/** Ref with the baselines and the state of the nightly runs. */
export const BASELINES_REF = "refs/stormlog/baselines";

/** Maximum runs per session. */
const MAX_RUNS = 50;

function yes(input: Input, name: string, fallback: "true" | "false"): boolean {
  return choice(input, name, ["true", "false"], fallback) === "true";
}

/** Read the inputs of the refresh. @throws GateError INPUT_INVALID (usage) */
export function refreshSettings(input: Input): RefreshSettings {
  const gateId = gateIdInput(input);
  const leg = legInput(input);
  const baseline = input("baseline") ?? `ref:${BASELINES_REF}`;
  if (!/^(file|ref):./.test(baseline) || /[\n,]/.test(baseline)) {
    throw usageError(
      "INPUT_INVALID",
      `input baseline is "${baseline}"`,
      "A refresh takes one store: ref:NAME or file:DIR.",
    );
  }
  const runs = input("runs") === "auto" ? null : wholeInput(input, "runs", 1, MAX_RUNS);
  return {
    key: leg === null ? gateId : `${gateId}/${leg}`,
    baseline,
    runs: runs ?? "auto",
    promotion: {
      mode: choice(input, "mode", ["blocking", "advisory"], "blocking"),
      promoteAfter: wholeInput(input, "promote-after", 1, 365),
    },
    selfTest: yes(input, "self-test", "false"),
    composition: yes(input, "composition", "false"),
    accept: input("accept") ?? null,
    anchor: choice(input, "anchor", ["auto", "propose", "off"], "auto"),
    issue: choice(input, "issue", ["auto", "never"], "auto") === "auto",
    save: choice(input, "save", ["tree", "pull-request"], "tree"),
    requireProtected: yes(input, "require-protected", "true"),
    stage: choice(input, "stage", ["all", "measure", "write"], "all"),
    readMode: yes(input, "read-mode", "false"),
    artifactName: input("artifact-name") ?? `stormlog-refresh-${gateId}${leg === null ? "" : `-${leg}`}`,
    retentionDays: wholeInput(input, "retention-days", 1, 90),
  };
}

/** The key as a file's or a branch's name. */
export function keyName(key: string): string {
  return key.replace("/", "+");
}
