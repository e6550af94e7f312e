import type { GateRequest, ScenarioRequest } from "../../config/gate-request.ts";
import { GateError } from "../../core/errors.ts";
import { namesNode } from "../../core/process/command.ts";
import { plural } from "../../core/text.ts";
import { formatDuration } from "../../core/units.ts";
import { missingRuns } from "../../verdict/missing-runs.ts";
import { BASE_RERUNS, DEFAULT_POLICY } from "../../verdict/model/defaults.ts";
import { DONE, type Judgement, type NextRuns } from "../../verdict/model/judgement.ts";
import { hasHeap, hidesGrowth, leaksOnceCollected, mayBeGarbage } from "../../verdict/rules/garbage-rule.ts";
import { withLostMemory } from "../../verdict/rules/small-leak.ts";
import type { GatePorts } from "../ports/ports.ts";
import type { FinishedRun } from "../run/one-run.ts";
import { anchorFor } from "./anchor-file.ts";
import { wantedScenario } from "./baseline-preflight.ts";
import { announce, breachText, cancelled } from "./cost.ts";
import type { ScenarioHooks } from "./scenario-hooks.ts";
import {
  abortedScenario,
  failedScenario,
  judgedScenario,
  type ReportedScenario,
  stoppedScenario,
} from "./scenario-report.ts";
import { type GateContext, type GateIdentity, ScenarioRun } from "./scenario-run.ts";

/** Measure a scenario as often as its verdict needs: once; after a breach the candidate again, then the base commit. */
export async function judgeScenario(
  request: GateRequest,
  scenario: ScenarioRequest,
  identity: GateIdentity,
  ports: GatePorts,
  hooks: ScenarioHooks,
  context: GateContext,
): Promise<ReportedScenario> {
  const run = new ScenarioRun(request, scenario, identity, ports, context);
  try {
    return await judgeUntilFinal(run, ports, hooks);
  } catch (error) {
    // When a later run cannot begin (no space, no permission), the report still has the earlier ones.
    if (!(error instanceof GateError) || run.runs().length === 0) throw error;
    if (error.kind !== "error" && error.kind !== "interrupted") throw error;
    return abortedScenario(run, error);
  } finally {
    await run.dispose();
  }
}

async function judgeUntilFinal(run: ScenarioRun, ports: GatePorts, hooks: ScenarioHooks): Promise<ReportedScenario> {
  const { scenario } = run;
  const { anchors, baselines } = run.context;
  const first = await measureCandidates(run, ports, hooks);
  if (first.kind === "ended") return first.outcome;
  await hooks.measured(scenario, run.candidate);
  const fingerprint = run.candidate[0]?.info.fingerprint ?? {};
  const wanted = wantedScenario(scenario);
  run.baseline = baselines.find(wanted, fingerprint);
  const anchor = anchorFor(anchors, wanted, fingerprint);
  if (hooks.anchorAsksForRuns) run.anchor = anchor.measurements;
  run.warnings.push(...run.baseline.warnings, ...run.lint(), ...anchors.warnings, ...anchor.warnings);
  // Collecting lowers peaks, so where one is compared the runs are those of the command as it is.
  const gcAllowed = run.baseline.kind === "absent" && anchor.measurements === null;
  let judgement = await confirm(run, ports, gcAllowed);
  if ("report" in judgement) return judgement;
  if (cancelled(ports.interrupt)) return stoppedScenario(run, run.stopped.at(-1) ?? null, ports.interrupt);
  if (anchor.measurements !== null && run.anchor === null) {
    run.anchor = anchor.measurements;
    judgement = run.judge({ baseRuns: false, moreRuns: false });
  }
  const accepted = run.baseline.kind === "found" ? run.baseline.measurements.runs.length : 0;
  const missing = DEFAULT_POLICY.minBaselineRuns - accepted;
  if (run.base.length > 0 && missing > 0) {
    const needed = `${plural(missing, "more run")} complete the baseline`;
    run.warnings.push(`${scenario.name}: compared with the base commit in this session: ${needed}`);
  }
  const { findings, lost, peak, noLine } = await run.attribute(judgement);
  if (lost) judgement = withLostMemory(judgement);
  const locks = await run.lockChanges(judgement, findings);
  const final = first.short === null ? judgement : cutShort(judgement, first.short);
  return judgedScenario(run, final, { lines: findings, noLine, peak, locks });
}

/** The runs before the first judgement, and why there are fewer than asked for; or the outcome of a failed run. */
type FirstRuns =
  | { readonly kind: "measured"; readonly short: { readonly reason: string; readonly missing: number } | null }
  | { readonly kind: "ended"; readonly outcome: ReportedScenario };

async function measureCandidates(run: ScenarioRun, ports: GatePorts, hooks: ScenarioHooks): Promise<FirstRuns> {
  const { scenario } = run;
  let wanted = 1;
  for (let number = 1; number <= wanted; number += 1) {
    const ran = await run.runCandidate();
    if (ran.kind === "whole" && ran.finished.ending.kind !== "ok") {
      return { kind: "ended", outcome: await failedRun(run, ran.finished) };
    }
    if (ran.kind === "stopped" && (number === 1 || cancelled(ports.interrupt))) {
      return { kind: "ended", outcome: await stoppedScenario(run, ran.finished, ports.interrupt) };
    }
    if (number === 1 && ran.kind === "whole") wanted = await hooks.candidateRuns(scenario, ran.finished);
    const stop = ran.kind === "stopped" ? ran.reason : number === wanted ? null : run.stopReason();
    if (stop === null) continue;
    const short = `${stop}, so ${run.candidate.length} of ${wanted} runs were made`;
    // Before the notes on the runs: the first note is the one that is printed.
    run.warnings.unshift(`${scenario.name}: ${short}`);
    return { kind: "measured", short: { reason: short, missing: wanted - run.candidate.length } };
  }
  return { kind: "measured", short: null };
}

/** The report of a candidate that failed; where it ran out of memory, with what it held. */
async function failedRun(run: ScenarioRun, finished: FinishedRun): Promise<ReportedScenario> {
  const judgement = run.judge({ baseRuns: false, moreRuns: false });
  const isOom = judgement.checks.some(({ aspect, verdict }) => aspect === "oom" && verdict === "fail");
  if (finished.ending.kind !== "failed" || !isOom) return failedScenario(run, finished);
  const { findings, peak } = await run.attribute(judgement);
  return failedScenario(run, finished, { lines: findings, peak });
}

/** "run 1 of 1, 2.6 s": the runs before the first judgement, and how long the last of them took. */
function runsMade({ candidate }: ScenarioRun): string {
  const seconds = candidate.at(-1)?.info.clock.duration_s ?? null;
  return `run ${candidate.length} of ${candidate.length}${seconds === null ? "" : `, ${formatDuration(seconds)}`}`;
}

/** "run 2 of at most 6, at most 13 s": the next run of the candidate. */
function confirmationForecast({ cost, candidate, superseded }: ScenarioRun): string {
  const before = superseded.length;
  const most = Math.max(DEFAULT_POLICY.maxConfirmations, candidate.length + 1);
  return cost.forecast(before + candidate.length, before + most, performance.now());
}

/** Judge and make the requested runs until the judgement is final, no run is possible, or a candidate run fails. */
async function confirm(run: ScenarioRun, ports: GatePorts, gcAllowed: boolean): Promise<Judgement | ReportedScenario> {
  const { request, scenario } = run;
  const baseRuns = request.baseRun.kind !== "off" && (run.baseline.kind === "found" || (await run.hasBase()));
  const possible = { baseRuns, moreRuns: scenario.repeats === "auto" };
  let missing: NextRuns = DONE;
  const giveUp = async (stop: string): Promise<void> => {
    const hasBase = possible.baseRuns && (await run.hasBase());
    missing = missingRuns(run.judgeInput({ ...possible, baseRuns: hasBase }));
    const open = judgement.next.kind === "candidate-runs" ? "no more runs were made" : "the base was not run";
    const without = breachText(judgement) === null ? open : "the breach stays unconfirmed";
    run.warnings.unshift(`${scenario.name}: ${stop}, so ${without}`);
    // Without either kind of run nothing is asked for, and the next judgement is final.
    possible.moreRuns = false;
    possible.baseRuns = false;
  };
  let judgement = run.judge(possible);
  const breach = breachText(judgement);
  if (breach !== null && !cancelled(ports.interrupt)) announce(ports, `${scenario.name}: ${runsMade(run)}: ${breach}`);
  const collected = gcAllowed && possible.moreRuns && (await measuredCollecting(run, ports, judgement));
  if (collected) judgement = run.judge(possible);
  else if (!gcAllowed && possible.moreRuns) {
    judgement = await judgedAside(run, ports, judgement, () => run.judge(possible));
  }
  while (judgement.next.kind !== "done" && !cancelled(ports.interrupt)) {
    const stop = run.stopReason();
    if (stop !== null) {
      await giveUp(stop);
    } else if (judgement.next.kind === "candidate-runs") {
      const purpose = `confirming, ${confirmationForecast(run)}`;
      announce(ports, `${scenario.name}: ${purpose}`);
      const ran = await run.runCandidate(purpose);
      if (ran.kind === "stopped") await giveUp(ran.reason);
      else if (ran.finished.ending.kind !== "ok") return failedRun(run, ran.finished);
    } else {
      const base = request.baseRun.kind === "command" ? "the base" : "the base commit";
      const purpose = `comparing with ${base}, ${run.cost.forecast(run.base.length, Math.max(2 * BASE_RERUNS, run.base.length + 1), performance.now())}`;
      const ran = await run.runBase(purpose);
      if (ran === null) possible.baseRuns = false;
      else if (ran.kind === "stopped") await giveUp(ran.reason);
    }
    judgement = run.judge(possible);
  }
  // A verdict that runs within the limits could not reach names them.
  const isOpen = judgement.verdict === "warn" || (judgement.verdict === "fail" && !judgement.confirmed);
  return isOpen ? { ...judgement, next: missing } : judgement;
}

/** Whether the candidate was run again with its heaps collected, since its growth may be garbage and no leak. */
async function measuredCollecting(run: ScenarioRun, ports: GatePorts, judgement: Judgement): Promise<boolean> {
  const { request, scenario } = run;
  const { collectingEnvironment, countingEnvironment, growthMayBeUncollected } = await import("./forced-gc.ts");
  const last = run.candidate.at(-1);
  const judged = { series: last?.measured?.series ?? [], durationS: last?.info.clock.duration_s ?? null };
  if (request.probe === "off" || !growthMayBeUncollected(judgement, judged, scenario.command)) return false;
  // Java virtual machines are collected from outside.
  const env = collectingEnvironment(request, scenario) ?? (hasHeap(judged.series) ? {} : null);
  if (env === null || cancelled(ports.interrupt) || run.stopReason() !== null) return false;
  const isKnown = namesNode(scenario.command) || hasHeap(judged.series);
  const what = isKnown ? "measuring with forced garbage collection" : "confirming";
  const purpose = `${what}, ${confirmationForecast(run)}`;
  announce(ports, `${scenario.name}: ${purpose}`);
  await run.runCollecting({ ...env, ...countingEnvironment(judged.series, scenario.command) }, purpose);
  return true;
}

/** Judge growth against the baseline by a run that shows garbage beside the judged ones; after a leak, by a second. */
async function judgedAside(run: ScenarioRun, ports: GatePorts, first: Judgement, again: () => Judgement) {
  const series = run.candidate.at(-1)?.measured?.series ?? [];
  const isDoubtful = (one: Judgement) => mayBeGarbage(one) || hidesGrowth(series);
  let judgement = first;
  for (const isAsked of [isDoubtful, leaksOnceCollected]) {
    if (!isAsked(judgement) || cancelled(ports.interrupt) || run.stopReason() !== null) break;
    const purpose = `measuring with forced garbage collection, ${confirmationForecast(run)}`;
    announce(ports, `${run.scenario.name}: ${purpose}`);
    const { collectingEnvironment } = await import("./forced-gc.ts");
    await run.runCollectingAside(collectingEnvironment(run.request, run.scenario) ?? {}, purpose);
    judgement = again();
  }
  return judgement;
}

/** Fewer runs than asked for can show a breach, but cannot show that there is none. */
function cutShort(
  judgement: Judgement,
  short: NonNullable<Extract<FirstRuns, { kind: "measured" }>["short"]>,
): Judgement {
  if (judgement.verdict === "fail" || judgement.verdict === "unjudged") return judgement;
  const next = { kind: "candidate-runs", runs: short.missing, baseRuns: 0 } as const;
  return { ...judgement, verdict: "unjudged", reason: short.reason, next };
}
