import { AllocatorKind, ProcessRole } from "../../sampler/record-layout.ts";
import type { DeviceReport } from "../../sampler/sampler.ts";
import type { Fingerprint, ProbeDevice, ProbeProcess } from "../../telemetry/recording/model.ts";
import { KIND_NAMES } from "../../telemetry/recording/probe-devices.ts";
import type { RecordedStream } from "../../telemetry/recording/recorded-streams.ts";
import { common, commonSize, migProfileOf } from "./fingerprint.ts";

/** "2.13" of "2.13.0+cpu"; null when it does not begin with two numbers. */
export function majorMinor(version: string | undefined): string | null {
  return /^\d+\.\d+/.exec(version ?? "")?.[0] ?? null;
}

/** The process that represents the job: one that counts steps, else one with devices, else one with a framework. */
function mainOf(processes: readonly ProbeProcess[]): ProbeProcess | undefined {
  const weight = (one: ProbeProcess): number =>
    4 * Number(one.steps_from !== null) + 2 * Number(one.devices.length > 0) + Number(one.framework !== null);
  return processes
    .filter(({ role, framework }) => role !== "agent" && framework !== null)
    .sort((a, b) => weight(b) - weight(a) || (a.rank ?? 0) - (b.rank ?? 0) || a.pid - b.pid)[0];
}

interface UsedDevice {
  readonly kind: AllocatorKind;
  readonly device: ProbeDevice | null;
  readonly driver: DeviceReport | null;
}

/** The devices on which an allocator of the job held something. */
function usedDevices(
  streams: readonly RecordedStream[],
  processes: readonly ProbeProcess[],
  drivers: readonly DeviceReport[],
): UsedDevice[] {
  return streams.flatMap((stream): UsedDevice[] => {
    if (stream.kind === AllocatorKind.hostHeap || stream.role === ProcessRole.agent) return [];
    const ownName = `${KIND_NAMES[stream.kind]}:${stream.index}`;
    const device =
      processes
        .filter(({ pid }) => pid === stream.pid)
        .flatMap(({ devices }) => devices)
        .find((one) => one.own_name === ownName) ?? null;
    const driver = drivers.find(({ index }) => index === device?.driver_index) ?? null;
    return [{ kind: stream.kind, device, driver }];
  });
}

function backendOf(main: ProbeProcess, used: readonly UsedDevice[]): string {
  const kinds = new Set(used.map(({ kind, device }) => (device?.name.startsWith("cuda:") ? AllocatorKind.cuda : kind)));
  if (kinds.has(AllocatorKind.cuda)) return main.versions.hip === undefined ? "cuda" : "rocm";
  if (kinds.has(AllocatorKind.mps)) return "mps";
  if (kinds.has(AllocatorKind.xpu)) return "xpu";
  return "cpu";
}

/** The profiles of the instances in use; null where none is one. */
const profilesOf = (used: readonly UsedDevice[]): string | null =>
  common(used.map(({ driver }) => (driver === null ? null : migProfileOf(driver))));

/** Settings from the environment, and what the process itself set beyond them. */
function allocatorSettings(fromEnvironment: Fingerprint[string], own: string | null): Fingerprint[string] {
  const settings = fromEnvironment ?? null;
  if (own === null || String(settings).includes(own)) return settings;
  return settings === null || settings === "default" ? own : `${settings}; ${own}`;
}

/** The fingerprint with what the probes reported: the version of Python and, of a framework, everything else. */
export function completedFingerprint(
  fingerprint: Fingerprint,
  processes: readonly ProbeProcess[],
  streams: readonly RecordedStream[],
  drivers: readonly DeviceReport[],
): Fingerprint {
  const main = mainOf(processes);
  const python = main?.python ?? common(processes.map((one) => one.python));
  if (main === undefined || main.framework === null) return { ...fingerprint, python };
  const used = usedDevices(streams, processes, drivers);
  const worldSizes = [fingerprint.world_size, ...processes.map(({ world_size }) => world_size)];
  return {
    ...fingerprint,
    backend: backendOf(main, used),
    device_model: common(used.map(({ device, driver }) => driver?.model ?? device?.model ?? null)),
    device_memory_bytes: commonSize(
      used.map(({ device, driver }) => driver?.total_bytes ?? device?.total_bytes ?? null),
    ),
    mig_profile:
      profilesOf(used) ?? (used.every(({ driver }) => driver !== null) ? null : (fingerprint.mig_profile ?? null)),
    world_size: Math.max(1, ...worldSizes.filter((size) => typeof size === "number")),
    framework: main.framework,
    framework_version: majorMinor(main.versions[main.framework]),
    allocator_settings: allocatorSettings(fingerprint.allocator_settings ?? null, main.allocator_conf),
    python,
  };
}
