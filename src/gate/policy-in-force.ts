import path from "node:path";
import type { GateRequest } from "../config/gate-request.ts";
import { parseConfig } from "../config/load.ts";
import type { ConfigChange } from "../config/policy-changes.ts";
import { GateError } from "../core/errors.ts";
import type { GateReport, ScenarioReport } from "../report/documents/model.ts";
import { policyDifference } from "../verdict/difference.ts";
import { DONE, type Judgement } from "../verdict/judgement.ts";
import { AcceptanceMatcher } from "./acceptance.ts";
import { readBaseConfig } from "./base-config.ts";
import type { GatePorts } from "./ports.ts";

/** By what a run is judged, and what of its own configuration a change has no say in. */
export interface PolicyInForce {
  readonly request: GateRequest;
  readonly warnings: readonly string[];
  /** What the report says of it; empty when the change leaves its gate alone. */
  readonly told: Pick<GateReport, "policy_changes" | "policy_difference" | "policy_accepted">;
  readonly removed: readonly string[];
  readonly redefined: ReadonlySet<string>;
}

function asItIs(request: GateRequest, warnings: readonly string[] = []): PolicyInForce {
  return { request, warnings, told: {}, removed: [], redefined: new Set() };
}

function names(changes: readonly ConfigChange[]): string {
  const shown = changes.slice(0, 5).map(({ path: place }) => place);
  return `${shown.join(", ")}${changes.length > shown.length ? ` and ${changes.length - shown.length} more` : ""}`;
}

/**
 * On a pull request budgets, horizon, repeats, baseline and policy are those of the commit it branched off: a change cannot loosen
 * its own gate. What it changes is told, and in force once somebody with write permission accepted exactly that. Where the base
 * commit's file cannot be had or read, the change's own counts, with one warning.
 */
export async function policyInForce(request: GateRequest, ports: GatePorts): Promise<PolicyInForce> {
  const { source } = request;
  if (source === undefined) return asItIs(request);
  const file = path.basename(source.file);
  const base = await readBaseConfig(source.file, request.env, ports);
  switch (base.kind) {
    case "not-asked":
      return asItIs(request);
    case "new":
      return asItIs(request, [
        `${file} is new: the base commit has none, so this change is judged by its own settings this once`,
      ]);
    case "unknown":
      return asItIs(request, [
        `${file} of the base commit cannot be read (${base.why}), so this change is judged by its own settings; check out with fetch-depth: 0`,
      ]);
    case "found":
      break;
    default:
      return base satisfies never;
  }
  const where = `${file} of the base commit ${base.commit.slice(0, 12)}`;
  let under: ReturnType<typeof source.under>;
  try {
    under = source.under(parseConfig(base.text, where));
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    return asItIs(request, [`${error.message}, so this change is judged by its own settings`]);
  }
  const { changes, removed, redefined, notes } = under.differs;
  const judged: GateRequest = { ...request, ...under.judgedBy };
  if (changes.length === 0) return { ...asItIs(judged), warnings: notes };
  const found = policyDifference(changes);
  const acceptances = new AcceptanceMatcher(ports.acceptances);
  const accepted = await acceptances.find("policy", found);
  const told = { policy_changes: changes, policy_difference: found.token };
  if (accepted !== null) {
    ports.log(`settings of the gate that this change alters are in force, as somebody accepted: ${names(changes)}`);
    return { ...asItIs(request, await acceptances.notes()), told: { ...told, policy_accepted: accepted } };
  }
  ports.log(`settings of the gate that this change alters are not in force: ${names(changes)}`);
  return {
    request: judged,
    warnings: [...notes, ...(await acceptances.notes())],
    told,
    removed,
    redefined: new Set(redefined),
  };
}

/** A scenario that measures something else than its base commit says has nothing to vouch for it; a fail stays one. */
export function withoutUnverifiablePass(report: ScenarioReport, { redefined }: PolicyInForce): ScenarioReport {
  if (!redefined.has(report.scenario) || report.judgement === null) return report;
  if (report.word !== "pass" && report.word !== "warn") return report;
  const reason = "this change alters what the scenario runs: nothing measured before can be compared with it";
  const timeline = report.timeline === null ? null : { ...report.timeline, verdict: "unjudged" as const };
  return { ...report, word: "unjudged", timeline, judgement: { ...report.judgement, verdict: "unjudged", reason } };
}

/** What there is to say of a scenario that the change no longer measures. */
export function removedScenario(scenario: string): ScenarioReport {
  const judgement: Judgement = {
    verdict: "unjudged",
    next: DONE,
    confirmed: false,
    checks: [],
    fingerprint: [],
    reason: "this change removes the scenario from the configuration, so nothing of it was measured",
  };
  return {
    kind: "missing",
    scenario,
    word: "unjudged",
    judgement,
    error: null,
    runs: [],
    baseline: null,
    fingerprint: {},
    findings: [],
    timeline: null,
  };
}
