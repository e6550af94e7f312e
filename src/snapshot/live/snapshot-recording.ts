import { formatBytes } from "../../core/units.ts";
import { firstAfter } from "../../telemetry/recording/common-clock.ts";
import type { Telemetry } from "../../telemetry/recording/model.ts";
import {
  emptyRecording,
  type Recording,
  type RecordingMark,
  type SampleTable,
} from "../../telemetry/recording/model.ts";
import { snapshotName } from "../model/file-names.ts";
import { Action } from "../model/keys.ts";
import type { TorchSnapshot, TraceTable } from "../model/snapshot.ts";
import { allocatedBytes, devicesOf } from "./live.ts";
import { deviceSeries, reservedBytes } from "./replay.ts";
import { stepEnds } from "./steps.ts";

/** Microseconds of the first entry of any trace; null where entries have no clock. */
function startOf(traces: readonly TraceTable[]): number | null {
  let start = Number.POSITIVE_INFINITY;
  for (const { time } of traces) start = Math.min(start, time[0] ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(start) ? start : null;
}

function tableOf(
  snapshot: TorchSnapshot,
  device: number,
  rank: number,
  startUs: number | null,
  ends: Float64Array,
  damaged: string[],
): SampleTable {
  const named = { rank, device: `cuda:${device}`, highwater: new Set<never>() };
  const trace = snapshot.traces.find((one) => one.device === device);
  const series = trace === undefined ? null : deviceSeries(snapshot, trace);
  if (series !== null && series.impossible !== null) {
    const { allocated, reserved } = series.impossible;
    damaged.push(
      `the trace of cuda:${device} is damaged: ${formatBytes(allocated)} allocated in ${formatBytes(reserved)} reserved is impossible, so only the sizes at the time of the snapshot are read`,
    );
  }
  if (series === null || series.impossible !== null) {
    const allocated = Float64Array.of(allocatedBytes(snapshot, device));
    const reserved = Float64Array.of(reservedBytes(snapshot, device));
    return { ...named, timeNs: null, steps: null, columns: { allocated, reserved } };
  }
  const { timeUs, allocated, active, reserved } = series;
  return {
    ...named,
    timeNs: timeUs === null ? null : timeUs.map((time) => Math.round((time - (startUs ?? 0)) * 1000)),
    steps: timeUs === null || ends.length === 0 ? null : timeUs.map((time) => firstAfter(ends, time)),
    columns: { allocated, reserved, active },
  };
}

function outOfMemoryMarks(traces: readonly TraceTable[], startUs: number | null): RecordingMark[] {
  return traces.flatMap(({ device, action, time, size, addr }) => {
    const marks: RecordingMark[] = [];
    for (let i = action.indexOf(Action.oom); i >= 0; i = action.indexOf(Action.oom, i + 1)) {
      const timeNs = Math.round(((time[i] as number) - (startUs ?? 0)) * 1000);
      const text = `cuda:${device}: ${size[i]} bytes requested, ${addr[i]} free`;
      marks.push({ timeNs: Number.isNaN(timeNs) ? 0 : timeNs, kind: "oom", text });
    }
    return marks;
  });
}

/** A snapshot's traces as samples after every entry, with annotated steps. Without a trace: one sample at its time. */
export function snapshotTelemetry(snapshot: TorchSnapshot, file: string): Telemetry {
  const { rank } = snapshotName(file);
  const startUs = startOf(snapshot.traces);
  const ends = stepEnds(snapshot.annotations);
  const damaged: string[] = [];
  const recording: Recording = {
    ...emptyRecording(
      devicesOf(snapshot).map((device) => tableOf(snapshot, device, rank ?? 0, startUs, ends, damaged)),
    ),
    epochNs: startUs === null ? null : BigInt(Math.round(startUs)) * 1000n,
    marks: outOfMemoryMarks(snapshot.traces, startUs),
  };
  const traced = snapshot.traces.length > 0;
  const notes = traced
    ? ["sizes within the trace are requested bytes, counted back from the sizes at the time of the snapshot"]
    : ["the snapshot has no trace, so each device has one sample and no growth"];
  return { kind: "recording", format: "torch-snapshot", recording, notes: [...notes, ...damaged] };
}
