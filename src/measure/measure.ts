import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { assertNever, GateError, usageError } from "../core/errors.ts";
import type { Sampler } from "../sampler/sampler.ts";
import { denyInspection, startSampler } from "../sampler/start.ts";
import type { ExitState, RecordingInfo } from "../telemetry/recording/model.ts";
import { PROBE_FOLDER } from "../telemetry/recording/probe-files.ts";
import { RAW_RECORD_FILE, type RecordFile, readRecordFile } from "../telemetry/recording/record-file.ts";
import { lossesOf, recordFileToRecording } from "../telemetry/recording/record-recording.ts";
import { collectFingerprint, pythonVersion } from "./environment/fingerprint.ts";
import { rankIdentity } from "./environment/identity.ts";
import { type ProbeEnvironment, probeEnvironment, STEP_FILE } from "./environment/probe-environment.ts";
import { type PythonUse, pythonUse } from "./environment/python-flags.ts";
import { MARKER_VARIABLE, scrubEnvironment } from "./environment/scrub-environment.ts";
import { endedTogether } from "./launch/ended-together.ts";
import { findExecutable } from "./launch/find-executable.ts";
import { machineKillsNow } from "./launch/kernel-watch.ts";
import { type CommandEnd, type Launched, launch } from "./launch/launch.ts";
import { OutputLog } from "./launch/output-log.ts";
import { OutputTee } from "./launch/output-tee.ts";
import { ProcessTree } from "./launch/process-tree.ts";
import { explainStartFailure } from "./launch/start-failure.ts";
import { endLeftovers, stopTree } from "./launch/stop-tree.ts";
import { withOutOfMemory } from "./session/out-of-memory.ts";
import { type ProbeSetup, withProbe } from "./session/probe-info.ts";
import { finishedInfo, firstInfo, startedInfo, withPeaks } from "./session/recording-info.ts";
import { argvOf, interruptName, type MeasureRequest } from "./session/request.ts";
import {
  checkWorkingDirectory,
  createRunDirectory,
  OUTPUT_FILE,
  unwritable,
  writeRecordingInfo,
} from "./session/run-directory.ts";
import { randomId } from "./session/session.ts";

export type { MeasureRequest } from "./session/request.ts";

const PROGRESS_MS = 100;
/** setTimeout counts in 31 bits of milliseconds; 24 days are no limit for a run. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/**
 * Run a command under the sampler and leave a recording in `request.directory`: `recording.json`, `samples.rec` and
 * `output.log`. The command's failure, a timeout and an interruption are answers (`exit`), not errors; by the time this
 * resolves nothing of the command runs any more.
 *
 * The command gets no stdin, its own session, `STORMLOG_GATE_RUN` in its environment and, unless `request.probe` is off, what
 * makes its Python processes load the probe, whose files go to `probe/` of the directory.
 *
 * @throws GateError COMMAND_MISSING, CWD_NOT_FOUND, CWD_NOT_DIRECTORY, RUN_DIRECTORY_IN_USE, RUN_DIRECTORY_UNWRITABLE,
 *   RECORD_FILE_UNWRITABLE, LAUNCH_FAILED, RANK_INVALID, INTERRUPTED (before anything was started)
 */
export async function measure(request: MeasureRequest): Promise<RecordingInfo> {
  const argv = argvOf(request.command);
  const [argv0] = argv;
  if (argv0 === undefined || argv0 === "") {
    throw usageError(
      "COMMAND_MISSING",
      "there is no command to measure",
      "Give one after --, or in the scenario's run.",
    );
  }
  if (request.interrupt.aborted) {
    throw new GateError("INTERRUPTED", `interrupted by ${interruptName(request.interrupt)} before the run began`, {
      kind: "interrupted",
    });
  }
  checkWorkingDirectory(request.cwd);
  const marker = randomId();
  const { env, dropped } = scrubEnvironment(request.env, request.extraEnv, marker);
  // The dropped variables still stand in this process's own environment, which the command could read.
  if (dropped.length > 0) denyInspection();
  const identity = rankIdentity(env);
  const python = await pythonVersion(argv0, request.cwd, env);
  const describe = (devices: Sampler["devices"]) =>
    collectFingerprint({
      devices,
      env,
      worldSize: identity.world_size,
      scenarioDefinition: request.scenarioDefinition,
      python,
    });
  createRunDirectory(request.directory);
  const probe = request.probe === "off" ? null : openProbe(request, env);
  const setup: ProbeSetup =
    probe === null
      ? { kind: "off" }
      : { kind: "on", use: await usedPython(argv, request.cwd, env), missing: probe.missing };
  let info = firstInfo({
    request,
    identity,
    fingerprint: await describe([]),
    monotonicNs: process.hrtime.bigint(),
    epochNs: BigInt(Date.now()) * 1_000_000n,
  });
  writeRecordingInfo(request.directory, info);
  const log = openLog(request.directory);
  const killsBefore = machineKillsNow();
  let launched: Launched;
  try {
    launched = await launch({ argv, cwd: request.cwd, env: probe?.env ?? env });
  } catch (error) {
    log.close();
    throw error;
  }
  const tree = new ProcessTree(launched.rootPid, `${MARKER_VARIABLE}=${marker}`);
  const tees = [
    new OutputTee(launched.stdout, (chunk) => log.write(chunk), request.stdout),
    new OutputTee(launched.stderr, (chunk) => log.write(chunk), request.stderr),
  ];
  let sampler: Sampler | undefined;
  let beganNs: number | null = null;
  const lost: string[] = [...(launched.reason === null ? [] : [launched.reason]), ...(probe?.lost ?? [])];
  let exit: ExitState;
  try {
    sampler = startSampler({
      file: path.join(request.directory, RAW_RECORD_FILE),
      rootPid: launched.rootPid,
      includeRoot: false,
      hostPeriodNs: request.hostPeriodNs,
      devicePeriodNs: request.devicePeriodNs,
      cpuBudget: request.cpuBudget,
      marker: `${MARKER_VARIABLE}=${marker}`,
      probeDirectory: probe === null ? null : path.join(request.directory, PROBE_FOLDER),
    });
    info = startedInfo(info, sampler, launched.commandPid() ?? -1, await describe(sampler.devices));
    writeRecordingInfo(request.directory, info);
    if (launched.commandPid() === null) {
      // Whoever reads the recording of a killed gate wants the pid; that it cannot be written is told at the end.
      const early = info;
      void launched.pidKnown
        .then((pid) => writeRecordingInfo(request.directory, { ...early, identity: { ...early.identity, pid } }))
        .catch(() => {});
    }
    beganNs = Number(process.hrtime.bigint() - sampler.monotonicStartNs);
    const end = await watch(request, launched, tree, sampler);
    exit = end.kind === "exec-failed" ? await explainStartFailure(end.errno, argv0, request.cwd, env.PATH) : end;
  } finally {
    // Samples after the command's end are not the command's.
    sampler?.stop();
    lost.push(...(await endLeftovers(launched, tree)));
    for (const tee of tees) {
      if (!(await tee.finish())) lost.push("the end of the output: another process still holds the pipe");
      if (tee.sinkError !== null) lost.push(`output was no longer shown: ${tee.sinkError}`);
    }
    log.close();
  }
  if (exit.kind === "running") lost.push("the launcher ended before the command: how the command ended was not seen");
  if (log.error !== null) lost.push(`output after a failed write is missing from ${OUTPUT_FILE}: ${log.error}`);
  info = finishedInfo(info, {
    exit,
    pid: launched.commandPid() ?? -1,
    stats: sampler.stop(),
    sampler,
    output: log.totals(),
    lost,
  });
  const { devices } = sampler;
  // A driver may have answered only after the start.
  if (devices.length > 0) info = { ...info, fingerprint: await describe(devices) };
  info = await judgedByEvidence(info, request.directory, {
    killsBefore,
    withProbe: (known, file) => withProbe(known, request.directory, file, { setup, drivers: devices, beganNs }),
  });
  writeRecordingInfo(request.directory, info);
  return info;
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
  request: MeasureRequest,
  launched: Launched,
  tree: ProcessTree,
  sampler: Sampler,
): Promise<ExitState | Extract<CommandEnd, { kind: "exec-failed" }>> {
  const { interrupt, onProgress, timeoutS } = request;
  const progress = onProgress === undefined ? undefined : setInterval(() => onProgress(sampler.live()), PROGRESS_MS);
  let timer: NodeJS.Timeout | undefined;
  let abort: (() => void) | undefined;
  try {
    const stopped = new Promise<ExitState>((resolve) => {
      if (timeoutS !== null) {
        const ms = Math.min(TIMER_MAX_MS, timeoutS * 1000);
        timer = setTimeout(() => resolve({ kind: "timeout", after_s: timeoutS }), ms);
      }
      abort = () => resolve({ kind: "interrupted", signal: interruptName(interrupt) });
      interrupt.addEventListener("abort", abort, { once: true });
      if (interrupt.aborted) abort();
    });
    launched.send("g");
    const first = await Promise.race([launched.ended, stopped]);
    switch (first.kind) {
      case "exited":
      case "signaled":
        if (!(await endedTogether(first, interrupt))) return first;
        await stopTree(launched, tree);
        return { kind: "interrupted", signal: interruptName(interrupt) };
      case "exec-failed":
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
  return probeEnvironment(env, directory, request.debug ?? false);
}

async function usedPython(
  argv: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<PythonUse> {
  const found = await findExecutable(argv[0] ?? "", cwd, env.PATH);
  return pythonUse(argv, found.kind === "found" ? found.path : null);
}

interface Evidence {
  /** Kills of the machine's kernel before the command began. */
  readonly killsBefore: number | null;
  readonly withProbe: (info: RecordingInfo, file: RecordFile | null) => RecordingInfo;
}

/**
 * What the probes told, peaks by the rule of the recording model, and whether memory ran out; a record file that cannot be read
 * back costs the peaks, not the run.
 */
async function judgedByEvidence(
  info: RecordingInfo,
  directory: string,
  { killsBefore, withProbe }: Evidence,
): Promise<RecordingInfo> {
  try {
    const file = await readRecordFile(path.join(directory, RAW_RECORD_FILE));
    const told = withOutOfMemory(withProbe(info, file), directory, file, killsBefore);
    return withPeaks(told, recordFileToRecording(file, told).peaks, lossesOf(file, told));
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    const told = withOutOfMemory(withProbe(info, null), directory, null, killsBefore);
    return withPeaks(told, [], [`peaks: ${error.message}`]);
  }
}
