import { RecordSource } from "../../sampler/record-layout.ts";
import { largestOf } from "../recording/common-clock.ts";
import type { KnownPeak } from "../recording/model.ts";
import type { DeviceProcessPeak } from "../recording/record-columns.ts";
import { tenantLimit } from "./device-attribution.ts";
import { aloneOn, type SurveyedDevice } from "./device-survey.ts";

/** Source of a driver's own mark. */
function sourceName(source: number): string {
  return source === RecordSource.nvml ? "NVML accounting" : "the driver's own mark";
}

/** Highest memory of the job on a device, bytes; null when unknown. */
export interface JobPeak {
  readonly bytes: number;
  readonly kind: "exact" | "sampled";
}

/** The marks of the job's processes on a device, without those of processes that the lists attribute to others. */
function ownMarks(device: SurveyedDevice, marks: readonly DeviceProcessPeak[]): DeviceProcessPeak[] {
  const foreign = new Set<number>();
  const { lists } = device;
  for (let i = 0; lists !== null && i < lists.pids.length; i++) {
    if (lists.owners[i] !== 1) foreign.add(lists.pids[i]!);
  }
  return marks.filter(({ index, pid }) => index === device.index && !foreign.has(pid));
}

/** Sum of the ranks at each list; NaN where one of them is unknown. */
export function jobTotal({ columns }: SurveyedDevice): Float64Array | null {
  if (columns === null || columns.job.size === 0) return null;
  const total = new Float64Array(columns.timeNs.length);
  for (const column of columns.job.values()) for (let i = 0; i < total.length; i++) total[i] = total[i]! + column[i]!;
  return total;
}

/** The highest memory of the job: the driver's own mark if it is of the only process, else the highest sample. */
export function jobPeak(device: SurveyedDevice, marks: readonly DeviceProcessPeak[]): JobPeak | null {
  const own = ownMarks(device, marks);
  const sampled =
    device.attribution.kind === "device-delta"
      ? (largestOf(device.samples?.used ?? []) ?? Number.NaN) - (device.baselineBytes ?? Number.NaN)
      : (largestOf(jobTotal(device) ?? []) ?? Number.NaN);
  const marked = Math.max(0, ...own.map(({ bytes }) => bytes));
  // Marks of several processes are reached at different times: the largest is a lower bound, their sum an upper one.
  const exact = own.length === 1 && own[0]!.ended && aloneOn(device) ? own[0] : undefined;
  if (exact !== undefined && !(sampled > exact.bytes)) return { bytes: exact.bytes, kind: "exact" };
  const bytes = Number.isNaN(sampled) ? marked : Math.max(sampled, marked);
  return bytes > 0 || !Number.isNaN(sampled) ? { bytes, kind: "sampled" } : null;
}

/** The driver's marks plus prior use as peaks: for one process alone, read after its end, with hardly any prior use. */
export function devicePeaks(devices: readonly SurveyedDevice[], marks: readonly DeviceProcessPeak[]): KnownPeak[] {
  return devices.flatMap((device): KnownPeak[] => {
    const [mark, ...more] = ownMarks(device, marks);
    const { place, baselineBytes, totalBytes } = device;
    if (mark === undefined || more.length > 0 || !mark.ended) return [];
    if (baselineBytes === null || baselineBytes > tenantLimit(totalBytes) || !aloneOn(device)) return [];
    return [
      {
        rank: place.rank,
        device: place.name,
        metric: "used",
        bytes: mark.bytes + baselineBytes,
        kind: "exact",
        source: sourceName(mark.source),
      },
    ];
  });
}
