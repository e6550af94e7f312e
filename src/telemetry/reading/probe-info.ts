import type { ProbeDevice, ProbeProcess } from "../recording/model.ts";
import { isGpu, recordedDeviceName } from "../recording/probe-devices.ts";
import { moment, probeLines, whole } from "../recording/probe-record.ts";
import { phasesIn, type ReportedPhases } from "./probe-phases.ts";

/** The process's environment variables about visible devices; null = not set. */
export interface DeviceVisibility {
  /** CUDA_VISIBLE_DEVICES, or HIP's where that is not set. */
  readonly cuda: string | null;
  /** CUDA_DEVICE_ORDER. */
  readonly order: string | null;
  /** HIP_VISIBLE_DEVICES. */
  readonly hip: string | null;
  /** ROCR_VISIBLE_DEVICES. */
  readonly rocr: string | null;
  /** ZE_AFFINITY_MASK. */
  readonly ze: string | null;
}

/** Times at which memory outside the allocator appeared, CLOCK_MONOTONIC nanoseconds; null = not recorded. */
interface ProbeMarks {
  /** CUDA was initialised. */
  readonly context: bigint | null;
  /** The first process group was requested. */
  readonly group: bigint | null;
  /** The first module that communicates by itself was made: from, to. */
  readonly wrap: readonly [bigint, bigint] | null;
  /** The first step was done. */
  readonly firstStep: bigint | null;
}

/** Content of one `.info` file of a probe, beyond what the recording keeps. */
export interface ProbeInfo {
  readonly process: ProbeProcess;
  readonly visible: DeviceVisibility;
  /** PCI addresses of its devices, by the process's names. */
  readonly pciBusIds: ReadonlyMap<string, string>;
  readonly marks: ProbeMarks;
  /** Phases that the program named. */
  readonly phases: ReportedPhases;
  /** Another tool in the process resets the peak counters at every step. */
  readonly traceml: boolean;
  readonly peaksReset: boolean;
}

/** Maximum length of a value: untrusted text goes into a document that is read as a whole. */
const MAX_TEXT = 300;
const MAX_DEVICES = 64;
const FRAMEWORKS = ["torch", "tensorflow", "jax"] as const;
const VERSIONS = ["torch", "cuda", "hip", "tensorflow", "jax", "jaxlib"] as const;
const ROLES = ["plain", "rank", "agent", "child"] as const;
const DEVICE_KEY = /^device\.((?:cuda|mps|xpu|tensorflow|jax):(\d{1,4}))\.(name|uuid|total|pci)$/;

const text = (value: string | undefined): string | null =>
  value === undefined || value.trim() === "" ? null : value.trim().slice(0, MAX_TEXT);

/** Written as the header's number or as a word. */
function roleOf(value: string | undefined): ProbeProcess["role"] {
  const number = whole(value);
  const named = number === null ? value : ROLES[number];
  return ROLES.find((role) => role === named) ?? "plain";
}

function devicesOf(values: ReadonlyMap<string, string>, gpuBuild: boolean): ProbeDevice[] {
  const devices = new Map<string, { index: number; model: string | null; uuid: string | null; total: number | null }>();
  for (const [key, value] of values) {
    const match = DEVICE_KEY.exec(key);
    if (match === null) continue;
    const [, ownName = "", index = "", field] = match;
    let device = devices.get(ownName);
    if (device === undefined) {
      if (devices.size === MAX_DEVICES) continue;
      device = { index: Number(index), model: null, uuid: null, total: null };
      devices.set(ownName, device);
    }
    if (field === "name") device.model = text(value);
    else if (field === "uuid") device.uuid = text(value);
    else if (field === "total") device.total = whole(value);
  }
  return [...devices].map(([ownName, { index, model, uuid, total }]) => ({
    own_name: ownName,
    name: recordedDeviceName(ownName.slice(0, ownName.indexOf(":")), index, gpuBuild || isGpu(model ?? "")),
    model,
    uuid,
    total_bytes: total,
    driver_index: null,
  }));
}

function pciBusIdsOf(values: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [key, value] of values) {
    const match = DEVICE_KEY.exec(key);
    const known = text(value);
    if (match?.[3] === "pci" && known !== null && found.size < MAX_DEVICES) found.set(match[1] ?? "", known);
  }
  return found;
}

function marksOf(values: ReadonlyMap<string, string>): ProbeMarks {
  const [from, to] = [moment(values.get("mark.wrap")), moment(values.get("mark.wrap_end"))];
  return {
    context: moment(values.get("mark.context")),
    group: moment(values.get("mark.group")),
    wrap: from === null || to === null || to < from ? null : [from, to],
    firstStep: moment(values.get("mark.first_step")),
  };
}

/** Parses a `.info` file as far as it is valid: its process may have died while writing. Null without a pid. */
export function parseProbeInfo(source: string): ProbeInfo | null {
  const values = probeLines(source);
  const pid = whole(values.get("pid"));
  if (pid === null || pid === 0) return null;
  const framework = values.get("framework");
  const versions: Record<string, string> = {};
  for (const name of VERSIONS) {
    const version = text(values.get(name));
    if (version !== null) versions[name] = version;
  }
  // JAX and TensorFlow report this once, not per device.
  const gpuBuild = framework !== "torch" && (versions.cuda !== undefined || versions.hip !== undefined);
  return {
    process: {
      pid,
      parent: whole(values.get("ppid")),
      rank: whole(values.get("rank")),
      local_rank: whole(values.get("local_rank")),
      world_size: whole(values.get("world_size")),
      role: roleOf(values.get("role")),
      framework: FRAMEWORKS.find((name) => name === framework) ?? null,
      versions,
      python: text(values.get("python")),
      heap: text(values.get("heap")),
      python_heap: text(values.get("python_heap")),
      allocator_conf: text(values.get("allocator_conf")),
      steps_from: text(values.get("steps_from")),
      devices: devicesOf(values, gpuBuild),
      error: text(values.get("error")),
    },
    visible: {
      cuda: values.get("cuda_visible_devices") ?? null,
      order: values.get("cuda_device_order") ?? null,
      hip: values.get("hip_visible_devices") ?? null,
      rocr: values.get("rocr_visible_devices") ?? null,
      ze: values.get("ze_affinity_mask") ?? null,
    },
    pciBusIds: pciBusIdsOf(values),
    marks: marksOf(values),
    phases: phasesIn(values),
    traceml: values.get("traceml") === "1",
    peaksReset: values.get("peaks_reset") === "1",
  };
}
