import { formatBytes } from "../core/units.ts";
import type { DeviceReport, SourceReport } from "../sampler/sampler.ts";
import type { SamplerSupport } from "../sampler/start.ts";
import { libraryTrouble, type Trouble, troubleIn } from "./doctor-remedies.ts";
import type { HostEnvironment } from "./host-environment.ts";

/** Result of one check of the machine. `limited` works in part; `missing` does not work. */
export interface Diagnosis {
  readonly name: string;
  readonly status: "ok" | "limited" | "missing";
  readonly detail: string;
  /** Remedies, one per line; null when none is needed. */
  readonly hint: string | null;
}

export function row(name: string, status: Diagnosis["status"], detail: string, hint: string | null = null): Diagnosis {
  return { name, status, detail, hint };
}

/** Lines of advice as a hint. */
function hintOf(lines: readonly (string | null)[]): string | null {
  const given = lines.filter((line): line is string => line !== null);
  return given.length === 0 ? null : given.join("\n");
}

/** Older drivers report no memory by process inside a container. */
const MIN_DRIVER_IN_CONTAINER = [565, 57] as const;

function isBefore(driver: string | null, [major, minor]: readonly [number, number]): boolean {
  const [, first, second] = /^(\d+)\.(\d+)/.exec(driver ?? "") ?? [];
  if (first === undefined || second === undefined) return false;
  return Number(first) < major || (Number(first) === major && Number(second) < minor);
}

const ONE_JOB = "let one job at a time use the GPU";

/** How a device's memory is attributed to the measured job. */
function attribution(
  device: DeviceReport,
  here: HostEnvironment,
): { readonly text: string; readonly hint: string | null } {
  const memory = device.capabilities?.includes("memory") === true;
  const text = memory
    ? "job memory from the increase of the device's used memory"
    : "memory cannot be attributed to the job";
  const delta = (why: string, better: string): { text: string; hint: string } => ({ text, hint: `${why}: ${better}.` });
  const list = device.process_list ?? null;
  const lists = device.capabilities?.includes("processes") === true;
  if (!lists || list === null) {
    // The sampler's reason explains it already.
    if (device.reason?.includes("process")) return { text, hint: `${sentence(ONE_JOB)}.` };
    return delta("The driver has no list of processes", ONE_JOB);
  }
  if (here.wsl || (list.entries > 0 && list.unknown_memory === list.entries)) {
    return delta(
      here.wsl ? "WSL does not report memory by process" : "The driver does not report memory by process",
      ONE_JOB,
    );
  }
  if (device.backend === "nvml" && here.ownPids === true) {
    const better = `${ONE_JOB}, or start the container with --pid=host`;
    if (device.capabilities?.includes("pids:host")) {
      return {
        text: "job memory from the one new process",
        hint: `This driver reports the host's process IDs to a container: ${better}.`,
      };
    }
    if (isBefore(device.driver, MIN_DRIVER_IN_CONTAINER)) {
      return delta("This driver does not report memory by process to a container (565.57 and later do)", better);
    }
  }
  return { text: "memory by process", hint: null };
}

function peaks(capabilities: readonly string[]): { readonly text: string | null; readonly hint: string | null } {
  if (capabilities.includes("accounting")) return { text: "exact peaks", hint: null };
  if (capabilities.includes("accounting:off")) {
    return { text: null, hint: "For exact peaks by process, turn accounting on (sudo nvidia-smi -am 1)." };
  }
  if (capabilities.includes("accounting:denied")) {
    return { text: null, hint: "Exact peaks by process need accounting, which this user may not read." };
  }
  return { text: null, hint: null };
}

const identity = ({ model, total_bytes, uuid, pci_bus_id, mig_profile, unified }: DeviceReport): (string | null)[] => [
  model ?? "model unknown",
  mig_profile === null || mig_profile === undefined || model?.includes(mig_profile) ? null : mig_profile,
  total_bytes === null ? "size unknown" : formatBytes(total_bytes),
  unified === true ? "shared with the CPU" : null,
  uuid ?? pci_bus_id ?? null,
];

export const joined = (parts: readonly (string | null)[]): string => parts.filter((part) => part !== null).join(", ");

function deviceDiagnosis(device: DeviceReport, all: readonly DeviceReport[], here: HostEnvironment): Diagnosis {
  const name = device.name;
  const reason = device.reason ?? null;
  const capabilities = device.capabilities ?? [];
  const who = identity(device);
  const hasParts = all.some(({ backend, parent }) => backend === device.backend && parent === device.index);
  if (capabilities.includes("mig")) {
    // A GPU that is divided into MIG devices may refuse its own counters. Those of its MIG devices are read.
    if (hasParts) return row(name, "ok", joined([...who, "divided by MIG, see its devices"]));
    const hint = here.container
      ? "Pass a MIG device into the container (docker run --gpus '\"device=0:0\"')."
      : "Make a MIG device (sudo nvidia-smi mig -cgi 1g.10gb -C; nvidia-smi mig -lgip lists the profiles).";
    return row(name, "missing", joined(["divided by MIG, but without a MIG device", ...who]), hint);
  }
  const trouble = reason === null ? null : troubleIn(reason, here);
  if (trouble !== null && !capabilities.includes("memory")) {
    return row(name, trouble.status, joined([trouble.meaning, ...who]), trouble.remedy);
  }
  const whose = attribution(device, here);
  const exact = peaks(capabilities);
  const slow = capabilities.includes("persistence:off")
    ? "The first attach to this GPU takes seconds: turn persistence on (sudo nvidia-smi -pm 1)."
    : null;
  const hint = hintOf([reason === null ? null : `${sentence(reason)}.`, whose.hint, exact.hint, slow]);
  const status = reason === null && whose.hint === null ? "ok" : "limited";
  return row(name, status, joined([...who, whose.text, exact.text]), hint);
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1).replace(/\.$/, "");

/** Hints of device sources that found no device of their kind. */
const NO_DEVICE_HINTS: Readonly<Record<string, string>> = {
  nvml: "Nothing to do without an NVIDIA GPU.",
  drm: "Nothing to do without such a GPU. Otherwise load its driver (amdgpu, xe, i915), or pass /dev/dri (and /dev/kfd for AMD) into the container.",
};

/** Text of the capabilities of sources. An empty list hides an obvious one. */
const CAPABILITY_TEXT: Readonly<Record<string, (capability: string) => readonly string[]>> = {
  memory: (capability) =>
    capability === "memory:v1" ? ["memory by the older query, which counts the driver's own memory as used"] : [],
  driver: () => [],
  nvml: (capability) => [`library ${capability.slice("nvml:".length)}`],
  events: () => ["reports hardware errors"],
  kfd: (capability) => [
    `processes by AMD's compute driver${capability === "kfd" ? "" : ", with the host's process IDs"}`,
  ],
  fdinfo: () => ["the job's processes by their open device files"],
};

function sourceDiagnosis(source: SourceReport, devices: readonly DeviceReport[], here: HostEnvironment): Diagnosis {
  const { name, available, capabilities } = source;
  // The device's own row reports its fault.
  const hasRow = devices.some((each) => each.reason && source.reason?.endsWith(`${each.name}: ${each.reason}`));
  if (!available && hasRow) return row(name, "limited", "no device can be read");
  const reason = hasRow ? null : source.reason;
  const trouble: Trouble | null =
    reason === null || name !== "nvml" ? null : (libraryTrouble(reason, here) ?? troubleIn(reason, here));
  if (available) {
    const driver = devices.find(({ backend }) => backend === name)?.driver ?? null;
    const texts = capabilities.flatMap(
      (capability) => CAPABILITY_TEXT[capability.split(":")[0] ?? ""]?.(capability) ?? [capability],
    );
    const detail = joined([driver === null ? null : `driver ${driver}`, ...texts]) || "readable";
    if (reason === null) return row(name, "ok", detail);
    return row(
      name,
      trouble?.status ?? "limited",
      `${detail}; ${reason}`,
      trouble === null ? null : hintOf([`${sentence(trouble.meaning)}.`, trouble.remedy]),
    );
  }
  if (trouble !== null) {
    const needless = trouble.status === "limited" && devices.length > 0;
    return row(name, trouble.status, trouble.meaning, needless ? null : trouble.remedy);
  }
  // A machine with a device of another vendor needs no hint.
  const hint = devices.length > 0 ? null : (NO_DEVICE_HINTS[name] ?? null);
  return row(name, "limited", reason ?? "not readable", hint);
}

/** Rows of the device sources and of each device they see. */
export function deviceDiagnoses(
  { devices }: SamplerSupport,
  sources: readonly SourceReport[],
  here: HostEnvironment,
): Diagnosis[] {
  return [
    ...sources.map((source) => sourceDiagnosis(source, devices, here)),
    ...devices.map((device) => deviceDiagnosis(device, devices, here)),
  ];
}
