import type { ScenarioReport } from "./documents/model.ts";

export interface Step {
  /** Label of at most ten letters. */
  readonly name: string;
  readonly text: string;
  /** A command to copy; never outside text. */
  readonly command?: string;
}

/** Where the steps are read: at a terminal, or in a pull request, where a comment can accept a difference. */
type Reader = "terminal" | "pull-request";

/** Commands for the default bundle and baseline. */
export const ACCEPT = "stormlog-gate baseline accept";
export const REFRESH = "stormlog-gate baseline refresh";
/** Complete only at the terminal that started the gate: nothing else knows the command. */
export const RUN = "stormlog-gate run";

/** Accepts a scenario's runs, complete: with the bundle, the store and the configuration of this invocation. */
export type AcceptCommand = (scenario: ScenarioReport) => string;

/** What to do next about a scenario, most useful first. */
export function nextSteps(scenario: ScenarioReport, reader: Reader = "terminal"): Step[] {
  const { judgement, error } = scenario;
  switch (scenario.word) {
    case "pass":
      return judgement?.checks.some((check) => check.improved)
        ? [
            {
              name: "Keep it",
              text: "To keep the lower level as the limit, accept it as the new baseline:",
              command: ACCEPT,
            },
          ]
        : [];
    case "warn":
      return warnedSteps(scenario);
    case "fail":
      return failedSteps(scenario, reader);
    case "unjudged": {
      const comment = scenario.caused_by === undefined ? null : acceptComment(scenario);
      if (comment !== null)
        return [
          { name: "Intended", text: "someone with write permission comments on the pull request", command: comment },
        ];
      // A leg that did not report has nothing to make a baseline of.
      return judgement === null && error?.hint
        ? [{ name: "Hint", text: error.hint }]
        : [unjudgedStep(scenario, reader)];
    }
    case "error":
      return error?.hint ? [{ name: "Hint", text: error.hint }] : [];
  }
}

function warnedSteps({ accepted, known_leaks: known }: ScenarioReport): Step[] {
  if (accepted !== undefined) {
    return [{ name: "Then", text: "The next refresh after the merge makes the new level the baseline." }];
  }
  const last = known?.map(({ until }) => until).sort()[0];
  return last === undefined
    ? []
    : [{ name: "Then", text: `Without a release that does not leak, this fails after ${last}.` }];
}

function failedSteps(scenario: ScenarioReport, reader: Reader): Step[] {
  const failed = scenario.judgement?.checks.filter(({ verdict }) => verdict === "fail") ?? [];
  const steps: Step[] = [];
  // An out-of-memory error breaches the capacity of the machine, which no setting can raise.
  if (failed.some(({ limit, aspect }) => limit === "budget" && aspect !== "oom")) {
    steps.push({ name: "Budget", text: "If the program needs this much memory, raise its budget." });
  }
  const comment = reader === "pull-request" ? acceptComment(scenario) : null;
  if (comment !== null) {
    steps.push({ name: "Intended", text: "someone with write permission comments", command: comment });
  } else if (failed.some(({ limit }) => limit !== "budget")) {
    steps.push({ name: "Intended", text: "accept it as the new baseline:", command: ACCEPT });
  }
  return steps;
}

function unjudgedStep({ judgement }: ScenarioReport, reader: Reader): Step {
  const inPullRequest = reader === "pull-request";
  if (judgement !== null && judgement.next.kind !== "done") {
    const text = "A verdict needs more runs: raise max-runs or max-minutes, and run ";
    return inPullRequest
      ? { name: "Next", text: `${text}the job again.` }
      : { name: "Next", text: `${text}the gate again.`, command: RUN };
  }
  const isForeign = judgement?.fingerprint.some(({ kind }) => kind === "identity") ?? false;
  const record = isForeign
    ? "The baseline was recorded in another environment. Record one in this environment"
    : "Record a baseline";
  const then = inPullRequest
    ? " on the base branch, then run this job again. To record it, start the workflow with refresh on that branch, or run"
    : ", then run the gate again:";
  return { name: "Make one", text: `${record}${then}`, command: REFRESH };
}

/** The comment that accepts a scenario's difference, whose token may be outside text; null without a valid one. */
function acceptComment({ difference }: ScenarioReport): string | null {
  return isToken(difference) && difference.length <= 80 ? `/stormlog accept ${difference} <reason>` : null;
}

/** Whether outside text has the form of the token that accepts a difference. */
export function isToken(text: string | undefined): text is string {
  return text !== undefined && /^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$/.test(text);
}
