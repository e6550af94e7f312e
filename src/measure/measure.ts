import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { assertNever, GateError, usageError } from "../core/errors.ts";
import { findExecutable } from "../core/process/find-executable.ts";
import { denyInspection } from "../sampler/native.ts";
import { readStat } from "../sampler/proc.ts";
import type { Sampler } from "../sampler/sampler.ts";
import { requireSampler, startSampler } from "../sampler/start.ts";
import type { ExitState, Fingerprint, RecordingInfo } from "../telemetry/recording/model.ts";
import { OUTPUT_FILE, PROBE_FOLDER, RAW_RECORD_FILE } from "../telemetry/recording/run-files.ts";
import { collectFingerprint, declaredCommand } from "./environment/fingerprint.ts";
import { rankIdentity } from "./environment/identity.ts";
import { type ProbeEnvironment, probeEnvironment, STEP_FILE } from "./environment/probe-environment.ts";
import { type PythonUse, pythonUse } from "./environment/python-flags.ts";
import { MARKER_VARIABLE, scrubEnvironment } from "./environment/scrub-environment.ts";
import type { JvmWatch } from "./jvm/jvm-watch.ts";
import { launch } from "./launch/launch.ts";
import { machineKillsNow } from "./launch/machine-kills.ts";
import { OutputLog } from "./launch/output-log.ts";
import { OutputTee } from "./launch/output-tee.ts";
import { ProcessTree } from "./launch/process-tree.ts";
import type { CommandEnd, Launched, Wall } from "./launch/start-in-session.ts";
import { endLeftovers, stopTree } from "./launch/stop-tree.ts";
import { wallOfRun } from "./launch/wall.ts";
import type { ServiceRun } from "./service/service-run.ts";
import type { ProbeSetup } from "./session/probe-info.ts";
import { ProgramNames } from "./session/program-names.ts";
import { RamFiles } from "./session/ram-files.ts";
import { finishedInfo, firstInfo, samplingError, startedInfo } from "./session/recording-info.ts";
import type { EndedRun, MeasuredRecording } from "./session/recording-of.ts";
import { argvOf, interruptName, type MeasureRequest } from "./session/request.ts";
import { checkWorkingDirectory, createRunDirectory, unwritable, writeRecordingInfo } from "./session/run-directory.ts";
import { randomId } from "./session/session.ts";
import type { EvidenceStream } from "./stream/evidence-stream.ts";

/**
 * Run a command under the sampler and leave a run directory in `request.directory`: `recording.json`, `samples.rec` and
 * `output.log`. A failure of the command, a timeout and an interruption are results (`info.exit`), not errors. No
 * process of the command is alive when this resolves.
 *
 * The command gets no stdin, its own session, `STORMLOG_GATE_RUN` in its environment and, unless `request.probe` is
 * off, what makes its Python processes load the probe, whose files go to `probe/` of the directory.
 *
 * @throws GateError COMMAND_MISSING, CWD_NOT_FOUND, CWD_NOT_DIRECTORY, RUN_DIRECTORY_IN_USE, RUN_DIRECTORY_UNWRITABLE,
 *   RECORD_FILE_UNWRITABLE, LAUNCH_FAILED, RANK_INVALID, SAMPLER_NATIVE_MISSING, INTERRUPTED (before the start)
 */
export async function measure(request: MeasureRequest): Promise<MeasuredRecording> {
  const prepared = await prepare(request);
  const ran = await runUnderSampler(prepared, await launchHeld(prepared));
  const { recordingOf } = await loadReader();
  const read = await recordingOf(prepared, ran);
  const note = await prepared.stream?.end(read.info);
  const measured = note ? { ...read, info: { ...read.info, lost: [...read.info.lost, note] } } : read;
  try {
    writeRecordingInfo(request.directory, measured.info);
  } catch (error) {
    // The command may have removed the directory, which costs evidence and not the verdict.
    if (!(error instanceof GateError)) throw error;
    const info = { ...measured.info, lost: [...measured.info.lost, error.message] };
    return { ...measured, info, writeError: error };
  }
  return measured;
}

/** What reads a finished run: the command does not wait for it. */
export const loadReader = () => import("./session/recording-of.ts");

/** Everything that is known and made before the command is launched. */
interface PreparedRun {
  readonly request: MeasureRequest;
  readonly argv: readonly string[];
  /** Environment of the command, without the variables of the probe. */
  readonly env: Readonly<Record<string, string>>;
  /** The variable that marks every process of the run, `NAME=value`. */
  readonly marker: string;
  readonly describe: (devices: Sampler["devices"]) => Promise<Fingerprint>;
  readonly probe: ProbeEnvironment | null;
  readonly setup: ProbeSetup;
  readonly info: RecordingInfo;
  readonly log: OutputLog;
  /** Kills of the machine's kernel before the command began. */
  readonly killsBefore: number | null;
  /** Null where another rank of this machine looks at the files. */
  readonly ramFiles: RamFiles | null;
  /** Null for a command that ends by itself. */
  readonly service: ServiceRun | null;
  /** Null where no copy of the evidence is wanted. */
  readonly stream: EvidenceStream | null;
  readonly wall: Wall | null;
}

async function prepare(request: MeasureRequest): Promise<PreparedRun> {
  const argv = argvOf(request.command);
  const [argv0] = argv;
  if (argv0 === undefined || argv0 === "") {
    throw usageError(
      "COMMAND_MISSING",
      "no command to measure was given",
      "Give one after --, or in the scenario's run.",
    );
  }
  if (request.interrupt.aborted) {
    throw new GateError("INTERRUPTED", `interrupted by ${interruptName(request.interrupt)} before the run began`, {
      kind: "interrupted",
    });
  }
  checkWorkingDirectory(request.cwd);
  requireSampler();
  const marker = randomId();
  const { env, dropped } = scrubEnvironment(request.env, request.extraEnv, marker);
  // This process's own environment still has the dropped variables, and the command could read it.
  if (dropped.length > 0) denyInspection();
  const identity = rankIdentity(env);
  const { scenarioDefinition, ignore } = request;
  const isolation = request.wall?.isolation.got;
  const command = declaredCommand(request.command, request.cwd);
  const describe = (devices: Sampler["devices"]) =>
    collectFingerprint({
      devices,
      env,
      worldSize: identity.world_size,
      scenarioDefinition,
      command,
      ignore,
      isolation,
    });
  createRunDirectory(request.directory);
  const probe = request.probe === "off" ? null : openProbe(request, env);
  const setup: ProbeSetup =
    probe === null
      ? { kind: "off" }
      : { kind: "on", use: await usedPython(argv, request.cwd, env), missing: probe.missing };
  const info = firstInfo({
    request,
    identity,
    fingerprint: await describe([]),
    monotonicNs: process.hrtime.bigint(),
    epochNs: BigInt(Date.now()) * 1_000_000n,
  });
  // Before there are samples, so that those of a killed gate are never without it.
  writeRecordingInfo(request.directory, info);
  const log = openLog(request.directory);
  const variable = `${MARKER_VARIABLE}=${marker}`;
  const looks = (identity.local_rank ?? identity.rank) === 0;
  const ramFiles = looks ? new RamFiles(request.directory) : null;
  const killsBefore = machineKillsNow();
  const written = probe === null ? null : path.join(request.directory, PROBE_FOLDER);
  const wall = request.wall === undefined ? null : wallOfRun(request.wall, request.directory, written);
  const service = await serviceOf(request);
  const known = { request, argv, env, marker: variable, describe, probe, setup, info, log };
  return { ...known, killsBefore, ramFiles, service, stream: await streamOf(request), wall };
}

async function serviceOf({ service, command, directory }: MeasureRequest): Promise<ServiceRun | null> {
  if (service === undefined) return null;
  const { ServiceRun } = await import("./service/service-run.ts");
  return ServiceRun.of(service, command, directory);
}

async function streamOf({ stream, directory }: MeasureRequest): Promise<EvidenceStream | null> {
  if (stream === undefined) return null;
  const { EvidenceStream } = await import("./stream/evidence-stream.ts");
  return new EvidenceStream(stream, directory);
}

async function launchHeld({ request, argv, env, probe, log, service, wall }: PreparedRun): Promise<Launched> {
  try {
    return await launch({ argv: service?.argv(argv) ?? argv, cwd: request.cwd, env: probe?.env ?? env, wall });
  } catch (error) {
    log.close();
    throw error;
  }
}

/** Linux counts processor time in hundredths of a second, whatever its own clock (USER_HZ; `man 5 proc`). */
const TICKS_PER_S = 100;

/** Sample the held command from before it starts until all of its processes have ended. */
async function runUnderSampler(prepared: PreparedRun, launched: Launched): Promise<EndedRun> {
  const { request, argv, env, log, probe, describe, ramFiles, service, stream } = prepared;
  const tree = new ProcessTree(launched.rootPid, launched.walled ? null : prepared.marker);
  const programs = new ProgramNames();
  const write = (chunk: Uint8Array): void => {
    log.write(chunk);
    service?.print(chunk);
  };
  const tees = [
    new OutputTee(launched.stdout, write, request.stdout),
    new OutputTee(launched.stderr, write, request.stderr),
  ];
  const lost: string[] = [...(launched.reason === null ? [] : [launched.reason]), ...(probe?.lost ?? [])];
  let { info } = prepared;
  const ticksBefore = readStat(process.pid)?.childrenTicks;
  // Nothing but this signal continues a stopped process, so that it shows a stop of any length.
  let stopped = false;
  const onContinue = (): void => {
    stopped = true;
  };
  process.on("SIGCONT", onContinue);
  let sampler: Sampler | undefined;
  let jvms: JvmWatch | undefined;
  let beganNs: number | null = null;
  let exit: ExitState | undefined;
  try {
    sampler = await samplerOf(prepared, launched);
    info = startedInfo(info, sampler, launched.commandPid() ?? -1, await describe(sampler.devices));
    writeRecordingInfo(request.directory, info);
    stream?.start(() => ({
      info: service === null ? info : { ...info, service: service.record },
      programs: programs.all(),
    }));
    const { monotonicStartNs } = sampler;
    const elapsedNs = (): number => Number(process.hrtime.bigint() - monotonicStartNs);
    beganNs = elapsedNs();
    ramFiles?.watch(() => {
      const pids = tree.members().map(({ pid }) => pid);
      programs.look(pids);
      return pids;
    }, elapsedNs);
    jvms = await watchJvms(prepared, launched);
    const end = await watch(prepared, launched, tree, sampler);
    if (end.kind === "exec-failed") {
      const { explainStartFailure } = await import("./launch/start-failure.ts");
      exit = await explainStartFailure(end.errno, argv[0]!, request.cwd, env.PATH);
    } else exit = end;
  } finally {
    lost.push(...((await jvms?.stop()) ?? []));
    const served = await service?.finish();
    if (served !== undefined) info = { ...info, service: served };
    // Samples after the command's end are not the command's.
    sampler?.stop();
    const note = exit?.kind === "stopped" ? await service?.stop(launched, tree) : null;
    if (note) lost.push(note);
    lost.push(...(await endLeftovers(launched, tree)));
    await stream?.stop();
    process.off("SIGCONT", onContinue);
    for (const tee of tees) {
      if (!(await tee.finish())) lost.push("the end of the output: another process still holds the pipe");
      if (tee.sinkError !== null) lost.push(`output was no longer shown: ${tee.sinkError}`);
    }
    log.close();
  }
  if (exit.kind === "running") lost.push("the launcher ended before the command: how the command ended was not seen");
  if (log.error !== null) lost.push(`output after a failed write is missing from ${OUTPUT_FILE}: ${log.error}`);
  const pid = launched.commandPid() ?? -1;
  const stats = sampler.stop();
  info = finishedInfo(info, { exit, pid, stats, sampler, output: log.totals(), lost, stopped });
  const { devices } = sampler;
  // A driver may have answered only after the start.
  if (devices.length > 0) info = { ...info, fingerprint: await describe(devices) };
  info = { ...info, ...ramFiles?.end() };
  const ticks = readStat(process.pid)?.childrenTicks;
  if (ticks !== undefined && ticksBefore !== undefined) info = { ...info, cpu_s: (ticks - ticksBefore) / TICKS_PER_S };
  return { info, devices, beganNs, programs, records: sampler, samplingError: samplingError(stats, stopped) };
}

function samplerOf({ request, marker, probe }: PreparedRun, launched: Launched): Promise<Sampler> {
  return startSampler({
    file: path.join(request.directory, RAW_RECORD_FILE),
    rootPid: launched.rootPid,
    includeRoot: launched.rootPid === launched.commandPid(),
    hostPeriodNs: request.hostPeriodNs,
    devicePeriodNs: request.devicePeriodNs,
    cpuBudget: request.cpuBudget,
    marker: launched.walled ? null : marker,
    ...(request.ignore === undefined ? {} : { ignore: request.ignore.join("\n") }),
    probeDirectory: probe === null ? null : path.join(request.directory, PROBE_FOLDER),
  });
}

/** Java virtual machines are found by `/proc`, and what is read of them is recorded as a probe's. */
async function watchJvms({ request, probe }: PreparedRun, { rootPid }: Launched): Promise<JvmWatch | undefined> {
  if (probe === null || process.platform !== "linux") return undefined;
  const { JvmWatch } = await import("./jvm/jvm-watch.ts");
  return new JvmWatch(rootPid, path.join(request.directory, PROBE_FOLDER), request.collect === true);
}

function openLog(directory: string): OutputLog {
  const file = path.join(directory, OUTPUT_FILE);
  try {
    return new OutputLog(file);
  } catch (error) {
    throw unwritable(file, error);
  }
}

/** Let the command go and wait for its end, the timeout or an interruption; in the latter cases end its tree. */
async function watch(
  { request, service, wall }: PreparedRun,
  launched: Launched,
  tree: ProcessTree,
  sampler: Sampler,
): Promise<ExitState | Extract<CommandEnd, { kind: "exec-failed" }>> {
  const { interrupt, onProgress, timeoutS } = request;
  const progress = onProgress === undefined ? undefined : setInterval(() => onProgress(sampler.live()), 100);
  let timer: NodeJS.Timeout | undefined;
  let abort: (() => void) | undefined;
  try {
    const stopped = new Promise<ExitState>((resolve) => {
      if (timeoutS !== null) {
        // setTimeout counts milliseconds in 31 bits; 24 days do not limit a run.
        const ms = Math.min(2 ** 31 - 1, timeoutS * 1000);
        timer = setTimeout(() => resolve({ kind: "timeout", after_s: timeoutS }), ms);
      }
      abort = () => resolve({ kind: "interrupted", signal: interruptName(interrupt) });
      interrupt.addEventListener("abort", abort, { once: true });
      if (interrupt.aborted) abort();
    });
    launched.send("g");
    const { cwd, env, extraEnv } = request;
    const served = service?.drive({ cwd, wall }, env, extraEnv, sampler);
    const first = await Promise.race([launched.ended, stopped, ...(served === undefined ? [] : [served])]);
    switch (first.kind) {
      case "exited":
      case "signaled":
        if (!(await endedTogether(first, interrupt))) return first;
        await stopTree(launched, tree);
        return { kind: "interrupted", signal: interruptName(interrupt) };
      case "exec-failed":
      case "stopped":
        return first;
      case "lost":
        return { kind: "running" };
      case "timeout":
      case "interrupted":
        await stopTree(launched, tree);
        return first;
      case "running":
      case "not-started":
        throw new Error(`a watched command cannot end as ${first.kind}`);
      default:
        return assertNever(first);
    }
  } finally {
    clearInterval(progress);
    clearTimeout(timer);
    if (abort !== undefined) interrupt.removeEventListener("abort", abort);
  }
}

/** The probe's directory, made, and the environment that leads the command's processes to it. */
function openProbe(request: MeasureRequest, env: Readonly<Record<string, string>>): ProbeEnvironment {
  const directory = path.join(request.directory, PROBE_FOLDER);
  try {
    mkdirSync(directory);
    // There from the start, so that the sampler need not find it first.
    writeFileSync(path.join(directory, STEP_FILE), "");
  } catch (error) {
    throw unwritable(directory, error);
  }
  return probeEnvironment(env, directory, request.debug ?? false, request);
}

async function usedPython(
  argv: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<PythonUse> {
  const found = await findExecutable(argv[0] ?? "", cwd, env.PATH);
  return pythonUse(argv, found.kind === "found" ? found.path : null);
}

/** Signals that end the gate in order, with the exit status that a command often has after one of them. */
const ENDING = new Map([
  ["SIGHUP", 129],
  ["SIGINT", 130],
  ["SIGTERM", 143],
]);

function endedBySignal(end: CommandEnd): boolean {
  if (end.kind === "signaled") return ENDING.has(end.signal);
  return end.kind === "exited" && [...ENDING.values()].includes(end.code);
}

/**
 * Whether a command that ended by a signal was ended together with the gate: schedulers signal every process of a job,
 * and which of them hears it first is chance. It is then the job that was ended, not the command that failed.
 */
export async function endedTogether(end: CommandEnd, interrupt: AbortSignal): Promise<boolean> {
  if (!endedBySignal(end)) return false;
  // A signal to a whole process group or job step reaches its processes within ms; a busy machine takes longer.
  if (!interrupt.aborted) await sleep(300, null, { signal: interrupt }).catch(() => null);
  return interrupt.aborted;
}
