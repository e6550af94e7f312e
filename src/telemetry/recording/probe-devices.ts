import { AllocatorKind } from "../../sampler/record-layout.ts";
import type { ProbeDevice, ProbeSummary } from "./model.ts";
import type { RecordedStream } from "./recorded-streams.ts";

/** A probe's prefix for devices of a kind. */
export const KIND_NAMES: Readonly<Record<AllocatorKind, string>> = {
  [AllocatorKind.hostHeap]: "host",
  [AllocatorKind.cuda]: "cuda",
  [AllocatorKind.mps]: "mps",
  [AllocatorKind.xpu]: "xpu",
  [AllocatorKind.tensorflow]: "tensorflow",
  [AllocatorKind.jax]: "jax",
};

/** TensorFlow and JAX number the devices of any platform. Vendors and platforms of GPUs, in their spelling. */
const GPU =
  /\b(gpu|cuda|rocm|hip|nvidia|geforce|quadro|tesla|rtx|gtx|radeon|instinct|mi\d{3}\w*|[abhlv]\d{2,3}\w*|gh200|gb\d{3})\b/i;

/** Whether a framework's description of a device is that of a GPU. */
export const isGpu = (description: string): boolean => GPU.test(description);

/**
 * A probe's device as named in a recording: "cuda:0" (also TensorFlow's and JAX's), "mps:0", "xpu:0", "tf:0", "jax:0".
 * @param gpu whether the device is known to be a GPU
 */
export function recordedDeviceName(kind: string, index: number, gpu: boolean): string {
  if (kind !== "tensorflow" && kind !== "jax") return `${kind}:${index}`;
  return `${gpu ? "cuda" : kind === "tensorflow" ? "tf" : kind}:${index}`;
}

/** The name of a stream's device, from the info of its process. */
export function probeDeviceName(stream: RecordedStream, probe: ProbeSummary | null): string {
  return probeDeviceOf(stream, probe)?.name ?? recordedDeviceName(KIND_NAMES[stream.kind], stream.index, false);
}

/** The info of a stream's device from its process; null without any. */
export function probeDeviceOf(stream: RecordedStream, probe: ProbeSummary | null): ProbeDevice | null {
  const ownName = `${KIND_NAMES[stream.kind]}:${stream.index}`;
  for (const { pid, devices } of probe?.processes ?? []) {
    const known = pid === stream.pid ? devices.find((device) => device.own_name === ownName) : undefined;
    if (known !== undefined) return known;
  }
  return null;
}
