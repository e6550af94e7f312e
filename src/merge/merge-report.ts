import type { UnjudgedMode } from "../config/gate-request.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { groupBy } from "../core/group-by.ts";
import { packageVersion } from "../core/package-root.ts";
import { compareNames } from "../core/text.ts";
import { exitCodeOf, failsByBudgetOrOom, overallVerdict, reportVerdict, scalingVerdicts } from "../gate/exit-code.ts";
import { randomId } from "../measure/session/session.ts";
import {
  byUrgency,
  type GateReport,
  missingScenario,
  type ScenarioReport,
  type Verdict,
} from "../report/model/gate-report.ts";
import type { Scaling } from "../report/model/report-schema.ts";
import type { Judgement } from "../verdict/model/judgement.ts";
import { type AbsentLeg, joinedName } from "./merge-legs.ts";
import { groupNodes, type LegScenario, missingRanks, unitedScenario } from "./merge-nodes.ts";

/**
 * Exit status of a merged verdict: the worst; `others` (interrupted, missing legs) apply under every `unjudged`.
 * @param verdicts on several scenarios together
 */
function mergedExitCode(
  scenarios: readonly ScenarioReport[],
  others: readonly number[],
  unjudged: UnjudgedMode,
  verdicts: readonly Verdict[] = [],
): ExitCode {
  // The first of these that applies, in the order of the contract.
  const first = [ExitCode.interrupted, ExitCode.usage, ExitCode.invalidInput].find((code) => others.includes(code));
  if (first !== undefined) return first;
  if (scenarios.some(failsByBudgetOrOom)) return ExitCode.gateFailed;
  // In a job where one node fails by its memory and another by its command, the command comes first.
  if (scenarios.some(({ verdict, error }) => error !== null && verdict !== "unjudged")) return ExitCode.error;
  const code = exitCodeOf(scenarios, unjudged, false, verdicts);
  return code === ExitCode.pass && others.includes(ExitCode.unjudged) ? ExitCode.unjudged : code;
}

/** A leg with a report. */
export interface ReportedLeg {
  readonly name: string;
  readonly report: GateReport;
}

/** A leg without a usable report; never a pass, under any `unjudged` setting. */
export interface MissingLeg {
  readonly name: string;
  readonly verdict: "error" | "unjudged";
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  /** Exit status of this leg alone: 5 for invalid input, 6 for a missing leg. */
  readonly exitCode: number;
}

const LEG_MISSING = "LEG_MISSING";

/** An expected leg that did not report. */
export function missingLeg({ name, message }: AbsentLeg, hint: string): MissingLeg {
  return { name, verdict: "unjudged", code: LEG_MISSING, message, hint, exitCode: ExitCode.unjudged };
}

/** A leg that is not merged because its input is invalid. */
export function refusedLeg(name: string, code: string, message: string, hint: string): MissingLeg {
  return { name, verdict: "error", code, message, hint, exitCode: ExitCode.invalidInput };
}

/** The missing and refused legs of an earlier merge, by its report. Commits are compared again. */
export function carriedLegs({ scenarios, exit_code }: GateReport): readonly MissingLeg[] {
  return scenarios.flatMap(({ kind, scenario: name, verdict, error }): MissingLeg[] => {
    if (kind !== "missing" || error === null || (name === COMMITS && error.code === COMMITS_DIFFER)) return [];
    if (verdict === "error") return [{ name, verdict, ...error, exitCode: exit_code }];
    if (verdict !== "unjudged" || error.code !== LEG_MISSING) return [];
    return [{ name, verdict, ...error, exitCode: ExitCode.unjudged }];
  });
}

/** One scenario of the merged report: that of one leg, or of the nodes of one job. */
export interface Job {
  readonly name: string;
  readonly nodes: readonly LegScenario[];
}

/** The scenarios of the merged report, ordered by name and leg; `group` divides those of one name into jobs. */
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
    return jobs.map((nodes) => ({
      name: unique(jobs.length === 1 ? name : `${joinedName(nodes.map(({ leg }) => leg))}/${name}`),
      nodes,
    }));
  });
}

/** A job's scenario: that of its only leg, or united; `judgement` is over all ranks, where the job was judged again. */
export function scenarioOfJob({ name, nodes }: Job, judgement?: Judgement): ScenarioReport {
  const [only] = nodes;
  const alone = nodes.length === 1 && judgement === undefined && missingRanks(nodes) === null;
  const scenario = alone && only !== undefined ? only.scenario : unitedScenario(nodes, judgement);
  const { timeline } = scenario;
  return { ...scenario, scenario: name, timeline: timeline === null ? null : { ...timeline, scenario: name } };
}

function scenarioOf({ name, verdict, code, message, hint }: Omit<MissingLeg, "exitCode">): ScenarioReport {
  return missingScenario(name, verdict, { code, message, hint });
}

/** A leg's verdict that its scenarios do not explain: it was interrupted, or ended before its first scenario. */
function unexplained({ name, report }: ReportedLeg): readonly ScenarioReport[] {
  const own = reportVerdict(report);
  if (report.scenarios.length > 0 && overallVerdict([own, report.verdict]) === own) return [];
  const interrupted = report.exit_code === ExitCode.interrupted;
  return [
    scenarioOf({
      name,
      verdict: "error",
      code: interrupted ? "INTERRUPTED" : "LEG_INCOMPLETE",
      message: interrupted
        ? "this leg was interrupted"
        : `this leg reports ${report.verdict}, but none of its scenarios does`,
      hint: "Its bundle contains what it measured.",
    }),
  ];
}

const COMMITS = "commits";
const COMMITS_DIFFER = "COMMITS_DIFFER";

/** Bundles of different commits are not merged: one of an earlier push could replace a failed leg. */
function mixedCommits(commits: readonly string[]): readonly MissingLeg[] {
  if (commits.length < 2) return [];
  const shown = commits.slice(0, 4).map((commit) => commit.slice(0, 12));
  const message = `the bundles are from ${commits.length} different commits: ${shown.join(", ")}`;
  return [refusedLeg(COMMITS, COMMITS_DIFFER, message, "Merge only bundles of one commit.")];
}

/** The policy changes of all legs. Legs that read different configurations cannot be accepted by one token. */
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

/** The scaling of all legs. One that several legs have is named after its leg, as are their scenarios. */
function scalingOfLegs(legs: readonly ReportedLeg[]): Pick<GateReport, "scaling"> {
  const all = legs.flatMap(({ name, report }) => (report.scaling ?? []).map((scaling) => ({ leg: name, scaling })));
  if (all.length === 0) return {};
  const keyOf = ({ scenario, name }: Scaling) => JSON.stringify([scenario, name]);
  const shared = groupBy(all, ({ scaling }) => keyOf(scaling));
  const scaling = all.map(({ leg, scaling: one }) =>
    shared.get(keyOf(one))?.length === 1 ? one : { ...one, scenario: `${leg}/${one.scenario}` },
  );
  return { scaling };
}

interface MergedReportInput {
  readonly legs: readonly ReportedLeg[];
  readonly missing: readonly MissingLeg[];
  /** Missing legs that are scenarios of the legs. */
  readonly carried?: readonly MissingLeg[];
  /** One for each job. */
  readonly scenarios: readonly ScenarioReport[];
  /** Notices of the merge itself. */
  readonly warnings: readonly string[];
  readonly unjudged: UnjudgedMode;
  readonly argv: readonly string[];
  readonly now: Date;
}

/** One report of all legs: the worst verdict counts, and every missing leg is a scenario with an error. */
export function mergedReport(input: MergedReportInput): GateReport {
  const { unjudged } = input;
  const legs = [...input.legs].sort((a, b) => compareNames(a.name, b.name));
  const commits = [...new Set(legs.flatMap(({ report }) => report.commit ?? []))].sort();
  const missing = [...input.missing, ...mixedCommits(commits)];
  const scenarios = [...input.scenarios, ...legs.flatMap(unexplained), ...missing.map(scenarioOf)];
  const failing = scenarios.filter(({ verdict }) => verdict === "fail");
  const prefix = (name: string) => (legs.length > 1 ? `${name}: ` : "");
  const policy = policyOf(legs);
  const scaling = scalingOfLegs(legs);
  const sessions = [...new Set(legs.map(({ report }) => report.session))];
  const ended = legs.map(({ report }) => report.exit_code).filter((code) => code === ExitCode.interrupted);
  const others = [...ended, ...[...missing, ...(input.carried ?? [])].map(({ exitCode }) => exitCode)];
  return {
    tool: { name: "stormlog-gate", version: packageVersion(), argv: input.argv },
    generated_at_utc: input.now.toISOString(),
    verdict: reportVerdict({ ...policy, ...scaling, scenarios }),
    exit_code: mergedExitCode(
      scenarios,
      others.filter((code) => code !== ExitCode.error),
      unjudged,
      scalingVerdicts(scaling.scaling),
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
    ...scaling,
  };
}

/** A stored series has at most this many points. */
const STORED_POINTS = 800;

/**
 * The scenarios, the least urgent without timelines where all have more than `most` points, so that the report of
 * hundreds of legs can be read back. The run directories still contain the samples.
 */
export function withBoundedTimelines(
  scenarios: readonly ScenarioReport[],
  // Points of all stored timelines together: about 20 MB of JSON, a third of the size limit of a report.
  most: number = 1_000_000,
): readonly ScenarioReport[] {
  let left = most;
  const kept = new Set<ScenarioReport>();
  for (const scenario of byUrgency(scenarios)) {
    const points = (scenario.timeline?.series ?? []).reduce(
      (sum, { time_s, steps }) => sum + (steps === undefined ? 2 : 3) * Math.min(time_s.length, STORED_POINTS),
      0,
    );
    if (points > left) continue;
    left -= points;
    kept.add(scenario);
  }
  return scenarios.map((scenario) => (kept.has(scenario) ? scenario : { ...scenario, timeline: null }));
}
