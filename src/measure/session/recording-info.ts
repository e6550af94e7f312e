import os from "node:os";
import { GateError } from "../../core/errors.ts";
import { hideSecrets } from "../../core/process/hide-secrets.ts";
import type { Sampler, SamplerStats } from "../../sampler/sampler.ts";
import type { ExitState, Fingerprint, Recording, RecordingInfo } from "../../telemetry/recording/model.ts";
import { startedDevice } from "../../telemetry/recording/recorded-device.ts";
import { RAW_RECORD_FILE } from "../../telemetry/recording/run-files.ts";
import type { RankIdentity } from "../environment/identity.ts";
import type { OutputTotals } from "../launch/output-log.ts";
import { inPidNamespace } from "../launch/pid-namespace.ts";
import { argvOf, type MeasureRequest } from "./request.ts";

/** What is known before anything runs. */
interface RunFacts {
  readonly request: MeasureRequest;
  readonly identity: RankIdentity;
  readonly fingerprint: Fingerprint;
  /** CLOCK_MONOTONIC and Unix nanoseconds, now. */
  readonly monotonicNs: bigint;
  readonly epochNs: bigint;
}

/** The content of `recording.json` before the sampler runs. */
export function firstInfo({ request, identity, fingerprint, monotonicNs, epochNs }: RunFacts): RecordingInfo {
  return {
    schema: "stormlog.recording/1",
    complete: false,
    scenario: request.scenario,
    run: request.run,
    session: request.session,
    commit: request.commit,
    command: {
      argv: hideSecrets(argvOf(request.command)),
      shell: request.command.kind === "shell",
      cwd: request.cwd,
    },
    exit: { kind: "running" },
    clock: { monotonic_start_ns: String(monotonicNs), epoch_ns: String(epochNs), duration_s: null },
    identity: { ...identity, host: os.hostname() || "unknown", pid: -1 },
    fingerprint,
    sampler: {
      kind: "native",
      reason: "the sampler has not started yet",
      host_period_ns: request.hostPeriodNs,
      device_period_ns: request.devicePeriodNs,
      host_rate_hz: null,
      device_rate_hz: null,
      ticks: null,
      missed_ticks: null,
      cpu_s: null,
      cpu_budget_percent: request.cpuBudget === null ? null : request.cpuBudget * 100,
    },
    sources: [],
    peaks: [],
    output: null,
    lost: [],
  };
}

/** The same once the sampler runs: its clock is the recording's clock. */
export function startedInfo(
  info: RecordingInfo,
  sampler: Sampler,
  pid: number,
  fingerprint: Fingerprint,
): RecordingInfo {
  return {
    ...info,
    clock: {
      ...info.clock,
      monotonic_start_ns: String(sampler.monotonicStartNs),
      epoch_ns: String(sampler.epochNs),
    },
    identity: { ...info.identity, pid },
    fingerprint,
    sampler: { ...info.sampler, kind: sampler.kind, reason: sampler.reason },
    ...seenSources(sampler, info.identity.rank),
  };
}

/** The sources known so far: a driver may answer only after the start. */
function seenSources({ sources, devices }: Sampler, rank: number): Pick<RecordingInfo, "sources" | "devices"> {
  if (devices.length === 0) return { sources };
  return { sources, devices: devices.map((device) => startedDevice(device, rank, inPidNamespace())) };
}

interface RunResult {
  readonly exit: ExitState;
  readonly pid: number;
  readonly stats: SamplerStats;
  /** Ended. */
  readonly sampler: Sampler;
  readonly output: OutputTotals | null;
  readonly lost: readonly string[];
  /** Whether the gate was stopped by a signal meanwhile. */
  readonly stopped: boolean;
}

/** Share of missed ticks above which a note is made, the same for many runs: sampled peaks may then be too low. */
const MAX_MISSED = 0.05;

const rate = (ticks: number, durationNs: number): number | null => (durationNs > 0 ? ticks / (durationNs / 1e9) : null);

/** The same after the end of the run, without the peaks. */
export function finishedInfo(
  info: RecordingInfo,
  { exit, pid, stats, sampler, output, lost, stopped }: RunResult,
): RecordingInfo {
  const due = stats.ticks + stats.missedTicks;
  const notes = [...lost];
  if (stats.writeError !== null) notes.push(`samples after a failed write are missing: ${stats.writeError}`);
  if (stats.missedTicks > due * MAX_MISSED) {
    const share = stats.missedTicks > due / 2 ? "more than half" : `more than ${100 * MAX_MISSED} %`;
    const cause = stopped ? "the gate was stopped" : "the machine was too busy";
    notes.push(`${share} of the host samples were missed: ${cause}`);
  }
  for (const { name, lostRecords } of stats.workers ?? []) {
    if (lostRecords > 0)
      notes.push(`${lostRecords} readings of devices (${name}) were missed: the machine was too busy`);
  }
  return {
    ...info,
    ...seenSources(sampler, info.identity.rank),
    complete: true,
    exit,
    clock: { ...info.clock, duration_s: stats.durationNs / 1e9 },
    identity: { ...info.identity, pid },
    sampler: {
      ...info.sampler,
      host_rate_hz: rate(stats.ticks, stats.durationNs),
      device_rate_hz: sampler.devices.length > 0 ? rate(stats.deviceTicks, stats.durationNs) : null,
      ticks: stats.ticks,
      missed_ticks: stats.missedTicks,
      cpu_s: stats.cpuNs / 1e9,
    },
    output,
    lost: notes,
  };
}

/** With what is known once the record file was read back. */
export function withReadings(
  info: RecordingInfo,
  { peaks, cut }: Pick<Recording, "peaks"> & Partial<Pick<Recording, "cut">>,
  lost: readonly string[],
): RecordingInfo {
  return { ...info, peaks, lost: [...info.lost, ...lost], ...(cut === undefined ? {} : { cut }) };
}

/** Why a run's samples are not those of the whole run, unless the machine was busy; else null. */
export function samplingError({ writeError, missedTicks }: SamplerStats, stopped: boolean): GateError | null {
  if (writeError !== null) {
    return new GateError(
      "RECORD_FILE_INCOMPLETE",
      `${RAW_RECORD_FILE} could not be written to its end (${writeError})`,
      {
        kind: "error",
        hint: "Free space, or raise the limit on the size of files (ulimit -f). The measured command must not take either.",
      },
    );
  }
  if (!stopped || missedTicks === 0) return null;
  return new GateError("GATE_STOPPED", `the gate was stopped during the run and missed ${missedTicks} samples`, {
    kind: "error",
    hint: "Run again without suspending the gate (SIGSTOP, Ctrl-Z). The measured command must not send it signals.",
  });
}
