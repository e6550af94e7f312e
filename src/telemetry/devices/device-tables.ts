import type { Column, SampleTable } from "../recording/model.ts";
import { type StepTimeline, stepsAt } from "../recording/step-timeline.ts";
import type { SurveyedDevice } from "./device-survey.ts";

const someKnown = (column: Float64Array) => column.some((value) => !Number.isNaN(value));

function table(
  place: { readonly rank: number; readonly device: string },
  timeNs: Float64Array,
  columns: Readonly<Partial<Record<Column, Float64Array>>>,
  timeline: StepTimeline | null,
): SampleTable {
  const steps = timeline === null ? null : stepsAt(timeline, timeNs);
  return { ...place, timeNs, steps, columns, highwater: new Set() };
}

function samplesTable({ samples, place }: SurveyedDevice, timeline: StepTimeline | null): SampleTable[] {
  if (samples === null) return [];
  const columns: Partial<Record<Column, Float64Array>> = { used: samples.used };
  for (const column of ["total", "free", "driver"] as const) {
    if (someKnown(samples[column])) columns[column] = samples[column];
  }
  return [table({ rank: place.rank, device: place.name }, samples.timeNs, columns, timeline)];
}

/** Tables of the process lists, on their own clock: each rank's memory, and in the main rank's that of others. */
function listTables({ columns, place, nameFor }: SurveyedDevice, timeline: StepTimeline | null): SampleTable[] {
  if (columns === null) return [];
  const others = columns.others !== null && someKnown(columns.others) ? columns.others : null;
  const ranks = new Set([...columns.job.keys(), ...(others === null ? [] : [place.rank])]);
  return [...ranks]
    .sort((a, b) => a - b)
    .flatMap((rank): SampleTable[] => {
      const job = columns.job.get(rank);
      const own: Partial<Record<Column, Float64Array>> = {
        ...(job !== undefined && someKnown(job) ? { job } : {}),
        ...(others !== null && rank === place.rank ? { others } : {}),
      };
      if (Object.keys(own).length === 0) return [];
      return [table({ rank, device: nameFor(rank) }, columns.timeNs, own, timeline)];
    });
}

/**
 * The drivers' tables: one for each device's own memory, and one for each rank on it. Like the host's they have the
 * steps of the program, whose growth is not that of its start: on an H200 a context, libraries and a model had taken
 * 2.0 GiB before a training that leaked 0.6 GiB.
 */
export function deviceTables(devices: readonly SurveyedDevice[], timeline: StepTimeline | null): SampleTable[] {
  return devices.flatMap((device) => [...samplesTable(device, timeline), ...listTables(device, timeline)]);
}
