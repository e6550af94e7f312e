import { plural } from "../../core/text.ts";
import { deviceHealth, healthMarks } from "../devices/device-health.ts";
import { devicePeaks } from "../devices/device-peaks.ts";
import { type SurveyedDevice, surveyDevices } from "../devices/device-survey.ts";
import { knownColumns } from "../recording/common-clock.ts";
import { METRICS } from "../recording/metrics.ts";
import type { Column, CutSeries, Recording, RecordingInfo, RecordingMark, SampleTable } from "../recording/model.ts";
import type { CgroupColumns, RecordFile, SharedColumns, TreeColumns } from "../recording/record-columns.ts";
import type { DeviceHealth } from "../recording/recorded-device.ts";
import { type StepTimeline, stepsAt } from "../recording/recorded-streams.ts";
import { errorText, probeLosses } from "../recording/source-errors.ts";
import { type HeldMemory, heldMemory } from "./held-memory.ts";
import { hostAccount } from "./host-account.ts";
import { peaksOf } from "./host-peak.ts";
import { heldByHeaps } from "./live-heap.ts";
import { probeTables, processEnds } from "./probe-tables.ts";

/** Maximum number of characters of an error in its mark. `recording.json` contains all of it. */
const MAX_MARK_TEXT = 200;

/** Cgroup samples are taken ten times a second. Each goes to the tick at or before it. */
function resample(timeNs: Float64Array, cgroup: CgroupColumns): Float64Array {
  const column = new Float64Array(timeNs.length).fill(Number.NaN);
  for (let tick = 0, i = 0; i < cgroup.timeNs.length; i++) {
    while (tick + 1 < timeNs.length && timeNs[tick + 1]! <= cgroup.timeNs[i]!) tick++;
    if (tick < column.length) column[tick] = cgroup.current[i]!;
  }
  return column;
}

/** The ticks at which the job had a process. Earlier and later ticks do not describe its memory. */
function trimIdle(tree: TreeColumns): TreeColumns {
  let from = 0;
  let to = tree.timeNs.length;
  while (from < to && tree.processes[from] === 0) from++;
  while (to > from && tree.processes[to - 1] === 0) to--;
  const columns = Object.entries(tree).map(([name, column]) => [name, column.subarray(from, to)]);
  return Object.fromEntries(columns) as TreeColumns;
}

/** The step is valid until the next one, so that growth of the tree can be given per step as well. */
function hostTable(
  file: RecordFile,
  tree: TreeColumns,
  held: HeldMemory,
  rank: number,
  timeline: StepTimeline | null,
): SampleTable | null {
  if (tree.timeNs.length === 0) return null;
  const { timeNs, rss, anon, shmem, processes } = tree;
  const cgroup = resample(timeNs, file.cgroup);
  const ticks = tree.ticks.some((count) => count > 1) ? tree.ticks : null;
  const host_sum = held.isCorrected ? held.sum : null;
  const heaps = heldByHeaps(file.streams, processEnds(file.streams, file.processes), timeNs);
  const outside_heap = heaps?.map((bytes, i) => Math.max(0, held.host[i]! - bytes));
  const known = knownColumns({ host_sum, outside_heap, shmem, processes, cgroup, ticks });
  const columns = { host: held.host, rss, anon, ...known };
  return table({ rank, device: "host" }, timeNs, columns, timeline);
}

/** Columns with a clock of their own: they are read far less often than the ticks. */
function sharedTable(shared: SharedColumns, rank: number, timeline: StepTimeline | null): SampleTable[] {
  // Pages of other groups' files that the job maps can exceed what its own group is charged for.
  const unmapped = shared.charged.map((bytes, i) => bytes - Math.min(bytes, shared.mapped[i]!));
  const columns = knownColumns({ host_shared_once: shared.once, host_unmapped: unmapped });
  if (Object.keys(columns).length === 0) return [];
  return [table({ rank, device: "host" }, shared.timeNs, columns, timeline)];
}

function countsTable({ counts }: RecordFile, rank: number, timeline: StepTimeline | null): SampleTable[] {
  const { timeNs, ...columns } = counts;
  const known = knownColumns(columns);
  return Object.keys(known).length === 0 ? [] : [table({ rank, device: "host" }, timeNs, known, timeline)];
}

/**
 * Bytes that the user's files in RAM had gained at a time; NaN = unknown. The smaller of the readings around it: a file
 * that was removed between them must not count beside what took its place.
 */
function gainedAt(info: RecordingInfo | null, timeNs: number): number {
  if (info?.ram_files === undefined) return Number.NaN;
  const { times_ns, bytes } = info.ram_files;
  const before = times_ns.findLastIndex((at) => at <= timeNs);
  return before < 0 ? 0 : Math.min(bytes[before]!, bytes[before + 1] ?? Number.POSITIVE_INFINITY);
}

/** What outlives the command, as the one value of a series at its end. */
function leftTable(info: RecordingInfo | null, endNs: number): SampleTable[] {
  if (info?.left_behind === undefined) return [];
  const columns = { left_behind: Float64Array.of(info.left_behind.bytes) };
  return [table({ rank: info.identity.rank, device: "host" }, Float64Array.of(endNs), columns, null)];
}

/** Out of memory as judged at the end of the run; if not judged (a killed gate), every kill that the kernel counted. */
function oomMarks(file: RecordFile, info: RecordingInfo | null): RecordingMark[] {
  const kills = kernelKills(file.cgroup);
  if (info?.complete !== true) {
    return kills.map(({ timeNs, count }) => ({ timeNs, kind: "oom", text: `the kernel killed ${count} process(es)` }));
  }
  const { oom } = info;
  if (oom?.certainty !== "established") return [];
  const timeNs = oom.time_ns ?? kills[0]?.timeNs ?? file.tree.timeNs.at(-1) ?? file.lastNs;
  const text = oom.message ?? oom.evidence[0] ?? "out of memory";
  return [{ timeNs, kind: "oom", text: text.slice(0, MAX_MARK_TEXT), ...(oom.pid === null ? {} : { pid: oom.pid }) }];
}

function marksOf(file: RecordFile, info: RecordingInfo | null, health: readonly DeviceHealth[]): RecordingMark[] {
  const marks: RecordingMark[] = [...healthMarks(health)];
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
  marks.push(...oomMarks(file, info));
  if (file.stop) {
    const { timeNs, ticks, missedTicks } = file.stop;
    marks.push({ timeNs, kind: "stop", text: `${ticks} ticks, ${missedTicks} missed` });
  }
  return marks.sort((a, b) => a.timeNs - b.timeNs);
}

/** Times at which the memory group's count of kills rose, and by how much. */
export function kernelKills(cgroup: CgroupColumns): { readonly timeNs: number; readonly count: number }[] {
  const rises: { timeNs: number; count: number }[] = [];
  let kills = Number.NaN;
  for (const [i, timeNs] of cgroup.timeNs.entries()) {
    const now = cgroup.oomKills[i] ?? Number.NaN;
    // The counter may have been above zero before the run, so only a rise counts.
    if (now > kills) rises.push({ timeNs, count: now - kills });
    if (!Number.isNaN(now)) kills = now;
  }
  return rises;
}

/** Problems of the record file: truncated or damaged records, no clean stop, lost samples of the probes. */
export function dataLossNotes(file: RecordFile, info: RecordingInfo | null = null): string[] {
  const lost: string[] = [];
  if (file.cutBytes > 0) lost.push(`the record file ends within a record (${file.cutBytes} bytes not used)`);
  if (file.skippedRecords > 0) lost.push(`${file.skippedRecords} damaged or unknown records were skipped`);
  if (file.stop === null) lost.push("the sampler did not stop cleanly: the last samples may be missing");
  const unread = file.shared.unread.reduce((most, count) => Math.max(most, count), 0);
  if (unread > 0)
    lost.push(
      `host_shared_once lacks readings, because smaps_rollup of ${plural(unread, "process", "processes")} cannot be read`,
    );
  lost.push(...probeLosses(file.errors), ...probeTables(file, info).lost);
  return lost;
}

const metricsOf = ({ rank, device, columns }: SampleTable): CutSeries[] =>
  METRICS.filter((metric) => columns[metric] !== undefined).map((metric) => ({ rank, device, metric }));

/**
 * The recording of a record file: one `host` table at the ticks' rate, tables per device, per rank at the times of
 * its process lists, and per probe at their own rates; host peaks by {@link peaksOf}, others by the sources' own marks.
 */
export function recordFileToRecording(file: RecordFile, info: RecordingInfo | null): Recording {
  const rank = info?.identity.rank ?? 0;
  const probes = probeTables(file, info);
  const tree = trimIdle(file.tree);
  const { shared } = file;
  // Without a control group of its own, what the job's files hold is what the user's files gained.
  const charged = shared.charged.map((bytes, i) => (Number.isNaN(bytes) ? gainedAt(info, shared.timeNs[i]!) : bytes));
  const read = { ...shared, charged };
  const held = heldMemory(file, tree, read);
  const host = hostTable(file, tree, held, rank, probes.steps);
  const devices = surveyDevices(file, info);
  const health = deviceHealth(file, devices);
  const worldSize = info?.identity.world_size ?? null;
  const once = sharedTable(read, rank, probes.steps);
  const account = hostAccount({ ...file, tree, shared: read }, held, processEnds(file.streams, file.processes));
  const left = leftTable(info, file.lastNs);
  const counts = countsTable(file, rank, probes.steps);
  const tables = [
    ...(host ? [host] : []),
    ...once,
    ...counts,
    ...(account ? [table({ rank, device: "host" }, account.timeNs, account.columns, probes.steps)] : []),
    ...deviceTables(devices, probes.steps),
    ...probes.tables,
    ...left,
  ];
  // Without its last record the file ends before the run does, with every series in it.
  const cut = (file.stop === null ? tables : probes.cut).flatMap(metricsOf);
  return {
    epochNs: file.header.epochNs > 0n ? file.header.epochNs : null,
    tables,
    peaks: [...peaksOf(file, held, info), ...devicePeaks(devices, file.processPeaks), ...probes.peaks],
    marks: marksOf(file, info, health),
    events: null,
    worldSize: probes.worldSize === null ? worldSize : Math.max(worldSize ?? 1, probes.worldSize),
    missing: {},
    info,
    ...(cut.length > 0 ? { cut } : {}),
    ...(health.length > 0 ? { health } : {}),
  };
}

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
  const { used, total, free, driver } = samples;
  const columns = { used, ...knownColumns({ total, free, driver }) };
  return [table({ rank: place.rank, device: place.name }, samples.timeNs, columns, timeline)];
}

/** Tables of the process lists, on their own clock: each rank's memory, and in the main rank's that of others. */
function listTables({ columns, place, nameFor }: SurveyedDevice, timeline: StepTimeline | null): SampleTable[] {
  if (columns === null) return [];
  const { others } = knownColumns({ others: columns.others });
  const ranks = new Set([...columns.job.keys(), ...(others === undefined ? [] : [place.rank])]);
  return [...ranks]
    .sort((a, b) => a - b)
    .flatMap((rank): SampleTable[] => {
      const own = knownColumns({ job: columns.job.get(rank), others: rank === place.rank ? others : null });
      if (Object.keys(own).length === 0) return [];
      return [table({ rank, device: nameFor(rank) }, columns.timeNs, own, timeline)];
    });
}

/**
 * The drivers' tables: one for each device's own memory, and one for each rank on it. Like the host's they have the
 * steps of the program, whose growth is not that of its start: on an H200 a context, libraries and a model had taken
 * 2.0 GiB before a training that leaked 0.6 GiB.
 */
function deviceTables(devices: readonly SurveyedDevice[], timeline: StepTimeline | null): SampleTable[] {
  return devices.flatMap((device) => [...samplesTable(device, timeline), ...listTables(device, timeline)]);
}
