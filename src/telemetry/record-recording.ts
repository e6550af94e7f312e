import { getSystemErrorMap, getSystemErrorName } from "node:util";
import { RecordSource } from "../sampler/record-layout.ts";
import { hostBytesAt, peaksOf } from "./host-peak.ts";
import type { Column, Recording, RecordingInfo, RecordingMark, SampleTable } from "./model.ts";
import type { CgroupColumns, DeviceColumns, RecordedError, RecordFile, TreeColumns } from "./record-file.ts";

const SOURCE_NAMES = new Map<number, string>(Object.entries(RecordSource).map(([name, id]) => [id, name]));

/** "nvml device 0: Permission denied (EACCES), 12 times". */
function errorText(error: RecordedError): string {
  const source = SOURCE_NAMES.get(error.source) ?? `source ${error.source}`;
  const subject = error.id < 0 ? "" : error.source === RecordSource.nvml ? ` device ${error.id}` : ` pid ${error.id}`;
  const times = error.seen > 1 ? `, ${error.seen} times` : "";
  return `${source}${subject}: ${causeText(error)}${times}`;
}

function causeText({ errno, detail }: RecordedError): string {
  if (errno === 0) return detail === 0 ? "failed" : `failed with code ${detail}`;
  const words = getSystemErrorMap().get(-errno);
  return words ? `${words[1]} (${words[0]})` : `errno ${getSystemErrorName(-errno) || errno}`;
}

/** Cgroup readings come ten times a second: each goes to the tick at or before it, the other ticks have none. */
function onTicks(timeNs: Float64Array, cgroup: CgroupColumns): Float64Array {
  const column = new Float64Array(timeNs.length).fill(Number.NaN);
  for (let tick = 0, i = 0; i < cgroup.timeNs.length; i++) {
    while (tick + 1 < timeNs.length && timeNs[tick + 1]! <= cgroup.timeNs[i]!) tick++;
    if (tick < column.length) column[tick] = cgroup.current[i]!;
  }
  return column;
}

const someKnown = (column: Float64Array) => column.some((value) => !Number.isNaN(value));

/** The ticks at which the job had a process: a tick before the first or after the last says nothing about its memory. */
function livingTicks(tree: TreeColumns): TreeColumns {
  let from = 0;
  let to = tree.timeNs.length;
  while (from < to && tree.processes[from] === 0) from++;
  while (to > from && tree.processes[to - 1] === 0) to--;
  return {
    timeNs: tree.timeNs.subarray(from, to),
    rss: tree.rss.subarray(from, to),
    anon: tree.anon.subarray(from, to),
    shmem: tree.shmem.subarray(from, to),
    processes: tree.processes.subarray(from, to),
    latenessUs: tree.latenessUs.subarray(from, to),
  };
}

function hostTable(file: RecordFile, rank: number): SampleTable | null {
  const tree = livingTicks(file.tree);
  if (tree.timeNs.length === 0) return null;
  const host = Float64Array.from(tree.timeNs, (_, i) => hostBytesAt(tree, i));
  const columns: Partial<Record<Column, Float64Array>> = { host, rss: tree.rss, anon: tree.anon };
  if (someKnown(tree.shmem)) columns.shmem = tree.shmem;
  if (someKnown(tree.processes)) columns.processes = tree.processes;
  if (someKnown(file.cgroup.current)) columns.cgroup = onTicks(tree.timeNs, file.cgroup);
  return { rank, device: "host", timeNs: tree.timeNs, steps: null, columns, highwater: new Set() };
}

function deviceTable(device: DeviceColumns, rank: number): SampleTable {
  const columns: Partial<Record<Column, Float64Array>> = { used: device.used };
  for (const column of ["total", "free", "driver", "job"] as const) {
    if (someKnown(device[column])) columns[column] = device[column];
  }
  const { timeNs, index } = device;
  return { rank, device: `cuda:${index}`, timeNs, steps: null, columns, highwater: new Set() };
}

function marksOf(file: RecordFile): RecordingMark[] {
  const marks: RecordingMark[] = [];
  for (const { pid, parent, startNs, exitNs } of file.processes.all) {
    const text = Number.isNaN(parent) ? `process ${pid}` : `process ${pid}, child of ${parent}`;
    marks.push({ timeNs: startNs, kind: "process-start", text, pid });
    if (exitNs !== null) marks.push({ timeNs: exitNs, kind: "process-exit", text: `process ${pid}`, pid });
  }
  for (const error of file.errors) {
    marks.push({ timeNs: error.timeNs, kind: "source-error", text: errorText(error) });
  }
  for (const { timeNs, hostPeriodNs, devicePeriodNs } of file.rates) {
    const text = `host every ${hostPeriodNs / 1e6} ms, devices every ${devicePeriodNs / 1e6} ms`;
    marks.push({ timeNs, kind: "rate-change", text });
  }
  let kills = 0;
  for (const [i, timeNs] of file.cgroup.timeNs.entries()) {
    const now = file.cgroup.oomKills[i]!;
    // The counter may have stood above zero before the run: only a rise is this run's.
    if (i > 0 && now > kills) marks.push({ timeNs, kind: "oom", text: `the kernel killed ${now - kills} process(es)` });
    if (!Number.isNaN(now)) kills = now;
  }
  if (file.stop) {
    const { timeNs, ticks, missedTicks } = file.stop;
    marks.push({ timeNs, kind: "stop", text: `${ticks} ticks, ${missedTicks} missed` });
  }
  return marks.sort((a, b) => a.timeNs - b.timeNs);
}

/** What a reader of the record file should be told about it: cut within a record, damaged records, no clean stop. */
export function lossesOf(file: RecordFile): string[] {
  const lost: string[] = [];
  if (file.cutBytes > 0) lost.push(`the record file ends within a record (${file.cutBytes} bytes not used)`);
  if (file.skippedRecords > 0) lost.push(`${file.skippedRecords} damaged or unknown records were skipped`);
  if (file.stop === null) lost.push("the sampler did not stop cleanly: samples of the last moments may be missing");
  return lost;
}

/**
 * The recording a record file holds: one `host` table at the full rate of the ticks, one table per device at the rate of
 * its own ticks, marks, and the host peak by the rule of {@link peaksOf}. `info` is the run's `recording.json`.
 */
export function recordFileToRecording(file: RecordFile, info: RecordingInfo | null): Recording {
  const rank = info?.identity.rank ?? 0;
  const host = hostTable(file, rank);
  const devices = file.devices.map((device) => deviceTable(device, rank));
  return {
    epochNs: file.header.epochNs > 0n ? file.header.epochNs : null,
    tables: host ? [host, ...devices] : devices,
    peaks: peaksOf(file, info),
    marks: marksOf(file),
    events: null,
    worldSize: info?.identity.world_size ?? null,
    missing: {},
    info,
  };
}
