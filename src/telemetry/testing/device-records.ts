import { AllocatorKind, ProcessRole, RecordKind, RecordSource, SampleReason } from "../../sampler/record-layout.ts";
import type { ProbeDevice, ProbeProcess, RecordingInfo } from "../recording/model.ts";
import { startedDevice } from "../recording/recorded-device.ts";
import type { RecordInput } from "./record-bytes.ts";
import { recordingInfo } from "./recordings.ts";

export const MS = 1e6;
export const MIB = 2 ** 20;
export const GIB = 2 ** 30;
const NVML = { source: RecordSource.nvml } as const;

/** A sample of a device; sizes in MiB. */
export const reading = (ms: number, id: number, used: number | null, total = 80 * 1024): RecordInput => ({
  ...NVML,
  timeNs: ms * MS,
  kind: RecordKind.device,
  id,
  values: [used === null ? null : used * MIB, total * MIB, null, null],
});

/** One entry of a list: pid, MiB (null = not reported), owner (1 the job's, 0 not, null unknown). */
export type Listed = readonly [pid: number, mib: number | null, owner: 0 | 1 | null];

/** A whole list of processes. */
export const list = (
  ms: number,
  id: number,
  entries: readonly Listed[],
  source: RecordSource = NVML.source,
): RecordInput[] => [
  ...entries.map(
    ([pid, mib, owner]): RecordInput => ({
      source,
      timeNs: ms * MS,
      kind: RecordKind.deviceProcess,
      id: pid,
      values: [mib === null ? null : mib * MIB, id, owner, 1],
    }),
  ),
  {
    source,
    timeNs: ms * MS,
    kind: RecordKind.deviceList,
    id,
    values: [entries.length, 4000, entries.filter(([, mib]) => mib === null).length],
  },
];

export const mark = (id: number, pid: number, mib: number, ended: 0 | 1): RecordInput => ({
  ...NVML,
  timeNs: 9000 * MS,
  kind: RecordKind.deviceProcessPeak,
  id: pid,
  values: [mib * MIB, id, ended],
});

export const happened = (ms: number, id: number, kind: number, code: number | null): RecordInput => ({
  ...NVML,
  timeNs: ms * MS,
  kind: RecordKind.deviceEvent,
  id,
  values: [kind, code, null, null],
});

export const failed = (ms: number, id: number, code: number, seen = 1): RecordInput => ({
  ...NVML,
  timeNs: ms * MS,
  kind: RecordKind.error,
  id,
  values: [0, code, seen],
});

interface StreamOf {
  readonly id?: number;
  readonly pid: number;
  readonly index?: number;
  readonly rank?: number;
  readonly worldSize?: number;
  readonly role?: ProcessRole;
}

/** A process's CUDA allocator, before its first sample. */
export const cudaStream = ({ id = 0, pid, index = 0, rank = -1, worldSize = -1, role = 0 }: StreamOf): RecordInput => ({
  timeNs: 0,
  kind: RecordKind.stream,
  source: RecordSource.probe,
  id,
  values: [pid, AllocatorKind.cuda, index, rank + 1 + (worldSize + 1) * 2 ** 16 + role * 2 ** 32],
});

/** A sample of an allocator; sizes in MiB. */
export const held = (
  ms: number,
  id: number,
  allocated: number,
  reserved: number,
  step: number | null = null,
): RecordInput => ({
  timeNs: ms * MS,
  kind: RecordKind.allocator,
  source: RecordSource.probe,
  id,
  values: [allocated * MIB, reserved * MIB, null, step],
  reason: step === null ? SampleReason.timer : SampleReason.step,
});

export const probeProcess = (changes: Partial<ProbeProcess> & { readonly pid: number }): ProbeProcess => ({
  parent: 1,
  rank: null,
  local_rank: null,
  world_size: null,
  role: "plain",
  framework: "torch",
  versions: {},
  python: "3.11.2",
  heap: null,
  allocator_conf: null,
  steps_from: null,
  devices: [],
  error: null,
  ...changes,
});

/** `cuda:N` in its process's numbering, which is the driver's device `index`. */
export const cudaDevice = (own: number, index: number | null, changes: Partial<ProbeDevice> = {}): ProbeDevice => ({
  own_name: `cuda:${own}`,
  name: `cuda:${own}`,
  model: null,
  uuid: null,
  total_bytes: null,
  driver_index: index,
  ...changes,
});

/** The info of a run on the driver's devices `indices`, with the info of its probes. */
export const deviceRun = (
  indices: readonly number[],
  processes: readonly ProbeProcess[] = [],
  { namespaced = false, ...changes }: Partial<RecordingInfo> & { readonly namespaced?: boolean } = {},
): RecordingInfo =>
  recordingInfo({
    devices: indices.map((index) =>
      startedDevice(
        {
          index,
          name: `cuda:${index}`,
          model: "NVIDIA A100",
          uuid: `GPU-${index}`,
          total_bytes: 80 * GIB,
          driver: "570",
        },
        0,
        namespaced,
      ),
    ),
    probe: { processes, processes_total: processes.length },
    ...changes,
  });

export { ProcessRole };
