import type { Column, SampleTable } from "../recording/model.ts";
import type { SurveyedDevice } from "./device-survey.ts";

const someKnown = (column: Float64Array) => column.some((value) => !Number.isNaN(value));

function table(
  place: { readonly rank: number; readonly device: string },
  timeNs: Float64Array,
  columns: Readonly<Partial<Record<Column, Float64Array>>>,
): SampleTable {
  return { ...place, timeNs, steps: null, columns, highwater: new Set() };
}

function samplesTable({ samples, place }: SurveyedDevice): SampleTable[] {
  if (samples === null) return [];
  const columns: Partial<Record<Column, Float64Array>> = { used: samples.used };
  for (const column of ["total", "free", "driver"] as const) {
    if (someKnown(samples[column])) columns[column] = samples[column];
  }
  return [table({ rank: place.rank, device: place.name }, samples.timeNs, columns)];
}

/** Tables of the process lists, on their own clock: each rank's memory, and in the main rank's that of others. */
function listTables({ columns, place, nameFor }: SurveyedDevice): SampleTable[] {
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
      return [table({ rank, device: nameFor(rank) }, columns.timeNs, own)];
    });
}

/** The drivers' tables: one for each device's own memory, and one for each rank on it. */
export function deviceTables(devices: readonly SurveyedDevice[]): SampleTable[] {
  return devices.flatMap((device) => [...samplesTable(device), ...listTables(device)]);
}
