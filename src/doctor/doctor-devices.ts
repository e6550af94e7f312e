import { formatBytes } from "../core/units.ts";
import type { DeviceReport, SourceReport } from "../sampler/sampler.ts";
import type { ProbeReport } from "../sampler/start.ts";
import { type Diagnosis, hintOf } from "./diagnosis.ts";
import { libraryTrouble, type Trouble, troubleIn } from "./doctor-remedies.ts";
import type { Surroundings } from "./host-environment.ts";

/** Drivers before it know, inside a container, of no process's memory. */
const TELLS_MEMORY_INSIDE = [565, 57] as const;

function isBefore(driver: string | null, [major, minor]: readonly [number, number]): boolean {
  const [, first, second] = /^(\d+)\.(\d+)/.exec(driver ?? "") ?? [];
  if (first === undefined || second === undefined) return false;
  return Number(first) < major || (Number(first) === major && Number(second) < minor);
}

const ONE_JOB = "let one job at a time use the GPU";

/** How much of a device's memory can be told to be the measured job's. */
function attribution(
  device: DeviceReport,
  here: Surroundings,
): { readonly text: string; readonly hint: string | null } {
  const memory = device.capabilities?.includes("memory") === true;
  const text = memory ? "the job's memory by what the device uses more" : "its memory cannot be told";
  const delta = (why: string, better: string): { text: string; hint: string } => ({ text, hint: `${why}: ${better}.` });
  const list = device.process_list ?? null;
  const lists = device.capabilities?.includes("processes") === true;
  if (!lists || list === null) {
    // Why, the sampler said already.
    if (device.reason?.includes("process")) return { text, hint: `${sentence(ONE_JOB)}.` };
    return delta("The driver gives no list of processes", ONE_JOB);
  }
  if (here.wsl || (list.entries > 0 && list.unknown_memory === list.entries)) {
    return delta(
      here.wsl ? "WSL does not tell memory by process" : "The driver does not tell memory by process",
      ONE_JOB,
    );
  }
  if (device.backend === "nvml" && here.ownPids === true) {
    const better = `${ONE_JOB}, or start the container with --pid=host`;
    if (device.capabilities?.includes("pids:host")) {
      return {
        text: "the job's memory by the one process that is new",
        hint: `This driver shows a container the host's process numbers: ${better}.`,
      };
    }
    if (isBefore(device.driver, TELLS_MEMORY_INSIDE)) {
      return delta("This driver tells a container no memory by process (565.57 and later do)", better);
    }
  }
  return { text: "memory by process", hint: null };
}

function peaks(capabilities: readonly string[]): { readonly text: string | null; readonly hint: string | null } {
  if (capabilities.includes("accounting")) return { text: "exact peaks", hint: null };
  if (capabilities.includes("accounting:off")) {
    return { text: null, hint: "Exact peaks by process: turn accounting on (sudo nvidia-smi -am 1)." };
  }
  if (capabilities.includes("accounting:denied")) {
    return { text: null, hint: "Exact peaks by process: accounting is closed to this user." };
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

const joined = (parts: readonly (string | null)[]): string => parts.filter((part) => part !== null).join(", ");

function deviceDiagnosis(device: DeviceReport, all: readonly DeviceReport[], here: Surroundings): Diagnosis {
  const name = device.name;
  const reason = device.reason ?? null;
  const capabilities = device.capabilities ?? [];
  const who = identity(device);
  const hasParts = all.some(({ backend, parent }) => backend === device.backend && parent === device.index);
  if (capabilities.includes("mig")) {
    // A GPU that is cut into MIG devices may keep its own numbers to itself; theirs are what counts.
    if (hasParts)
      return { name, status: "ok", detail: joined([...who, "divided by MIG, see its devices"]), hint: null };
    const hint = here.container
      ? "Pass a MIG device into the container (docker run --gpus '\"device=0:0\"')."
      : "Make a MIG device (sudo nvidia-smi mig -cgi 1g.10gb -C; nvidia-smi mig -lgip lists the profiles).";
    return { name, status: "missing", detail: joined(["divided by MIG, but without a MIG device", ...who]), hint };
  }
  const trouble = reason === null ? null : troubleIn(reason, here);
  if (trouble !== null && !capabilities.includes("memory")) {
    return { name, status: trouble.status, detail: joined([trouble.meaning, ...who]), hint: trouble.remedy };
  }
  const whose = attribution(device, here);
  const exact = peaks(capabilities);
  const slow = capabilities.includes("persistence:off")
    ? "The first attach to this GPU takes seconds: keep it awake (sudo nvidia-smi -pm 1)."
    : null;
  const hint = hintOf([reason === null ? null : `${sentence(reason)}.`, whose.hint, exact.hint, slow]);
  const status = reason === null && whose.hint === null ? "ok" : "limited";
  return { name, status, detail: joined([...who, whose.text, exact.text]), hint };
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1).replace(/\.$/, "");

/** Sources that read devices, with what to say where there is none of their kind. */
const NOTHING_THERE: Readonly<Record<string, string>> = {
  nvml: "Nothing to do, unless this machine has an NVIDIA GPU.",
  drm: "Nothing to do, unless this machine has one: then load its driver (amdgpu, xe, i915), or pass /dev/dri (for AMD /dev/kfd too) into the container.",
};

/** Capabilities of sources in words; what goes without saying is left out. */
const SAID_OF_SOURCES: Readonly<Record<string, (capability: string) => readonly string[]>> = {
  memory: (capability) =>
    capability === "memory:v1"
      ? ["memory by the older query, which counts what the driver keeps for itself as used"]
      : [],
  driver: () => [],
  nvml: (capability) => [`library ${capability.slice("nvml:".length)}`],
  events: () => ["tells errors of the hardware"],
  kfd: (capability) => [
    `processes by AMD's compute driver${capability === "kfd" ? "" : ", under the machine's numbers"}`,
  ],
  fdinfo: () => ["the job's processes by what they opened"],
  dmem: () => ["control group dmem"],
};

function sourceDiagnosis(source: SourceReport, devices: readonly DeviceReport[], here: Surroundings): Diagnosis {
  const { name, available, capabilities } = source;
  // What is wrong with a device stands in its own row.
  const hasRow = devices.some((each) => each.reason && source.reason?.endsWith(`${each.name}: ${each.reason}`));
  if (!available && hasRow) return { name, status: "limited", detail: "no device can be read", hint: null };
  const reason = hasRow ? null : source.reason;
  const trouble: Trouble | null =
    reason === null || name !== "nvml" ? null : (libraryTrouble(reason, here) ?? troubleIn(reason, here));
  if (available) {
    const driver = devices.find(({ backend }) => backend === name)?.driver ?? null;
    const told = capabilities.flatMap(
      (capability) => SAID_OF_SOURCES[capability.split(":")[0] ?? ""]?.(capability) ?? [capability],
    );
    const detail = joined([driver === null ? null : `driver ${driver}`, ...told]) || "readable";
    if (reason === null) return { name, status: "ok", detail, hint: null };
    return {
      name,
      status: trouble?.status ?? "limited",
      detail: `${detail}; ${reason}`,
      hint: trouble === null ? null : hintOf([`${sentence(trouble.meaning)}.`, trouble.remedy]),
    };
  }
  if (trouble !== null) {
    const needless = trouble.status === "limited" && devices.length > 0;
    return { name, status: trouble.status, detail: trouble.meaning, hint: needless ? null : trouble.remedy };
  }
  // Where another vendor's device was found, that this one has none needs no advice.
  const hint = devices.length > 0 ? null : (NOTHING_THERE[name] ?? null);
  return { name, status: "limited", detail: reason ?? "not readable", hint };
}

/** Rows of the device sources and of each device they see. */
export function deviceDiagnoses(probe: ProbeReport, sources: readonly SourceReport[], here: Surroundings): Diagnosis[] {
  return [
    ...sources.map((source) => sourceDiagnosis(source, probe.devices, here)),
    ...probe.devices.map((device) => deviceDiagnosis(device, probe.devices, here)),
  ];
}
