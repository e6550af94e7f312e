import { usageError } from "../../core/errors.ts";
import type { PromotionPolicy } from "../../nightly/state.ts";
import { choice, gateIdInput, type Input, isAuto, legInput, wholeInput } from "../input-values.ts";

/** What the workflow asks of a refresh, beside what is measured and how. */
export type RefreshSettings = ReturnType<typeof refreshSettings>;

/** Ref with the baselines and the state of the nightly runs. */
export const BASELINES_REF = "refs/stormlog/baselines";

function yes(input: Input, name: string, fallback: "true" | "false"): boolean {
  return choice(input, name, ["true", "false"], fallback) === "true";
}

/** Read the inputs of the refresh. @throws GateError INPUT_INVALID (usage) */
export function refreshSettings(input: Input) {
  const gateId = gateIdInput(input);
  const leg = legInput(input);
  const baseline = input("baseline") ?? `ref:${BASELINES_REF}`;
  if (!/^(file|ref):./.test(baseline) || /[\n,]/.test(baseline)) {
    const hint = "A refresh takes one store: ref:NAME or file:DIR.";
    throw usageError("INPUT_INVALID", `input baseline is "${baseline}"`, hint);
  }
  const runs = input("runs") === "auto" ? null : wholeInput(input, "runs", 1, 50);
  const promotion: PromotionPolicy = {
    mode: choice(input, "mode", ["blocking", "advisory"], "blocking"),
    promoteAfter: wholeInput(input, "promote-after", 1, 365),
  };
  return {
    /** Gate id, with the leg of a matrix behind a slash. */
    key: leg === null ? gateId : `${gateId}/${leg}`,
    /** The store, as a baseline spec: `ref:…` or `file:…`. */
    baseline,
    runs: runs ?? ("auto" as const),
    promotion,
    /** What the peak of a new level consists of is measured and stored. */
    composition: yes(input, "composition", "false"),
    /** Reason by which whatever is measured becomes the new normal; null = it is judged. */
    accept: input("accept") ?? null,
    anchor: choice(input, "anchor", ["auto", "propose", "off"], "auto"),
    issue: isAuto(input, "issue"),
    /** Where a `file:` store's new records go: left in the working tree, or proposed. */
    save: choice(input, "save", ["tree", "pull-request"], "tree"),
    requireProtected: yes(input, "require-protected", "true"),
    /** `measure` leaves the session as an artifact, `write` stores it in another job; `all` does both. */
    stage: choice(input, "stage", ["all", "measure", "write"], "all"),
    /** Only set the outputs with the gate's mode. */
    readMode: yes(input, "read-mode", "false"),
    artifactName: input("artifact-name") ?? `stormlog-refresh-${gateId}${leg === null ? "" : `-${leg}`}`,
    retentionDays: wholeInput(input, "retention-days", 1, 90),
  } as const;
}

/** The key as a file's or a branch's name. */
export function keyName(key: string): string {
  return key.replace("/", "+");
}
