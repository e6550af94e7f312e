import type { Finding } from "../analysis/document.ts";
import { identityConflicts } from "../baseline/identity.ts";
import { overallVerdict } from "../gate/exit-code.ts";
import { decidingCheck } from "../gate/headline.ts";
import { type ScenarioReport, scenarioReport, type Verdict } from "../report/documents/model.ts";
import { checkOf } from "../verdict/check.ts";
import { combine } from "../verdict/combine.ts";
import type { Check, FingerprintDifference, Judgement } from "../verdict/judgement.ts";
import { SHARD_RUN } from "./shard-run.ts";

/** One scenario of one leg. */
export interface LegScenario {
  readonly leg: string;
  readonly scenario: ScenarioReport;
  /** Session of the leg's gate. */
  readonly session: string;
}

interface Place {
  readonly rank: number;
  readonly device: string;
  readonly metric: string;
}

const keyOf = ({ rank, device, metric }: Place): string => JSON.stringify([rank, device, metric]);

/** Series that the candidate runs of a scenario have. */
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

/**
 * Scenarios of one name as jobs: those of one session and environment that share no series are nodes (or ranks) of one job;
 * everything else stands for itself, as legs of a matrix do.
 */
export function groupNodes(entries: readonly LegScenario[]): readonly (readonly LegScenario[])[] {
  const jobs: LegScenario[][] = [];
  for (const entry of entries) {
    const job = jobs.find((others) => belongsTo(entry, others));
    if (job === undefined) jobs.push([entry]);
    else job.push(entry);
  }
  return jobs;
}

/** "8 to 15", "3, 5 and 9 more". */
function rankText(ranks: readonly number[]): string {
  const [first, last] = [ranks[0], ranks.at(-1)];
  if (first === undefined || last === undefined) return "none";
  if (ranks.length > 2 && last - first === ranks.length - 1) return `${first} to ${last}`;
  const shown = ranks.slice(0, 4).join(", ");
  return ranks.length > 4 ? `${shown} and ${ranks.length - 4} more` : shown;
}

/** A run that was put together of what the ranks recorded themselves stands for all of them. */
const ofRecordings = ({ directory }: ScenarioReport["runs"][number]): boolean => directory === SHARD_RUN;

/** Claims of a larger job are not followed rank by rank. */
const MAX_RANKS = 100_000;

/**
 * Ranks of the job that no node has, as one check that nothing can pass; null when all are there. A rank is there when its memory
 * was measured.
 */
export function missingRanks(nodes: readonly LegScenario[]): Check | null {
  const present = new Set<number>();
  let world = 1;
  let metric: Check["metric"] = "host";
  const what = nodes.every(({ scenario }) => scenario.runs.every(ofRecordings)) ? "recordings" : "bundles";
  for (const { scenario } of nodes) {
    for (const { role, info, analysis } of scenario.runs) {
      if (role !== "candidate") continue;
      world = Math.max(world, info.identity.world_size, analysis?.ranks.world_size ?? 1);
      for (const series of analysis?.series ?? []) {
        present.add(series.rank);
        if (series.metric === "allocated") metric = "allocated";
      }
      for (const rank of analysis?.ranks.participating_ranks ?? []) present.add(rank);
    }
  }
  const missing: number[] = [];
  for (let rank = 0; rank < Math.min(world, MAX_RANKS); rank += 1) if (!present.has(rank)) missing.push(rank);
  // Nothing measured at all has an error of its own to tell.
  if (missing.length === 0 || present.size === 0) return null;
  const noun = missing.length === 1 ? "rank" : "ranks";
  return checkOf(
    { rank: missing[0] ?? 0, device: "*", metric },
    {
      aspect: "peak",
      limit: "baseline",
      gating: true,
      verdict: "unjudged",
      reason: `${noun} ${rankText(missing)} of ${world} ${missing.length === 1 ? "is" : "are"} in none of the ${what}`,
    },
  );
}

const WORST = { fail: 0, unjudged: 1, warn: 2, pass: 3 } as const;

/** A check and the node it comes from. */
interface Owned {
  readonly check: Check;
  readonly node: LegScenario;
}

/**
 * The checks of all nodes, each series judged by the node that measured it: a node that knows the whole job's baseline calls the
 * ranks of the others missing, and they are not.
 */
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
      if (other === undefined || WORST[check.verdict] < WORST[other.check.verdict]) kept.set(name, { check, node });
    }
  }
  return [...kept.values()];
}

function differences(nodes: readonly LegScenario[]): readonly FingerprintDifference[] {
  const all = nodes.flatMap(({ scenario }) => scenario.judgement?.fingerprint ?? []);
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
}

/** What nodes judged, taken together: the worst rank counts. Null when none of them was judged. */
function unitedJudgement(nodes: readonly LegScenario[], missing: Check | null): Judgement | null {
  if (nodes.every(({ scenario }) => scenario.judgement === null)) return null;
  const checks = [...ownedChecks(nodes).map(({ check }) => check), ...(missing === null ? [] : [missing])];
  return combine(checks, differences(nodes));
}

const SEVERITY = { critical: 0, warning: 1, info: 2 } as const;

function findings(nodes: readonly LegScenario[]): readonly Finding[] {
  return nodes.flatMap(({ scenario }) => scenario.findings).sort((a, b) => SEVERITY[a.severity] - SEVERITY[b.severity]);
}

/** A failed command of any node is the job's: nothing that another node measured makes up for it. */
export function unitedError(nodes: readonly LegScenario[]): ScenarioReport["error"] {
  const failed = nodes.filter(({ scenario }) => scenario.error !== null);
  const [first] = failed;
  if (first === undefined || first.scenario.error === null) return null;
  const others = failed.length > 1 ? ` (and ${failed.length - 1} more)` : "";
  const { error } = first.scenario;
  return { ...error, message: `${first.leg}: ${error.message}${others}` };
}

/** The word of what nodes judged; differences that somebody accepted are shown, and do not fail. */
function judgedWord(nodes: readonly LegScenario[], judgement: Judgement | null, missing: Check | null): Verdict[] {
  const accepted = nodes.some(({ scenario }) => scenario.accepted !== undefined);
  if (!accepted) return judgement === null ? [] : [judgement.verdict];
  const others = unitedJudgement(
    nodes.filter(({ scenario }) => scenario.accepted === undefined),
    null,
  );
  return ["warn", ...(others === null ? [] : [others.verdict]), ...(missing === null ? [] : [missing.verdict])];
}

/**
 * Nodes of one job as one scenario, judged by what the nodes judged, or anew over all ranks. The runs keep their directories
 * within their own bundles.
 */
export function unitedScenario(nodes: readonly LegScenario[], judgedAnew?: Judgement): ScenarioReport {
  const [first] = nodes;
  if (first === undefined) throw new Error("a job has at least one node");
  const missing = missingRanks(nodes);
  const judgement = judgedAnew ?? unitedJudgement(nodes, missing);
  const error = unitedError(nodes);
  const failed = error !== null || nodes.some(({ scenario }) => scenario.word === "error");
  const words = judgedAnew === undefined ? judgedWord(nodes, judgement, missing) : [judgedAnew.verdict];
  const word = overallVerdict([...words, ...(failed ? (["error"] as const) : [])]);
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
    word,
    // A job of which a command failed is not judged, unless what is known of it fails anyway.
    judgement: word === "error" ? null : judgement,
    error,
    runs: nodes.flatMap(({ scenario }) => scenario.runs),
    baseline: nodes.find(({ scenario }) => scenario.baseline)?.scenario.baseline ?? null,
    fingerprint: first.scenario.fingerprint,
    findings: findings(nodes),
    timeline: timeline === null ? null : { ...timeline, verdict: word },
    ...(accepted === undefined || judgedAnew !== undefined ? {} : { accepted }),
  });
}
