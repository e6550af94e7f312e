import type { UnjudgedMode } from "../config/gate-request.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { groupBy } from "../core/group-by.ts";
import { packageVersion } from "../core/package-root.ts";
import { overallVerdict, reportVerdict } from "../gate/exit-code.ts";
import { randomId } from "../measure/session/session.ts";
import type { GateReport, ScenarioError, ScenarioReport } from "../report/documents/model.ts";
import { withBoundedTimelines } from "../report/timeline/merged-timelines.ts";
import type { Judgement } from "../verdict/judgement.ts";
import { mergedExitCode } from "./merge-exit.ts";
import { compareNames } from "./merge-legs.ts";
import { groupNodes, type LegScenario, missingRanks, unitedScenario } from "./merge-nodes.ts";

/** A leg that said something. */
export interface ReportedLeg {
  readonly name: string;
  readonly report: GateReport;
}

/** A leg that said nothing that can be used; it is never a pass, whatever is done with what is unjudged. */
export interface MissingLeg {
  readonly name: string;
  readonly word: "error" | "unjudged";
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  /** Exit status that this alone would have: 5 for input that is invalid, 6 for what is missing. */
  readonly exitCode: number;
}

/** One scenario of the merged verdict: that of one leg, or of the nodes of one job. */
export interface Job {
  readonly name: string;
  readonly nodes: readonly LegScenario[];
}

/** More legs than this are not spelt out in a name. */
const MAX_NAMED = 3;

function legText(nodes: readonly LegScenario[]): string {
  const legs = nodes.map(({ leg }) => leg);
  return legs.length > MAX_NAMED ? `${legs[0]}+${legs.length - 1}` : legs.join("+");
}

/**
 * What is judged: scenarios by name and leg, nodes of one job together, in an order that depends on their names alone.
 * @param group how scenarios of one name belong together
 */
export function planJobs(
  legs: readonly ReportedLeg[],
  group: (entries: readonly LegScenario[]) => readonly (readonly LegScenario[])[] = groupNodes,
): readonly Job[] {
  const entries = [...legs]
    .sort((a, b) => compareNames(a.name, b.name))
    .flatMap(({ name, report }) =>
      report.scenarios.map((scenario): LegScenario => ({ leg: name, scenario, session: report.session })),
    );
  const taken = new Set<string>();
  const unique = (name: string): string => {
    let free = name;
    for (let number = 2; taken.has(free); number += 1) free = `${name} (${number})`;
    taken.add(free);
    return free;
  };
  const named = [...groupBy(entries, ({ scenario }) => scenario.scenario)].sort(([a], [b]) => compareNames(a, b));
  return named.flatMap(([name, own]) => {
    const jobs = group(own);
    return jobs.map((nodes) => ({ name: unique(jobs.length === 1 ? name : `${legText(nodes)}/${name}`), nodes }));
  });
}

/** A job's scenario: as its only leg said it, or united. @param judgement over all ranks, where it was judged anew */
export function scenarioOfJob({ name, nodes }: Job, judgement?: Judgement): ScenarioReport {
  const [only] = nodes;
  const alone = nodes.length === 1 && judgement === undefined && missingRanks(nodes) === null;
  const scenario = alone && only !== undefined ? only.scenario : unitedScenario(nodes, judgement);
  const { timeline } = scenario;
  return { ...scenario, scenario: name, timeline: timeline === null ? null : { ...timeline, scenario: name } };
}

function silentScenario(name: string, word: MissingLeg["word"], error: ScenarioError): ScenarioReport {
  return {
    kind: "missing",
    scenario: name,
    word,
    judgement: null,
    error,
    runs: [],
    baseline: null,
    fingerprint: {},
    findings: [],
    timeline: null,
  };
}

/** What a leg says as a whole beyond its scenarios: it was interrupted, or ended before it came to one. */
function unexplained({ name, report }: ReportedLeg): readonly ScenarioReport[] {
  const own = reportVerdict(report);
  if (report.scenarios.length > 0 && overallVerdict([own, report.word]) === own) return [];
  const interrupted = report.exit_code === ExitCode.interrupted;
  return [
    silentScenario(name, "error", {
      code: interrupted ? "INTERRUPTED" : "LEG_INCOMPLETE",
      message: interrupted
        ? "this leg was interrupted"
        : `this leg says ${report.word}, and none of its scenarios does`,
      hint: "What it measured until then is in its own bundle.",
    }),
  ];
}

function commitsOf(legs: readonly ReportedLeg[]): readonly string[] {
  return [...new Set(legs.flatMap(({ report }) => report.commit ?? []))].sort();
}

/** Bundles of different commits answer different questions; one of an earlier push could stand for a leg that failed. */
function mixedCommits(commits: readonly string[]): readonly MissingLeg[] {
  if (commits.length < 2) return [];
  const shown = commits.slice(0, 4).map((commit) => commit.slice(0, 12));
  return [
    {
      name: "commits",
      word: "error",
      code: "COMMITS_DIFFER",
      message: `the bundles are of ${commits.length} different commits: ${shown.join(", ")}`,
      hint: "Merge bundles of one commit; leave out those of an earlier one.",
      exitCode: ExitCode.invalidInput,
    },
  ];
}

/** Legs of one gate read one configuration; where they do not, no single token can accept all of it. */
function policyOf(
  legs: readonly ReportedLeg[],
): Pick<GateReport, "policy_changes" | "policy_difference" | "policy_accepted"> {
  const reports = legs.map(({ report }) => report).filter(({ policy_changes }) => (policy_changes?.length ?? 0) > 0);
  const all = reports.flatMap(({ policy_changes }) => policy_changes ?? []);
  if (all.length === 0) return {};
  const tokens = [...new Set(reports.map(({ policy_difference }) => policy_difference))];
  const accepted = reports.map(({ policy_accepted }) => policy_accepted);
  return {
    policy_changes: [...new Map(all.map((one) => [JSON.stringify(one), one])).values()],
    ...(tokens.length === 1 && tokens[0] !== undefined ? { policy_difference: tokens[0] } : {}),
    ...(accepted[0] !== undefined && !accepted.includes(undefined) ? { policy_accepted: accepted[0] } : {}),
  };
}

export interface MergedReportInput {
  readonly legs: readonly ReportedLeg[];
  readonly silent: readonly MissingLeg[];
  /** One for each job. */
  readonly scenarios: readonly ScenarioReport[];
  /** Notices of the merge itself. */
  readonly warnings: readonly string[];
  readonly unjudged: UnjudgedMode;
  readonly argv: readonly string[];
  readonly now: Date;
}

/** One report of many: the worst counts, and whatever is missing is in it as an error of its own. */
export function mergedReport(input: MergedReportInput): GateReport {
  const { unjudged } = input;
  const legs = [...input.legs].sort((a, b) => compareNames(a.name, b.name));
  const commits = commitsOf(legs);
  const silent = [...input.silent, ...mixedCommits(commits)];
  const scenarios = [
    ...input.scenarios,
    ...legs.flatMap(unexplained),
    ...silent.map(({ name, word, code, message, hint }) => silentScenario(name, word, { code, message, hint })),
  ];
  const failing = scenarios.filter(({ word }) => word === "fail");
  const prefix = (name: string) => (legs.length > 1 ? `${name}: ` : "");
  const policy = policyOf(legs);
  const sessions = [...new Set(legs.map(({ report }) => report.session))];
  const ended = legs.map(({ report }) => report.exit_code).filter((code) => code === ExitCode.interrupted);
  const others = [...ended, ...silent.map(({ exitCode }) => exitCode)];
  return {
    tool: { name: "stormlog-gate", version: packageVersion(), argv: input.argv },
    generated_at_utc: input.now.toISOString(),
    word: reportVerdict({ ...policy, scenarios }),
    exit_code: mergedExitCode(
      scenarios,
      others.filter((code) => code !== ExitCode.error),
      unjudged,
    ),
    confirmed: failing.length > 0 && failing.every(({ judgement }) => judgement?.confirmed === true),
    session: sessions.length === 1 ? (sessions[0] ?? randomId()) : `merged-${randomId()}`,
    commit: commits.length === 1 ? (commits[0] ?? null) : null,
    scenarios: withBoundedTimelines(scenarios),
    cost: {
      runs: legs.reduce((sum, { report }) => sum + report.cost.runs, 0),
      minutes: legs.reduce((sum, { report }) => sum + report.cost.minutes, 0),
    },
    warnings: [
      ...new Set([
        ...input.warnings,
        ...legs.flatMap(({ name, report }) => report.warnings.map((warning) => `${prefix(name)}${warning}`)),
      ]),
    ],
    ...policy,
  };
}
