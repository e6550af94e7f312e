import { overallVerdict, reportVerdict } from "../../gate/exit-code.ts";
import type { GateReport, ScenarioReport, Verdict } from "../../report/model/gate-report.ts";
import type { Section } from "../../report/model/section.ts";
import { covers, differenceOf, policyDifference } from "../../verdict/difference.ts";
import type { Acceptance } from "../../verdict/model/acceptance.ts";

/** Sections are checked against themselves and GitHub's acceptances: never better than their parts. */

/** What claims are checked against. */
export interface Ground {
  /** Acceptances of the pull request by accounts with write permission, read now; null where they could not be read. */
  readonly live: readonly Acceptance[] | null;
  /** Commit the run measured, as GitHub recorded it. */
  readonly headSha: string | null;
  /** Whether the run's workflow was controlled by someone without write permission. */
  readonly untrusted: boolean;
}

/** The worst verdict among the parts of a scenario. */
function floorOf(scenario: ScenarioReport): Verdict {
  if (scenario.error !== null) return "error";
  if (scenario.judgement === null) return "unjudged";
  const gating = scenario.judgement.checks.filter((check) => check.gating).map(({ verdict }) => verdict);
  return overallVerdict([scenario.judgement.verdict, ...gating]);
}

/** The token of what failed, made from the checks themselves: what is accepted is what is shown. */
function tokenOf({ scenario, fingerprint, judgement }: ScenarioReport): string | null {
  return judgement === null ? null : (differenceOf(scenario, fingerprint, judgement)?.token ?? null);
}

function heldScenario(scenario: ScenarioReport, { live, headSha, untrusted }: Ground): ScenarioReport {
  const { accepted, difference, known_leaks, ...rest } = scenario;
  const floor = floorOf(scenario);
  const token = untrusted ? tokenOf(scenario) : (difference ?? null);
  const named: ScenarioReport = token === null ? rest : { ...rest, difference: token };
  // Which leaks are known is in the configuration, which a fork's run could have read otherwise.
  if (known_leaks !== undefined && floor === "fail" && !untrusted) {
    return { ...named, known_leaks, verdict: overallVerdict([scenario.verdict, "warn"]) };
  }
  if (accepted !== undefined && floor === "fail") {
    // Where GitHub cannot be asked, a run of this repository is trusted and a fork's is not.
    const by =
      live === null
        ? untrusted
          ? undefined
          : accepted
        : live.find((one) => token !== null && covers(one, { token }, headSha));
    if (by !== undefined) return { ...named, accepted: by, verdict: overallVerdict([scenario.verdict, "warn"]) };
  }
  return { ...named, verdict: overallVerdict([scenario.verdict, floor]) };
}

/** Changes of the gate's own settings, with the acceptance of exactly these, if there is one. */
function heldPolicy(
  { policy_changes, policy_accepted, policy_difference }: GateReport,
  { live, untrusted }: Ground,
): Pick<GateReport, "policy_changes" | "policy_difference" | "policy_accepted"> {
  if (policy_changes === undefined || policy_changes.length === 0) return {};
  const found =
    untrusted || policy_difference === undefined ? policyDifference(policy_changes) : { token: policy_difference };
  const asked = live === null ? (untrusted ? undefined : policy_accepted) : live.find((one) => covers(one, found));
  const by = policy_accepted === undefined ? undefined : asked;
  return { policy_changes, policy_difference: found.token, ...(by === undefined ? {} : { policy_accepted: by }) };
}

export interface HeldClaims {
  readonly sections: readonly Section[];
  /** Differences that a section reports as accepted without an acceptance by someone with write permission. */
  readonly unaccepted: number;
  /** Sections that reported a better verdict than their own checks support. */
  readonly embellished: number;
}

/** Whether these sections need {@link Ground.live}, which costs a request for every author of an acceptance. */
export function callsItselfAccepted(sections: readonly Section[]): boolean {
  return sections.some(
    ({ report }) =>
      report.policy_accepted !== undefined || report.scenarios.some(({ accepted }) => accepted !== undefined),
  );
}

/** Sections as far as they can be trusted. An untrusted page is not linked: it would run in the reader's browser. */
export function holdClaims(sections: readonly Section[], ground: Ground): HeldClaims {
  let unaccepted = 0;
  let embellished = 0;
  const held = sections.map((section): Section => {
    const { report } = section;
    const scenarios = report.scenarios.map((scenario) => heldScenario(scenario, ground));
    for (const [at, { accepted }] of scenarios.entries()) {
      if (report.scenarios[at]?.accepted !== undefined && accepted === undefined) unaccepted += 1;
    }
    const { policy_changes: _changes, policy_difference: _difference, policy_accepted, ...rest } = report;
    const policy = heldPolicy(report, ground);
    if (policy_accepted !== undefined && policy.policy_accepted === undefined) unaccepted += 1;
    const verdict = overallVerdict([report.verdict, reportVerdict({ ...rest, ...policy, scenarios })]);
    if (verdict !== report.verdict) embellished += 1;
    // A section without a scenario is not a pass either.
    const checked: GateReport = {
      ...rest,
      ...policy,
      verdict: scenarios.length === 0 ? overallVerdict([verdict, "unjudged"]) : verdict,
      scenarios,
    };
    return { ...section, report: checked, timelineArtifact: ground.untrusted ? null : section.timelineArtifact };
  });
  return { sections: held, unaccepted, embellished };
}
