import os from "node:os";
import path from "node:path";
import { phasesMemory } from "../../analysis/growth/phases.ts";
import type { MeasuredRun } from "../../analysis/measurements.ts";
import type { AnalysisDocument } from "../../analysis/series/document.ts";
import { scenarioDirectory } from "../../baseline/identity.ts";
import type { GateRequest, ScenarioRequest } from "../../config/gate-request.ts";
import { GateError } from "../../core/errors.ts";
import type { Command } from "../../core/process/command.ts";
import { formatBytes } from "../../core/units.ts";
import type { RaisedWall } from "../../measure/launch/wall.ts";
import { loadReader, measure } from "../../measure/measure.ts";
import { outputTail } from "../../measure/session/output-tail.ts";
import type { ServiceRequest } from "../../measure/session/request.ts";
import type { RunReport } from "../../report/model/gate-report.ts";
import type { RunRole } from "../../report/model/report-schema.ts";
import type { Recording, RecordingInfo } from "../../telemetry/recording/model.ts";
import type { ServicePlan } from "../../telemetry/recording/service.ts";
import type { GatePorts } from "../ports/ports.ts";
import { failure, probedEnding, type RunEnding, runEnding, servedEnding, walledEnding } from "./run-ending.ts";
import { workElsewhere } from "./work-elsewhere.ts";

/** One execution, measured and analysed. */
export interface FinishedRun {
  readonly role: RunRole;
  /** Absolute run directory. */
  readonly directory: string;
  readonly info: RecordingInfo;
  readonly recording: Recording | null;
  readonly analysis: AnalysisDocument | null;
  readonly measured: MeasuredRun | null;
  readonly ending: RunEnding;
  /** What could not be measured or written: a sampler with limits, lost samples, a file that could not be written. */
  readonly warnings: readonly string[];
  /** What was done to the gate's own files while the command ran, one sentence each. */
  readonly interference: readonly string[];
  /** Why `recording.json` was not completed; null when it was. */
  readonly writeError: GateError | null;
}

/** A run that ended itself, or one that a limit or a cancellation ended, which is evidence and is never judged. */
export type RunOutcome =
  | { readonly kind: "whole"; readonly finished: FinishedRun }
  | { readonly kind: "stopped"; readonly finished: FinishedRun | null; readonly reason: string };

/** What is run, and in which directory. */
export interface RunPlan {
  readonly role: RunRole;
  /** 1-based, within the scenario and role. */
  readonly number: number;
  readonly directory: string;
  readonly command: Command;
  readonly cwd: string;
  readonly session: string;
  readonly commit: string | null;
  /** Why the run is made, for the status of a terminal; absent = its role and number. */
  readonly purpose?: string | undefined;
  /** Seconds left within the gate's cost limits; absent or null = no limit. The scenario's timeout applies too. */
  readonly limitS?: number | null | undefined;
  /** Variables of this run in addition to the scenario's. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Whether Java virtual machines are made to collect their heaps. */
  readonly collect?: boolean | undefined;
  /** What keeps the command from the gate; absent = nothing does. */
  readonly wall?: RaisedWall | undefined;
}

/** Loaded after the command has started, which does not wait for it. */
async function loadAnalysis() {
  const [{ analyze }, { measuredRun }] = await Promise.all([
    import("../../analysis/analyze.ts"),
    import("../../analysis/measured-run.ts"),
  ]);
  return { analyze, measuredRun };
}

/** A service is under load for as long as its host memory needs for a decision. */
async function serviceOf(plan: ServicePlan): Promise<ServiceRequest> {
  const { isDecided } = await import("../../analysis/service/decided.ts");
  return { plan, isDecided };
}

/** Where a run streams to: below this gate's own directory, so that a restarted machine overwrites nothing. */
function streamOf({ stream }: GateRequest, { name }: ScenarioRequest, { directory }: RunPlan): string | undefined {
  if (stream === null) return undefined;
  const began = new Date(performance.timeOrigin).toISOString().replace(/[-:]|\.\d+/g, "");
  const gate = `${began}-${os.hostname().replace(/[^\w.-]/g, "-")}-${process.pid}`;
  return path.join(stream, gate, scenarioDirectory(name), path.basename(directory));
}

/** Load, during a command that runs for longer, what its verdict needs. The result is the way to give that up. */
function preload(ports: GatePorts): () => void {
  const load = () => Promise.all([loadAnalysis(), loadReader(), ports.load?.()]);
  // From then on loading what the verdict needs costs the command below 1 % of its time on a single processor.
  const timer = setTimeout(() => void load().catch(() => {}), 10_000);
  return () => clearTimeout(timer);
}

function progressText(
  scenario: string,
  plan: RunPlan,
  live: { readonly timeNs: number; readonly hostBytes: number | null; readonly processes: number },
): string {
  const memory = live.hostBytes === null ? "" : `  host ${formatBytes(live.hostBytes)}`;
  const processes = live.processes > 1 ? `  ${live.processes} processes` : "";
  return `${scenario}: ${plan.purpose ?? `${plan.role} run ${plan.number}`}  ${(live.timeNs / 1e9).toFixed(1)} s${memory}${processes}`;
}

/** The shorter of two limits, seconds; null = none. */
export function shorter(one: number | null, other: number | null): number | null {
  return one === null ? other : other === null ? one : Math.min(one, other);
}

/**
 * Measure one run, and analyse it. Its directory has what the sampler and the probes left; the files that others read
 * are written by {@link writeFilesOf}.
 * @throws GateError when the run directory itself cannot be made; everything later is a warning, since no evidence may
 *   be lost
 */
export async function oneRun(
  request: GateRequest,
  scenario: ScenarioRequest,
  plan: RunPlan,
  ports: GatePorts,
): Promise<FinishedRun> {
  const service = scenario.service === undefined ? undefined : await serviceOf(scenario.service);
  const cancelPreload = preload(ports);
  const { info, recording, interference, integrityError, writeError } = await measure({
    scenario: scenario.name,
    run: plan.number,
    session: plan.session,
    commit: plan.commit,
    command: plan.command,
    cwd: plan.cwd,
    env: request.env,
    extraEnv: { ...scenario.env, ...plan.env },
    directory: plan.directory,
    stream: streamOf(request, scenario, plan),
    wall: plan.wall,
    ignore: scenario.ignore,
    service,
    timeoutS: shorter(scenario.timeoutS, plan.limitS ?? null),
    hostPeriodNs: request.hostPeriodNs,
    devicePeriodNs: request.devicePeriodNs,
    cpuBudget: request.cpuBudget,
    // An attribution run prints what the judged one printed; its log is in the bundle.
    stdout: plan.role === "attribution" ? null : ports.stdout,
    stderr: plan.role === "attribution" ? null : ports.stderr,
    interrupt: ports.interrupt,
    ...(ports.progress === null
      ? {}
      : { onProgress: (live) => ports.progress?.(progressText(scenario.name, plan, live)) }),
    scenarioDefinition: scenario.definition,
    probe: request.probe,
    collect: plan.collect ?? false,
    debug: request.debug,
  }).finally(cancelPreload);
  ports.progress?.(null);
  const served = servedEnding(runEnding(info.exit, info.oom, info.command), info);
  const ended = probedEnding(served, request.probe, info);
  const own = walledEnding(ended, info, () => outputTail(plan.directory));
  // Samples that are altered or missing prove nothing, neither a breach nor its absence.
  const ending =
    integrityError === null || own.kind !== "ok"
      ? own
      : failure(integrityError.code, integrityError.message, integrityError.hint ?? null);
  const deeds =
    integrityError === null || own.kind === "ok" ? interference : [...interference, `${integrityError.message}.`];
  const { analyze, measuredRun } = await loadAnalysis();
  const analysis =
    recording === null ? null : analyze(recording, { horizon: scenario.horizon, phases: request.gatingPhases });
  const origin = { session: plan.session, commit: plan.commit };
  const measured = analysis === null ? unsampled(info, origin) : measuredRun(analysis, origin);
  // What leaks is here, wherever else work is done.
  const leaks = measured?.series.some((series) => series.class === "leak");
  const elsewhere = plan.role === "candidate" && info.run === 1 && !leaks ? workElsewhere(info) : null;
  // Without the run's number, so that the same notice of several runs is printed once.
  const warnings = [info.sampler.reason, ...info.lost, elsewhere].filter((note) => note !== null);
  const { role, directory } = plan;
  return { role, directory, info, recording, analysis, measured, ending, warnings, interference: deeds, writeError };
}

/**
 * Write the files of a run's directory. Base and attribution runs leave no telemetry-named files: a loader that reads
 * the whole bundle must not mistake one for the candidate. What cannot be written is a warning.
 */
export async function writeFilesOf(run: FinishedRun, request: GateRequest): Promise<FinishedRun> {
  if (run.recording === null) return run;
  const { writeRunFiles } = await import("../../telemetry/run-directory.ts");
  try {
    const { info } = await writeRunFiles(run.directory, run.recording, {
      warningPercent: request.warningPercent,
      criticalPercent: request.criticalPercent,
      csv: request.csv,
      telemetry: run.role === "candidate",
      infoWritten: true,
    });
    if (info === null) return run;
    return { ...run, info, warnings: [...run.warnings, ...info.lost.slice(run.info.lost.length)] };
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    return { ...run, warnings: [...run.warnings, `${path.basename(run.directory)}: ${error.message}`] };
  }
}

/** A run whose samples are lost is not judged, unless it is known to have run out of memory. */
function unsampled(info: RecordingInfo, origin: Pick<MeasuredRun, "session" | "commit">): MeasuredRun | null {
  return info.oom?.certainty === "established" ? { ...origin, series: [], oom: true } : null;
}

/** The run as a report shows it; `bundle` is the bundle's absolute directory. */
export function runReport(run: FinishedRun, bundle: string): RunReport {
  const phases = run.recording === null ? null : phasesMemory(run.recording);
  return {
    role: run.role,
    directory: path.relative(bundle, run.directory),
    info: run.info,
    analysis: run.analysis,
    ...(phases === null ? {} : { phases }),
  };
}
