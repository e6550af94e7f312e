import path from "node:path";
import type { Measurements } from "../analysis/measurements.ts";
import { type BaselineAnswer, loadFirstBaseline } from "../baseline/load.ts";
import { scenarioDirectory } from "../baseline/scenario-name.ts";
import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import type { ScenarioReport } from "../report/model.ts";
import { lintPolicy } from "../verdict/config-lint.ts";
import { judge } from "../verdict/judge.ts";
import type { Judgement } from "../verdict/judgement.ts";
import type { Policy } from "../verdict/policy.ts";
import { type BaseCheckout, checkOutBase, planBaseRun } from "./base-run.ts";
import { Cost } from "./cost.ts";
import { type FinishedRun, oneRun } from "./one-run.ts";
import { policyOf } from "./policy.ts";
import type { GatePorts } from "./ports.ts";
import { failedScenario, judgedScenario } from "./scenario-report.ts";

export interface ScenarioOutcome {
  readonly report: ScenarioReport;
  readonly warnings: readonly string[];
}

export interface GateIdentity {
  readonly session: string;
  readonly commit: string | null;
}

/** One scenario while it is being judged: what was measured so far, and what it may still cost. */
class ScenarioStory {
  readonly #request: GateRequest;
  readonly #scenario: ScenarioRequest;
  readonly #identity: GateIdentity;
  readonly #ports: GatePorts;
  readonly #policy: Policy;
  readonly cost: Cost;
  readonly candidate: FinishedRun[] = [];
  readonly base: FinishedRun[] = [];
  readonly warnings: string[] = [];
  /** Null until asked; then the checkout, or why there is none. */
  #checkout: BaseCheckout | { readonly reason: string } | null = null;
  baseline: BaselineAnswer = { kind: "absent", reason: "no baseline was looked for", nextStep: "", warnings: [] };

  constructor(request: GateRequest, scenario: ScenarioRequest, identity: GateIdentity, ports: GatePorts) {
    this.#request = request;
    this.#scenario = scenario;
    this.#identity = identity;
    this.#ports = ports;
    this.#policy = policyOf(request, scenario);
    this.cost = new Cost(request, ports.now().getTime());
  }

  #directory(name: string): string {
    return path.join(this.#request.bundle, "runs", scenarioDirectory(this.#scenario.name), name);
  }

  async runCandidate(): Promise<FinishedRun> {
    const number = this.candidate.length + 1;
    this.cost.add();
    const run = await oneRun(
      this.#request,
      this.#scenario,
      {
        role: "candidate",
        number,
        directory: this.#directory(String(number)),
        command: this.#scenario.command,
        cwd: this.#scenario.cwd,
        ...this.#identity,
      },
      this.#ports,
    );
    this.candidate.push(run);
    this.warnings.push(...run.warnings);
    return run;
  }

  /** Run the base commit once in this session; false (with the reason as a warning) when that is not to be had. */
  async runBase(): Promise<boolean> {
    if (this.#checkout === null) {
      const plan = await planBaseRun(this.#request.baseRun, this.#scenario, this.#request.env);
      this.#checkout = await checkOutBase(plan, this.#scenario);
    }
    if ("reason" in this.#checkout) return this.#noBase(this.#checkout.reason);
    const number = this.base.length + 1;
    this.cost.add();
    const run = await oneRun(
      this.#request,
      this.#scenario,
      {
        role: "base",
        number,
        directory: this.#directory(`base-${number}`),
        command: this.#checkout.command,
        cwd: this.#checkout.cwd,
        session: this.#identity.session,
        commit: this.#checkout.commit,
      },
      this.#ports,
    );
    this.base.push(run);
    this.warnings.push(...run.warnings);
    if (run.ending.kind === "failed") return this.#noBase(`on the base commit ${run.ending.message}`);
    return run.ending.kind === "ok" && run.measured !== null;
  }

  #noBase(reason: string): false {
    this.warnings.push(
      `${this.#scenario.name}: the base could not be run here (${reason}), so a breach stays unconfirmed`,
    );
    return false;
  }

  async dispose(): Promise<void> {
    if (this.#checkout !== null && "dispose" in this.#checkout) await this.#checkout.dispose();
  }

  candidateMeasurements(): Measurements {
    return {
      scenario: this.#scenario.name,
      fingerprint: this.candidate[0]?.info.fingerprint ?? null,
      runs: this.candidate.flatMap(({ measured }) => (measured === null ? [] : [measured])),
    };
  }

  /** Baseline runs, and the base re-runs of this session among them. */
  #baselineMeasurements(): Measurements | null {
    if (this.baseline.kind !== "found") return null;
    const reruns = this.base.flatMap((run) =>
      run.measured === null || run.ending.kind !== "ok" ? [] : [run.measured],
    );
    return { ...this.baseline.measurements, runs: [...this.baseline.measurements.runs, ...reruns] };
  }

  /** Notes on the policy itself: a budget inside the noise band of what was measured before. */
  lint(): readonly string[] {
    const known = this.baseline.kind === "found" ? this.baseline.measurements : null;
    return lintPolicy(this.#policy, known).map((note) => `${this.#scenario.name}: ${note}`);
  }

  judge(possible: { readonly baseRuns: boolean; readonly moreRuns: boolean }): Judgement {
    return judge({
      candidate: this.candidateMeasurements(),
      baseline: this.#baselineMeasurements(),
      anchor: null,
      policy: this.#policy,
      baseRunsPossible: possible.baseRuns,
      moreRunsPossible: possible.moreRuns,
      baselineWanted: this.#request.baselines.length > 0,
    });
  }
}

/**
 * Measure a scenario as often as its verdict needs, and no more: once normally; on a breach the confirmation rule asks for
 * more candidate runs and then for the base commit in this same session; the cost limits end it.
 */
export async function judgeScenario(
  request: GateRequest,
  scenario: ScenarioRequest,
  identity: GateIdentity,
  ports: GatePorts,
): Promise<ScenarioOutcome> {
  const story = new ScenarioStory(request, scenario, identity, ports);
  try {
    return await tell(story, request, scenario, ports);
  } finally {
    await story.dispose();
  }
}

async function tell(
  story: ScenarioStory,
  request: GateRequest,
  scenario: ScenarioRequest,
  ports: GatePorts,
): Promise<ScenarioOutcome> {
  const wanted = scenario.repeats === "auto" ? 1 : scenario.repeats;
  for (let number = 1; number <= wanted; number += 1) {
    const run = await story.runCandidate();
    if (run.ending.kind !== "ok") return failedScenario(request, scenario, story, run);
    const stop = story.cost.exhausted(ports.now().getTime());
    if (stop === null || number === wanted) continue;
    story.warnings.push(`${scenario.name}: ${stop}, so ${number} of ${wanted} runs were made`);
    break;
  }
  const fingerprint = story.candidate[0]?.info.fingerprint ?? {};
  story.baseline = await loadFirstBaseline(request.baselines, scenario.name, fingerprint, request);
  story.warnings.push(...story.baseline.warnings, ...story.lint());
  const possible = { baseRuns: request.baseRun.kind !== "off", moreRuns: scenario.repeats === "auto" };
  let judgement = story.judge(possible);
  while (!judgement.final && !ports.interrupt.aborted) {
    const stop = story.cost.exhausted(ports.now().getTime());
    if (stop !== null) {
      story.warnings.push(`${scenario.name}: ${stop}, so the breach stays unconfirmed`);
      possible.moreRuns = false;
      possible.baseRuns = false;
    } else if (judgement.needs_more_runs > 0) {
      ports.log(`${scenario.name}: a limit is breached, run ${story.candidate.length + 1} to confirm`);
      const run = await story.runCandidate();
      if (run.ending.kind !== "ok") return failedScenario(request, scenario, story, run);
    } else {
      ports.log(`${scenario.name}: the breach repeats itself, running the base commit in this session`);
      if (!(await story.runBase())) possible.baseRuns = false;
    }
    // Once neither kind of run can be had, nothing is asked for and the answer is final.
    judgement = story.judge(possible);
  }
  if (ports.interrupt.aborted) {
    const last = story.candidate.at(-1);
    if (last !== undefined)
      return failedScenario(request, scenario, story, {
        ...last,
        ending: { kind: "interrupted", signal: String(ports.interrupt.reason) },
      });
  }
  return judgedScenario(request, scenario, story, judgement);
}
