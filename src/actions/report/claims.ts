import { overallVerdict, reportVerdict } from "../../gate/exit-code.ts";
import type { GateReport, ScenarioReport, Verdict } from "../../report/documents/model.ts";
import type { Section } from "../../report/documents/section.ts";
import type { Acceptance } from "../../verdict/acceptance.ts";
import { covers, differenceOf, policyDifference } from "../../verdict/difference.ts";

/**
 * A section is a claim of the run that left it. Here it is held against itself and against what people said on GitHub, before
 * anything is rendered: it may be worse than its parts, never better.
 */

/** What claims are held against. */
export interface Ground {
  /** What people with write permission have accepted of the pull request, read just now; null where that could not be read. */
  readonly live: readonly Acceptance[] | null;
  /** Commit the run measured, as GitHub recorded it. */
  readonly headSha: string | null;
  /** Whether the run's workflow was under the control of somebody who may not write here. */
  readonly stranger: boolean;
}

/** The worst that the parts of a scenario say. */
function floorOf(scenario: ScenarioReport): Verdict {
  if (scenario.error !== null) return "error";
  if (scenario.judgement === null) return "unjudged";
  const gating = scenario.judgement.checks.filter((check) => check.gating).map(({ verdict }) => verdict);
  return overallVerdict([scenario.judgement.verdict, ...gating]);
}

/** The token of what failed, made from the checks themselves: nobody shall accept one thing and be shown another. */
function tokenOf({ scenario, fingerprint, judgement }: ScenarioReport): string | null {
  return judgement === null ? null : (differenceOf(scenario, fingerprint, judgement)?.token ?? null);
}

function heldScenario(scenario: ScenarioReport, { live, headSha, stranger }: Ground): ScenarioReport {
  const { accepted, difference, ...rest } = scenario;
  const floor = floorOf(scenario);
  const token = stranger ? tokenOf(scenario) : (difference ?? null);
  const named: ScenarioReport = token === null ? rest : { ...rest, difference: token };
  if (accepted !== undefined && floor === "fail") {
    // Where nobody can be asked, a run of this repository is taken at its word, and a stranger's is not.
    const by =
      live === null
        ? stranger
          ? undefined
          : accepted
        : live.find((one) => token !== null && covers(one, { token }, headSha));
    if (by !== undefined) return { ...named, accepted: by, word: overallVerdict([scenario.word, "warn"]) };
  }
  return { ...named, word: overallVerdict([scenario.word, floor]) };
}

/** Changes of the gate's own settings, with the acceptance of exactly these, if there is one. */
function heldPolicy(
  { policy_changes, policy_accepted, policy_difference }: GateReport,
  { live, stranger }: Ground,
): Pick<GateReport, "policy_changes" | "policy_difference" | "policy_accepted"> {
  if (policy_changes === undefined || policy_changes.length === 0) return {};
  const found =
    stranger || policy_difference === undefined ? policyDifference(policy_changes) : { token: policy_difference };
  const asked = live === null ? (stranger ? undefined : policy_accepted) : live.find((one) => covers(one, found));
  const by = policy_accepted === undefined ? undefined : asked;
  return { policy_changes, policy_difference: found.token, ...(by === undefined ? {} : { policy_accepted: by }) };
}

export interface HeldClaims {
  readonly sections: readonly Section[];
  /** Differences that a section calls accepted and nobody with the right to has accepted. */
  readonly unaccepted: number;
  /** Sections that called themselves better than their own checks. */
  readonly embellished: number;
}

/** Whether anything in these sections needs {@link Ground.live}: asking costs a request for every person who said something. */
export function callsItselfAccepted(sections: readonly Section[]): boolean {
  return sections.some(
    ({ report }) =>
      report.policy_accepted !== undefined || report.scenarios.some(({ accepted }) => accepted !== undefined),
  );
}

/** Sections as far as they can be believed. Of a stranger's no page is linked that would open and run in the reader's browser. */
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
    const word = overallVerdict([report.word, reportVerdict({ ...policy, scenarios })]);
    if (word !== report.word) embellished += 1;
    // No scenario at all is no pass either.
    const checked: GateReport = {
      ...rest,
      ...policy,
      word: scenarios.length === 0 ? overallVerdict([word, "unjudged"]) : word,
      scenarios,
    };
    return { ...section, report: checked, timelineArtifact: ground.stranger ? null : section.timelineArtifact };
  });
  return { sections: held, unaccepted, embellished };
}
