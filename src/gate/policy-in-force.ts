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
import { unmeasured } from "./scenario-report.ts";

/** The policy a run is judged by, and the parts of the configuration that a change cannot set. */
interface PolicyInForce {
  readonly request: GateRequest;
  readonly warnings: readonly string[];
  /** Fields of the report; empty when the change does not touch the settings of its gate. */
  readonly reported: Pick<GateReport, "policy_changes" | "policy_difference" | "policy_accepted">;
  readonly removed: readonly string[];
  readonly redefined: ReadonlySet<string>;
}

function asItIs(request: GateRequest, warnings: readonly string[] = []): PolicyInForce {
  return { request, warnings, reported: {}, removed: [], redefined: new Set() };
}

function names(changes: readonly ConfigChange[]): string {
  const shown = changes.slice(0, 5).map(({ path: field }) => field);
  return `${shown.join(", ")}${changes.length > shown.length ? ` and ${changes.length - shown.length} more` : ""}`;
}

/**
 * On a pull request budgets, horizon, repeats, baseline and policy are those of the commit it branched off: a change
 * cannot loosen its own gate. Its changes are reported, and in force once a person with write permission accepted
 * exactly these. Where the base commit's file cannot be read, that of the change is used, with one warning.
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
        `${file} is new: the base commit has none, so this change is judged by its own settings`,
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
  const reported = { policy_changes: changes, policy_difference: found.token };
  if (accepted !== null) {
    ports.log(`the changed settings of the gate were accepted and are in force: ${names(changes)}`);
    return { ...asItIs(request, await acceptances.notes()), reported: { ...reported, policy_accepted: accepted } };
  }
  ports.log(`the changed settings of the gate are not in force: ${names(changes)}`);
  return {
    request: judged,
    warnings: [...notes, ...(await acceptances.notes())],
    reported,
    removed,
    redefined: new Set(redefined),
  };
}

/** A scenario defined differently in the base commit cannot be verified, so it cannot pass; a fail stays a fail. */
export function withoutUnverifiablePass(report: ScenarioReport, { redefined }: PolicyInForce): ScenarioReport {
  if (!redefined.has(report.scenario) || report.judgement === null) return report;
  if (report.word !== "pass" && report.word !== "warn") return report;
  const reason = "this change alters what the scenario runs, so earlier measurements cannot be compared with it";
  const timeline = report.timeline === null ? null : { ...report.timeline, verdict: "unjudged" as const };
  return { ...report, word: "unjudged", timeline, judgement: { ...report.judgement, verdict: "unjudged", reason } };
}

/** The report of a scenario that the change removes. */
export function removedScenario(scenario: string): ScenarioReport {
  const judgement: Judgement = {
    verdict: "unjudged",
    next: DONE,
    confirmed: false,
    checks: [],
    fingerprint: [],
    reason: "this change removes the scenario from the configuration, so it was not measured",
  };
  return unmeasured(scenario, { word: "unjudged", judgement, error: null });
}
