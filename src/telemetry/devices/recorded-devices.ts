import type { RecordingInfo } from "../recording/model.ts";
import type { DeviceColumns, RecordFile } from "../recording/record-columns.ts";
import type { RecordedDevice } from "../recording/recorded-device.ts";
import { knownRange } from "./device-attribution.ts";
import { type GapMarks, gapShares } from "./device-gap.ts";
import { jobPeak } from "./device-peaks.ts";
import { type SurveyedDevice, surveyDevices } from "./device-survey.ts";

/** Samples per second, from the first to the last. */
function rateOf(samples: DeviceColumns | null): number | null {
  const count = samples?.timeNs.length ?? 0;
  if (samples === null || count < 2) return null;
  const span = samples.timeNs[count - 1]! - samples.timeNs[0]!;
  return span > 0 ? Number((((count - 1) * 1e9) / span).toFixed(3)) : null;
}

function othersOf({ columns }: SurveyedDevice): Pick<RecordedDevice, "others_first_bytes" | "others_peak_bytes"> {
  const first = columns?.others?.find((value) => !Number.isNaN(value));
  if (columns?.others == null || first === undefined) return { others_first_bytes: null, others_peak_bytes: null };
  return { others_first_bytes: first, others_peak_bytes: knownRange(columns.others)[1] };
}

/** Facts about a run besides its records. */
export interface DeviceContext {
  /** When the command began, on the recording's clock; null when unknown. */
  readonly beganNs: number | null;
  readonly marks: readonly GapMarks[];
}

/** The devices of a finished run, with the results from its records. */
export function finishedDevices(
  file: RecordFile,
  info: RecordingInfo,
  { beganNs, marks }: DeviceContext,
): RecordedDevice[] {
  return surveyDevices(file, { ...info, complete: false }, beganNs).flatMap((device): RecordedDevice[] => {
    const { recorded, place, attribution } = device;
    if (recorded === null) return [];
    const peak = jobPeak(device, file.processPeaks);
    return [
      {
        ...recorded,
        rank: place.rank,
        name: place.name,
        total_bytes: device.totalBytes,
        attribution: attribution.kind,
        attribution_reason: attribution.reason,
        baseline_used_bytes: device.baselineBytes,
        job_peak_bytes: peak?.bytes ?? null,
        job_peak_kind: peak?.kind ?? null,
        ...othersOf(device),
        rate_hz: rateOf(device.samples),
        process_lists: device.lists?.timeNs.length ?? 0,
        gap: gapShares(device, file.processes, marks),
      },
    ];
  });
}
