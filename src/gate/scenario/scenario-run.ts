import path from "node:path";
import type { MeasuredRun, MeasuredSeries, Measurements } from "../../analysis/measurements.ts";
import type { Finding } from "../../analysis/series/document.ts";
import type { AttributedGrowth } from "../../attribution/attribute.ts";
import type { ExplainedPeak, PeakBase } from "../../attribution/peak/explain-peak.ts";
import type { AttributionSubject } from "../../attribution/run/run-once.ts";
import { absent, type BaselineAnswer } from "../../baseline/answer.ts";
import { scenarioDirectory } from "../../baseline/identity.ts";
import type { LoadedBaselines } from "../../baseline/load.ts";
import type { GateRequest, ScenarioRequest } from "../../config/gate-request.ts";
import type { RepositoryViews } from "../../git/repository-view.ts";
import type { RaisedWall } from "../../measure/launch/wall.ts";
import type { LockChanges } from "../../report/model/report-schema.ts";
import { HELD_AT_PEAK, LEAK_LINE, ONE_TIME_LINE, PEAK_LINE } from "../../report/wording/source-line.ts";
import { METRIC } from "../../telemetry/recording/metrics.ts";
import { type JudgeInput, judge } from "../../verdict/judge.ts";
import type { Check, Judgement } from "../../verdict/model/judgement.ts";
import type { Policy } from "../../verdict/model/policy.ts";
import { lintPolicy } from "../../verdict/rules/config-lint.ts";
import type { BaseCheckout, BasePlan, BasePlanner } from "../base/base-run.ts";
import type { GatePorts } from "../ports/ports.ts";
import { type FinishedRun, oneRun, type RunOutcome, type RunPlan, shorter } from "../run/one-run.ts";
import type { RunFiles } from "../run/run-files.ts";
import type { BundleGuard, WatchedFiles } from "../run/watched-files.ts";
import type { AnchorBook } from "./anchor-file.ts";
import { announce, Cost, outOfTime } from "./cost.ts";
import { policyOf, type ScenarioEvidence } from "./scenario-report.ts";

export interface GateIdentity {
  readonly session: string;
  readonly commit: string | null;
}

/** What the scenarios of a gate share. What was read before the first run is not read again after measured code ran. */
export interface GateContext {
  readonly repositories: RepositoryViews;
  readonly baselines: LoadedBaselines;
  readonly anchors: AnchorBook;
  /** By scenario; missing where no baseline could ask for a base run. */
  readonly basePlans: ReadonlyMap<string, BasePlanner>;
  readonly bundle: BundleGuard;
  /** What keeps measured commands from the gate. */
  readonly wall: RaisedWall;
  readonly runFiles: RunFiles;
  /** Begins to watch the files that were read. */
  readonly watch: () => WatchedFiles;
}

/** Whether a run shows what a collected heap holds after collections. */
const showsCollections = ({ measured }: FinishedRun): boolean =>
  measured?.series.some((one) => METRIC[one.metric].isLiveHeap && one.class !== "unavailable") ?? false;

/** A run with forced collections, with what earlier ones have outside the heap: such collections blur it. */
function withOutsideHeap(run: FinishedRun, before: readonly FinishedRun[]): FinishedRun {
  const outside = before.flatMap(({ measured }) => measured?.series ?? []).find(isOutsideHeap);
  const { measured } = run;
  if (measured === null || outside === undefined || measured.series.some(isOutsideHeap)) return run;
  return { ...run, measured: { ...measured, series: [...measured.series, outside] } };
}

/** The measurements of the runs that succeeded. */
const measuredRuns = (runs: readonly FinishedRun[]): readonly MeasuredRun[] =>
  runs.flatMap(({ ending, measured }) => (ending.kind === "ok" && measured !== null ? [measured] : []));

const isOutsideHeap = ({ metric }: MeasuredSeries): boolean => metric === "outside_heap";

/** Loaded after the command has started, which does not wait for it. */
async function loadAttribution() {
  const [{ attributeGrowth }, { explainOutOfMemory, explainPeak, isGrowth, peakToExplain }, { markChangedLines }] =
    await Promise.all([
      import("../../attribution/attribute.ts"),
      import("../../attribution/peak/explain-peak.ts"),
      import("../../attribution/change/changed-lines.ts"),
    ]);
  return { attributeGrowth, explainOutOfMemory, explainPeak, isGrowth, peakToExplain, markChangedLines };
}

/** Findings that name a line or a place, and not one that holds a little of the growth. */
const NAMES_LINE = new Set([LEAK_LINE, ONE_TIME_LINE, PEAK_LINE, HELD_AT_PEAK]);

type PossibleRuns = Readonly<Record<"baseRuns" | "moreRuns", boolean>>;

/** One scenario while it is being judged: what was measured so far, and what it may still cost. */
export class ScenarioRun implements ScenarioEvidence {
  readonly request: GateRequest;
  readonly scenario: ScenarioRequest;
  readonly #identity: GateIdentity;
  readonly #ports: GatePorts;
  readonly #policy: Policy;
  readonly cost: Cost;
  readonly candidate: FinishedRun[] = [];
  readonly base: FinishedRun[] = [];
  readonly attribution: FinishedRun[] = [];
  /** Candidate runs in whose place others are judged, in which heaps were collected. */
  readonly superseded: FinishedRun[] = [];
  /** Runs beside the judged ones with collected heaps: evidence on what a breach of the baseline consists of. */
  readonly #collected: FinishedRun[] = [];
  readonly stopped: FinishedRun[] = [];
  readonly warnings: string[] = [];
  /** Null before the first base run; then the checkout, or why there is none. */
  #checkout: BaseCheckout | { readonly reason: string } | null = null;
  #plan: Promise<BasePlan> | null = null;
  /** The release anchor of this environment; null where there is none. */
  anchor: Measurements | null = null;
  baseline: BaselineAnswer = absent("no baseline was read");
  readonly context: GateContext;
  readonly #files: WatchedFiles;
  #candidateRuns = 0;
  /** What candidate runs have from now on. */
  #collecting: Pick<RunPlan, "env" | "collect"> = {};

  constructor(
    request: GateRequest,
    scenario: ScenarioRequest,
    identity: GateIdentity,
    ports: GatePorts,
    context: GateContext,
  ) {
    this.request = request;
    this.scenario = scenario;
    this.context = context;
    this.#files = context.watch();
    this.#identity = identity;
    this.#ports = ports;
    this.#policy = policyOf(request, scenario);
    this.cost = new Cost(request, performance.now());
  }

  #directory(name: string): string {
    return path.join(this.request.bundle, "runs", scenarioDirectory(this.scenario.name), name);
  }

  /** Why no run may begin now; null when one may. `beside`: one that the number of runs does not limit. */
  stopReason(beside = false): string | null {
    if (this.#ports.interrupt.aborted)
      return outOfTime(this.#ports.interrupt) ? "timeout-minutes is over" : "the gate was cancelled";
    return this.cost.exhausted(performance.now(), beside);
  }

  async #run(plan: RunPlan, keep: FinishedRun[]): Promise<RunOutcome> {
    const startedMs = performance.now();
    const remainingS = this.cost.remainingS(startedMs);
    this.cost.add();
    const limitS = shorter(remainingS, plan.limitS ?? null);
    this.context.bundle.restore();
    this.warnings.push(...(await this.context.runFiles.write()));
    const finished = await this.context.runFiles.take(
      await oneRun(
        this.request,
        this.scenario,
        { ...plan, limitS, wall: this.context.wall },
        { ...this.#ports, load: () => this.#load() },
      ),
    );
    this.cost.took((performance.now() - startedMs) / 1000);
    this.warnings.push(...finished.warnings);
    const { exit } = finished.info;
    const cut = exit.kind === "timeout" && exit.after_s === remainingS && remainingS !== this.scenario.timeoutS;
    if (!cut && finished.ending.kind !== "interrupted") {
      keep.push(finished);
      return { kind: "whole", finished };
    }
    this.stopped.push(finished);
    const reason = cut ? `the limit of ${this.request.maxMinutes} minutes is reached` : this.stopReason();
    return { kind: "stopped", finished, reason: reason ?? "the run was interrupted" };
  }

  /** Loads what follows a run. */
  #load(): Promise<unknown> {
    const answer = import("./scenario-answer.ts");
    return Promise.all([answer, loadAttribution(), this.#ports.load?.()]);
  }

  async runCandidate(purpose?: string): Promise<RunOutcome> {
    this.#candidateRuns += 1;
    const number = this.#candidateRuns;
    const { command, cwd } = this.scenario;
    const directory = this.#directory(String(number));
    const plan = { role: "candidate", number, directory, command, cwd, purpose, ...this.#identity } as const;
    return this.#run({ ...plan, ...this.#collecting }, this.candidate);
  }

  /**
   * Run the candidate with forced collections. Where that shows what its heap holds, this and later runs are judged in
   * the place of those before; else it is one more of them, or evidence where the program does not survive it.
   * @param env variables with which V8 collects
   */
  async runCollecting(env: Readonly<Record<string, string>>, purpose: string): Promise<RunOutcome> {
    this.#collecting = { env, collect: true };
    const ran = await this.runCandidate(purpose);
    if (ran.kind === "whole" && ran.finished.ending.kind === "ok" && showsCollections(ran.finished)) {
      const before = this.candidate.splice(0, this.candidate.length - 1);
      this.candidate[0] = withOutsideHeap(ran.finished, before);
      this.superseded.push(...before.map((run): FinishedRun => ({ ...run, role: "superseded" })));
      return ran;
    }
    this.#collecting = {};
    if (ran.kind === "whole" && ran.finished.ending.kind !== "ok") {
      this.candidate.pop();
      this.stopped.push(ran.finished);
      if (ran.finished.ending.kind === "failed")
        this.#warn(`with forced garbage collection, ${ran.finished.ending.message}`);
    }
    return ran;
  }

  /** Run the candidate with collected heaps beside the judged runs, whose peaks are those of the command as it is. */
  async runCollectingAside(env: RunPlan["env"], purpose: string): Promise<void> {
    const { command, cwd } = this.scenario;
    const number = this.#collected.length + 1;
    const directory = this.#directory(`collected-${number}`);
    const plan = { role: "attribution", number, directory, command, cwd, purpose, ...this.#identity } as const;
    await this.#run({ ...plan, env, collect: true }, this.#collected);
  }

  async #base(): Promise<BaseCheckout | { readonly reason: string }> {
    const { checkOutBase } = await import("../base/base-run.ts");
    this.#checkout ??= await checkOutBase(await this.#planBase(), this.scenario);
    return this.#checkout;
  }

  #planBase(): Promise<BasePlan> {
    const known = this.baseline.kind === "found" ? this.baseline.summary.commit : null;
    const none = { kind: "impossible", reason: "the base commit is run where a baseline store is configured" } as const;
    this.#plan ??= this.context.basePlans.get(this.scenario.name)?.(known) ?? Promise.resolve(none);
    return this.#plan;
  }

  /** Whether there is a base commit that may be run, or a command in its place. The baseline has been read. */
  async hasBase(): Promise<boolean> {
    return (await this.#planBase()).kind !== "impossible";
  }

  /** Run the base commit once in this session; null, with a warning, where that is not possible. */
  async runBase(purpose: string): Promise<RunOutcome | null> {
    const checkout = await this.#base();
    if ("reason" in checkout) return this.baseline.kind === "found" ? this.#noBase(checkout.reason) : null;
    // The checkout may have used up the time.
    const stop = this.stopReason();
    if (stop !== null) return { kind: "stopped", finished: null, reason: stop };
    announce(this.#ports, `${this.scenario.name}: ${purpose}`);
    const number = this.base.length + 1;
    const { command, cwd, commit } = checkout;
    const directory = this.#directory(`base-${number}`);
    const { session } = this.#identity;
    const plan = { role: "base", number, directory, command, cwd, purpose, session, commit } as const;
    // Collected heaps have lower peaks, so both sides collect or neither.
    const ran = await this.#run({ ...plan, ...this.#collecting }, this.base);
    if (ran.kind === "stopped") return ran;
    if (ran.finished.ending.kind === "failed")
      return this.#noBase(`on the base commit, ${ran.finished.ending.message}`);
    return ran.finished.measured === null ? null : ran;
  }

  /** Run the candidate with attribution on, and find the lines of its growth or what its peak consists of. */
  async attribute(
    judgement: Judgement,
  ): Promise<AttributedGrowth & ExplainedPeak & { readonly noLine: string | null }> {
    const judged = this.candidate.at(-1);
    // The probe attributes memory to lines.
    if (this.request.probe === "off" || this.request.attribute === "off" || judged === undefined)
      return { findings: [], lost: false, peak: null, noLine: null };
    const attribution = await loadAttribution();
    const repository = await this.context.repositories(this.scenario.cwd);
    const { request, scenario } = this;
    let number = 0;
    const run = (plan: Pick<RunPlan, "env" | "limitS">, code: Pick<RunPlan, "command" | "cwd" | "commit">) => {
      number += 1;
      const directory = this.#directory(`attribution-${number}`);
      const { session } = this.#identity;
      return this.#run({ role: "attribution", number, directory, session, ...code, ...plan }, this.attribution);
    };
    let reason: string | null = null;
    const subject: AttributionSubject = {
      request,
      scenario,
      root: repository.checkout.top,
      judged,
      judgement,
      stopReason: () => this.stopReason(),
      run: (plan) => run(plan, { command: scenario.command, cwd: scenario.cwd, commit: this.#identity.commit }),
      log: (line) => this.#ports.log(line),
      warn: (note) => this.#warn(note),
      noLine: (sentence) => {
        reason = sentence;
      },
    };
    const base = async (): Promise<PeakBase | { readonly reason: string }> => {
      const checkout = await this.#base();
      if ("reason" in checkout) return checkout;
      const { command, cwd, commit } = checkout;
      return { cwd, run: (plan) => run(plan, { command, cwd, commit }) };
    };
    const stored = this.baseline.kind === "found" ? (this.baseline.peak ?? null) : null;
    const growth = async () => ({ ...(await attribution.attributeGrowth(subject)), peak: null });
    const breached = attribution.peakToExplain(subject);
    const oom = judgement.checks.find(({ aspect, verdict }) => aspect === "oom" && verdict === "fail");
    const peak = async (check: Check) => {
      const beside = { ...subject, base, stored, stopReason: () => this.stopReason(true) };
      const explained =
        check === oom ? attribution.explainOutOfMemory(beside, check) : attribution.explainPeak(beside, check);
      return { ...(await explained), lost: false };
    };
    const searches = breached === null ? [growth] : [() => peak(breached), growth];
    if (breached !== null && attribution.isGrowth(subject, breached)) searches.reverse();
    if (oom !== undefined) searches.splice(0, searches.length, () => peak(oom));
    let found: AttributedGrowth & ExplainedPeak = { findings: [], lost: false, peak: null };
    let noLine: string | null = null;
    // Where one search names nothing, the other is made.
    for (const search of searches) {
      reason = null;
      const next = await search();
      const isNamed = next.findings.some(({ classification }) => NAMES_LINE.has(classification));
      const { lost, peak: seen } = found;
      found = {
        findings: isNamed || found.findings.length === 0 ? next.findings : found.findings,
        lost: lost || next.lost,
        peak: next.peak ?? seen,
      };
      noLine = isNamed ? null : (noLine ?? reason);
      if (isNamed) break;
    }
    const findings = await attribution.markChangedLines(found.findings, repository);
    if (judgement.verdict === "fail" || judgement.verdict === "warn") return { ...found, findings, noLine };
    if (noLine !== null) this.#warn(`no line: ${noLine}`);
    return { ...found, findings, noLine: null };
  }

  /** After a breach, the packages that the change locks to other versions; null for none. */
  async lockChanges({ verdict }: Judgement, findings: readonly Finding[]): Promise<LockChanges | null> {
    if (verdict !== "fail" && verdict !== "warn") return null;
    const { lockChanges } = await import("../../attribution/change/lock-changes.ts");
    return lockChanges(await this.context.repositories(this.scenario.cwd), findings);
  }

  #noBase(reason: string): null {
    this.#warn(`the base could not be run here (${reason}), so a breach stays unconfirmed`);
    return null;
  }

  #warn(note: string): void {
    this.warnings.push(`${this.scenario.name}: ${note}`);
  }

  /** All runs, in the order of a report. */
  runs(): readonly FinishedRun[] {
    return [
      ...this.candidate,
      ...this.base,
      ...this.attribution,
      ...this.#collected,
      ...this.superseded,
      ...this.stopped,
    ];
  }

  /** What was done to the gate's own files while the commands ran, one sentence each. */
  interference(): readonly string[] {
    return [...new Set([...this.#files.changes(), ...this.runs().flatMap((run) => run.interference)])];
  }

  async dispose(): Promise<void> {
    if (this.#checkout !== null && "dispose" in this.#checkout) await this.#checkout.dispose();
  }

  candidateMeasurements(): Measurements {
    return {
      scenario: this.scenario.name,
      fingerprint: this.candidate[0]?.info.fingerprint ?? null,
      runs: this.candidate.flatMap(({ measured }) => (measured === null ? [] : [measured])),
    };
  }

  /** Warnings about the policy: a budget inside the noise of the baseline. */
  lint(): readonly string[] {
    const known = this.baseline.kind === "found" ? this.baseline.measurements : null;
    return lintPolicy(this.#policy, known).map((note) => `${this.scenario.name}: ${note}`);
  }

  judge(possible: PossibleRuns): Judgement {
    return judge(this.judgeInput(possible));
  }

  judgeInput(possible: PossibleRuns): JudgeInput {
    return {
      candidate: this.candidateMeasurements(),
      baseline: this.baseline.kind === "found" ? this.baseline.measurements : null,
      baseRuns: measuredRuns(this.base),
      noBaseline: this.baseline.kind === "absent" ? `${this.baseline.reason}: ${this.baseline.nextStep}` : null,
      anchor: this.anchor,
      policy: this.#policy,
      baseRunsPossible: possible.baseRuns,
      moreRunsPossible: possible.moreRuns,
      baselineWanted: this.request.baselines.length > 0,
      anySteps: this.scenario.anySteps === true,
      collected: measuredRuns(this.#collected),
    };
  }
}
