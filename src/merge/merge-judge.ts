import type { MeasuredRun, Measurements } from "../analysis/measurements.ts";
import type { BaselineAnswer } from "../baseline/answer.ts";
import { unitedRun } from "../baseline/job-runs.ts";
import { loadFirstBaseline } from "../baseline/load.ts";
import { GateError } from "../core/errors.ts";
import type { Environment } from "../core/process/environment.ts";
import type { Horizon } from "../core/units.ts";
import { successfulRuns } from "../report/model/decisive-run.ts";
import type { RunRole } from "../report/model/report-schema.ts";
import type { Metric } from "../telemetry/recording/metrics.ts";
import { judge } from "../verdict/judge.ts";
import { combine } from "../verdict/model/combine.ts";
import { DEFAULT_POLICY } from "../verdict/model/defaults.ts";
import type { Check, Judgement } from "../verdict/model/judgement.ts";
import type { Budget, Policy } from "../verdict/model/policy.ts";
import { type LegScenario, missingRanks } from "./merge-nodes.ts";

/** How merged measurements are judged again. */
export interface JudgeAgain {
  /** Requested baseline specs, empty = no comparison; null = the baseline that the bundles name. */
  readonly baselines: readonly string[] | null;
  readonly budgets: readonly Budget[];
  readonly horizon: Horizon | null;
  /** Directory that relative specs start from. */
  readonly root: string;
  readonly env: Environment;
}

/** The judgement over all ranks, or why there is none. */
type JudgedAgain =
  | { readonly kind: "judged"; readonly judgement: Judgement; readonly baseline: BaselineAnswer }
  | { readonly kind: "not"; readonly reason: string };

/** The nodes' runs as runs of the job: the first run of every node is the job's first, and so on. */
function jobRuns(nodes: readonly LegScenario[], role: RunRole): readonly MeasuredRun[] {
  const byNode = nodes.map(({ scenario }) => successfulRuns(scenario, role));
  const count = Math.max(0, ...byNode.map(({ length }) => length));
  return Array.from({ length: count }, (_, index) => {
    const parts = byNode.flatMap((runs) => runs[index] ?? []);
    const { steps: _steps, ...run } = unitedRun(parts);
    return run;
  });
}

/** Measurements of a job over all its ranks. */
function jobMeasurements(nodes: readonly LegScenario[]): Measurements {
  const first = nodes[0]?.scenario;
  return {
    scenario: first?.scenario ?? "",
    fingerprint: first?.fingerprint ?? null,
    runs: jobRuns(nodes, "candidate"),
  };
}

/** The policy of a bundle's checks as far as they contain it; horizon and margins they do not. */
function policyOfChecks(checks: readonly Check[], again: JudgeAgain): Policy {
  const budgets = new Map<Metric, number>();
  for (const { limit, aspect, metric, threshold_bytes } of checks) {
    if (limit === "budget" && aspect === "peak" && threshold_bytes !== null) budgets.set(metric, threshold_bytes);
  }
  for (const { metric, bytes } of again.budgets) budgets.set(metric, bytes);
  const gating = checks.filter((check) => check.gating && check.limit === "baseline").map(({ metric }) => metric);
  return {
    ...DEFAULT_POLICY,
    budgets: [...budgets].map(([metric, bytes]) => ({ metric, bytes })),
    horizon: again.horizon,
    gatingPhases: [...new Set(checks.flatMap((check) => (check.gating ? (check.phase ?? []) : [])))],
    gatingMetrics: gating.length === 0 ? null : [...new Set(gating)],
  };
}

/** The one baseline that all bundles name, or why there is none. */
function namedBaselines(nodes: readonly LegScenario[]): readonly string[] | string {
  const named = [...new Set(nodes.flatMap(({ scenario }) => scenario.baseline?.source ?? []))];
  if (named.length === 1) return named;
  return named.length === 0 ? "its bundles name no baseline" : "its bundles name different baselines";
}

/**
 * Judge a job again over all its ranks, by the requested baseline or the one its bundles name; no run can be added.
 * @throws GateError for a requested baseline that cannot be read (exit 5)
 */
export async function judgeAgain(nodes: readonly LegScenario[], again: JudgeAgain): Promise<JudgedAgain> {
  const candidate = jobMeasurements(nodes);
  if (candidate.runs.length === 0) return { kind: "not", reason: "none of its runs succeeded" };
  const specs = again.baselines ?? namedBaselines(nodes);
  if (typeof specs === "string") return { kind: "not", reason: specs };
  let baseline: BaselineAnswer;
  try {
    baseline = await loadFirstBaseline(specs, candidate.scenario, candidate.fingerprint ?? {}, again);
  } catch (error) {
    if (again.baselines !== null || !(error instanceof GateError)) throw error;
    return { kind: "not", reason: error.message };
  }
  if (baseline.kind === "absent" && again.baselines === null) return { kind: "not", reason: baseline.reason };
  const checks = nodes.flatMap(({ scenario }) => scenario.judgement?.checks ?? []);
  const judged = judge({
    candidate,
    baseline: baseline.kind === "absent" ? null : baseline.measurements,
    baseRuns: jobRuns(nodes, "base"),
    anchor: null,
    policy: policyOfChecks(checks, again),
    baseRunsPossible: false,
    moreRunsPossible: false,
    baselineWanted: specs.length > 0,
  });
  const missing = missingRanks(nodes);
  const judgement = missing === null ? judged : combine([...judged.checks, missing], judged.fingerprint);
  return { kind: "judged", judgement, baseline };
}
