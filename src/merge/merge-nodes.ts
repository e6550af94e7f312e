import { compareSeverity, type SeriesAnalysis } from "../analysis/series/document.ts";
import { identityConflicts } from "../baseline/identity.ts";
import { overallVerdict } from "../gate/exit-code.ts";
import { decidingCheck } from "../report/headline/causes.ts";
import { type ScenarioReport, scenarioReport, type Verdict, verdictUrgency } from "../report/model/gate-report.ts";
import { combine } from "../verdict/model/combine.ts";
import type { Check, FingerprintDifference, Judgement } from "../verdict/model/judgement.ts";
import { checkOf } from "../verdict/rules/check.ts";
import { rangesText } from "./shard-findings.ts";

/** The run directory of a job's recordings within their leg; the merged bundle renumbers it. */
export const SHARD_RUN = "runs/recordings/1";

/** One scenario of one leg. */
export interface LegScenario {
  readonly leg: string;
  readonly scenario: ScenarioReport;
  /** Session of the leg's gate. */
  readonly session: string;
}

const keyOf = ({ rank, device, metric }: Pick<SeriesAnalysis, "rank" | "device" | "metric">): string =>
  JSON.stringify([rank, device, metric]);

/** The series of a scenario's candidate runs. */
function seriesKeys({ runs }: ScenarioReport): ReadonlySet<string> {
  const own = runs.filter(({ role }) => role === "candidate");
  return new Set(own.flatMap(({ analysis }) => analysis?.series.map(keyOf) ?? []));
}

function belongsTo(one: LegScenario, others: readonly LegScenario[]): boolean {
  const keys = seriesKeys(one.scenario);
  return others.every(
    (other) =>
      other.session === one.session &&
      identityConflicts(other.scenario.fingerprint, one.scenario.fingerprint).length === 0 &&
      [...seriesKeys(other.scenario)].every((key) => !keys.has(key)),
  );
}

/** Scenarios of one name as jobs: those of one session and environment that share no series are nodes of one job. */
export function groupNodes(entries: readonly LegScenario[]): readonly (readonly LegScenario[])[] {
  const jobs: LegScenario[][] = [];
  for (const entry of entries) {
    const job = jobs.find((others) => belongsTo(entry, others));
    if (job === undefined) jobs.push([entry]);
    else job.push(entry);
  }
  return jobs;
}

/** An unjudged check of the ranks without any measured memory; null when none is missing. */
export function missingRanks(nodes: readonly LegScenario[]): Check | null {
  const present = new Set<number>();
  let world = 1;
  let metric: Check["metric"] = "host";
  const merged = nodes.every(({ scenario }) => scenario.runs.every(({ directory }) => directory === SHARD_RUN));
  for (const { scenario } of nodes) {
    for (const { role, info, analysis } of scenario.runs) {
      if (role !== "candidate") continue;
      world = Math.max(world, info.identity.world_size, analysis?.ranks.world_size ?? 1);
      // The error of a node names it.
      if (scenario.error !== null) present.add(info.identity.rank);
      for (const series of analysis?.series ?? []) {
        present.add(series.rank);
        if (series.metric === "allocated") metric = "allocated";
      }
      for (const rank of analysis?.ranks.participating_ranks ?? []) present.add(rank);
    }
  }
  const missing: number[] = [];
  // Larger claims of a world size are not checked rank by rank.
  for (let rank = 0; rank < Math.min(world, 100_000); rank += 1) if (!present.has(rank)) missing.push(rank);
  // A job without any measurement has an error instead.
  if (missing.length === 0 || present.size === 0) return null;
  const noun = missing.length === 1 ? "rank" : "ranks";
  return checkOf(
    { rank: missing[0] ?? 0, device: "*", metric },
    {
      aspect: "peak",
      limit: "baseline",
      gating: true,
      verdict: "unjudged",
      reason: `${noun} ${rangesText(missing)} of ${world} ${missing.length === 1 ? "is" : "are"} missing from the ${merged ? "recordings" : "bundles"}`,
    },
  );
}

/** A check and the node it comes from. */
interface Owned {
  readonly check: Check;
  readonly node: LegScenario;
}

/** The checks of all nodes, each from the node that measured its series: to other nodes that rank is missing. */
function ownedChecks(nodes: readonly LegScenario[]): readonly Owned[] {
  const owners = new Map<string, LegScenario>();
  for (const node of nodes) for (const key of seriesKeys(node.scenario)) owners.set(key, node);
  const kept = new Map<string, Owned>();
  for (const node of nodes) {
    for (const check of node.scenario.judgement?.checks ?? []) {
      const owner = owners.get(keyOf(check));
      if (owner !== undefined && owner !== node) continue;
      const name = JSON.stringify([keyOf(check), check.aspect, check.limit]);
      const other = kept.get(name);
      if (other === undefined || verdictUrgency(check.verdict) < verdictUrgency(other.check.verdict))
        kept.set(name, { check, node });
    }
  }
  return [...kept.values()];
}

function differences(nodes: readonly LegScenario[]): readonly FingerprintDifference[] {
  const all = nodes.flatMap(({ scenario }) => scenario.judgement?.fingerprint ?? []);
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
}

/** The nodes' judgements combined, with the verdict of the worst rank; null when no node was judged. */
function unitedJudgement(nodes: readonly LegScenario[], missing: Check | null): Judgement | null {
  if (nodes.every(({ scenario }) => scenario.judgement === null)) return null;
  const checks = [...ownedChecks(nodes).map(({ check }) => check), ...(missing === null ? [] : [missing])];
  return combine(checks, differences(nodes));
}

/** The failed command of any node fails the job, whatever the other nodes measured. */
function unitedError(nodes: readonly LegScenario[], missing: Check | null): ScenarioReport["error"] {
  const failed = nodes.filter(({ scenario }) => scenario.error !== null);
  const [first] = failed;
  if (first === undefined || first.scenario.error === null) return null;
  const others = failed.length > 1 ? ` (and ${failed.length - 1} more)` : "";
  const { error } = first.scenario;
  const gone = missing === null ? "" : `; ${missing.reason}`;
  return { ...error, message: `${first.leg}: ${error.message}${others}${gone}` };
}

/** The verdicts that a job is made of; accepted differences count as warnings. */
function judgedVerdicts(nodes: readonly LegScenario[], judgement: Judgement | null, missing: Check | null): Verdict[] {
  const accepted = nodes.some(({ scenario }) => scenario.accepted !== undefined);
  if (!accepted) return judgement === null ? [] : [judgement.verdict];
  const others = unitedJudgement(
    nodes.filter(({ scenario }) => scenario.accepted === undefined),
    null,
  );
  return ["warn", ...(others === null ? [] : [others.verdict]), ...(missing === null ? [] : [missing.verdict])];
}

/** The nodes of one job as one scenario, judged by `rejudged` or by the nodes' judgements combined. */
export function unitedScenario(nodes: readonly LegScenario[], rejudged?: Judgement): ScenarioReport {
  const [first] = nodes;
  if (first === undefined) throw new Error("a job has at least one node");
  const missing = missingRanks(nodes);
  const judgement = rejudged ?? unitedJudgement(nodes, missing);
  const error = unitedError(nodes, missing);
  const failed = error !== null || nodes.some(({ scenario }) => scenario.verdict === "error");
  const verdicts = rejudged === undefined ? judgedVerdicts(nodes, judgement, missing) : [rejudged.verdict];
  const verdict = overallVerdict([...verdicts, ...(failed ? (["error"] as const) : [])]);
  const deciding = decidingCheck(judgement?.checks ?? []);
  const shown =
    nodes.find(({ scenario }) => deciding !== null && seriesKeys(scenario).has(keyOf(deciding))) ??
    nodes.find(({ scenario }) => scenario.error !== null) ??
    first;
  const timeline =
    shown.scenario.timeline ?? nodes.find(({ scenario }) => scenario.timeline)?.scenario.timeline ?? null;
  const accepted = nodes.find(({ scenario }) => scenario.accepted)?.scenario.accepted;
  return scenarioReport({
    scenario: first.scenario.scenario,
    verdict,
    // A failed command leaves a job unjudged, unless its measurements fail anyway.
    judgement: verdict === "error" ? null : judgement,
    error,
    runs: nodes.flatMap(({ scenario }) => scenario.runs),
    baseline: nodes.find(({ scenario }) => scenario.baseline)?.scenario.baseline ?? null,
    fingerprint: first.scenario.fingerprint,
    findings: nodes.flatMap(({ scenario }) => scenario.findings).sort(compareSeverity),
    timeline: timeline === null ? null : { ...timeline, verdict },
    ...(accepted === undefined || rejudged !== undefined ? {} : { accepted }),
  });
}
