import type { Judgement } from "../../verdict/model/judgement.ts";
import type { ScenarioReport } from "../model/gate-report.ts";

export interface NextStep {
  /** Label of at most ten letters. */
  readonly name: string;
  readonly text: string;
  /** A command to copy; never outside text. */
  readonly command?: string;
}

/** Where the steps are read: at a terminal, or in a pull request, where a comment can accept a difference. */
export type Reader = "terminal" | "pull-request";

/** Commands for the default bundle and baseline. */
export const ACCEPT = "stormlog-gate baseline accept";
export const REFRESH = "stormlog-gate baseline refresh";
/** Complete only at the terminal that started the gate: nothing else knows the command. */
export const RUN = "stormlog-gate run";

/** Accepts a scenario's runs, complete: with the bundle, the store and the configuration of this invocation. */
export type AcceptCommand = (scenario: ScenarioReport) => string;

/** What to do next about a scenario, most useful first. */
export function nextSteps(scenario: ScenarioReport, reader: Reader = "terminal"): NextStep[] {
  const { judgement, error } = scenario;
  switch (scenario.verdict) {
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
      return judgement === null && error?.hint ? [{ name: "Hint", text: error.hint }] : unjudgedSteps(scenario, reader);
    }
    case "error":
      return error?.hint ? [{ name: "Hint", text: error.hint }] : [];
  }
}

function warnedSteps({ accepted, known_leaks: known }: ScenarioReport): NextStep[] {
  if (accepted !== undefined) {
    return [{ name: "Then", text: "The next refresh after the merge makes the new level the baseline." }];
  }
  const last = known?.map(({ until }) => until).sort()[0];
  return last === undefined
    ? []
    : [{ name: "Then", text: `Without a release that does not leak, this fails after ${last}.` }];
}

function failedSteps(scenario: ScenarioReport, reader: Reader): NextStep[] {
  const failed = scenario.judgement?.checks.filter(({ verdict }) => verdict === "fail") ?? [];
  const steps: NextStep[] = [];
  // An out-of-memory error breaches the capacity of the machine, which no setting can raise.
  if (failed.some(({ limit, aspect }) => limit === "budget" && aspect !== "oom")) {
    steps.push({ name: "Budget", text: "If the program needs this much memory, raise its budget." });
  }
  const comment = reader === "pull-request" ? acceptComment(scenario) : null;
  if (comment !== null) {
    steps.push({ name: "Intended", text: "someone with write permission comments", command: comment });
  } else if (failed.some(({ limit }) => limit !== "budget")) {
    const what = nameInLeg(scenario) === null ? "it" : "the bundle of this leg, not the merged one,";
    steps.push({ name: "Intended", text: `accept ${what} as the new baseline:`, command: ACCEPT });
  }
  return steps;
}

function unjudgedSteps(scenario: ScenarioReport, reader: Reader): NextStep[] {
  const { judgement } = scenario;
  const inPullRequest = reader === "pull-request";
  if (judgement !== null && judgement.next.kind !== "done") {
    const text = "A verdict needs more runs: raise max-runs or max-minutes, and run ";
    return [
      inPullRequest
        ? { name: "Next", text: `${text}the job again.` }
        : { name: "Next", text: `${text}the gate again.`, command: RUN },
    ];
  }
  const { phases, counter, baseline } = judgement === null ? NOTHING_JUDGED : openQuestions(judgement);
  return [
    ...(phases.length === 0 ? [] : [phaseStep(phases, scenario)]),
    ...(counter ? [COUNTER_STEP] : []),
    ...(baseline ? [baselineStep(scenario, reader)] : []),
  ];
}

/** What keeps a judgement open, by what can be done about it. */
interface OpenQuestions {
  /** Phases of the policy that no run has. */
  readonly phases: readonly string[];
  /** Whether a metric that the policy names was not measured. */
  readonly counter: boolean;
  /** Whether there is too little to compare with. */
  readonly baseline: boolean;
}

const NOTHING_JUDGED: OpenQuestions = { phases: [], counter: false, baseline: true };

function openQuestions({ checks }: Judgement): OpenQuestions {
  const gating = checks.filter((check) => check.gating);
  if (gating.length === 0) return { phases: [], counter: checks.length > 0, baseline: checks.length === 0 };
  const open = gating.filter(({ verdict }) => verdict === "unjudged");
  // A check of what does not exist is of no device: a missing phase, a missing rank, a budget for a missing counter.
  const compared = open.filter(({ limit, device }) => limit === "baseline" && device !== "*");
  const missing = open.filter(({ limit, device }) => limit === "baseline" && device === "*");
  return {
    phases: missing.flatMap(({ phase }) => phase ?? []),
    counter: open.some(({ limit, candidate_bytes: bytes }) => limit === "budget" && bytes === null),
    baseline: compared.length > 0,
  };
}

const COUNTER_STEP: NextStep = {
  name: "Next",
  text: "`stormlog-gate doctor` lists the counters of the measuring machine, and why it lacks the others.",
};

/** Maximum number of listed phases. */
const MAX_PHASES = 4;

function phaseStep(missing: readonly string[], { runs }: ScenarioReport): NextStep {
  const quoted = (names: readonly string[]) => names.map((name) => `"${name}"`).join(", ");
  const known = [...new Set(runs.flatMap(({ phases }) => phases?.phases.map(({ name }) => name) ?? []))];
  const more = known.length > MAX_PHASES ? `, and ${known.length - MAX_PHASES} more` : "";
  const named =
    known.length === 0
      ? "The program does not name any phase."
      : `The program names ${quoted(known.slice(0, MAX_PHASES))}${more}.`;
  return { name: "Next", text: `Check ${quoted(missing.slice(0, MAX_PHASES))} in policy.gating-phases. ${named}` };
}

function baselineStep({ judgement, runs }: ScenarioReport, reader: Reader): NextStep {
  const inPullRequest = reader === "pull-request";
  const ranks = new Set(runs.map(({ info }) => info.identity.rank));
  if (ranks.size > 1) {
    // No command measures on several nodes.
    return {
      name: "Make one",
      text: "Merge five runs of the job on the base branch, and accept the bundles with `stormlog-gate baseline accept`.",
    };
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

/** The name that a scenario has in the bundle of its leg, where a merge put the leg before it; else null. */
export function nameInLeg({ scenario, runs }: ScenarioReport): string | null {
  const name = runs[0]?.info.scenario;
  return name !== undefined && name !== scenario && scenario.replace(/ \(\d+\)$/, "").endsWith(`/${name}`)
    ? name
    : null;
}

/** The comment that accepts a scenario's difference, whose token may be outside text; null without a valid one. */
function acceptComment({ difference }: ScenarioReport): string | null {
  return isToken(difference) && difference.length <= 80 ? `/stormlog accept ${difference} <reason>` : null;
}

/** Whether outside text has the form of the token that accepts a difference. */
export function isToken(text: string | undefined): text is string {
  return text !== undefined && /^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$/.test(text);
}
