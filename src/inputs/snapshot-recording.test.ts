import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { analyze } from "../analysis/analyze.ts";
import { packageRoot } from "../core/package-root.ts";
import { MIB } from "../core/units.ts";
import { type Plain, pickled } from "../snapshot/testing/pickle-writer.ts";
import { traceMlDatabase } from "../telemetry/testing/traceml-database.ts";
import { analysisInput } from "./analysis-input.ts";
import { judgeableInput } from "./measurements-input.ts";
import { readSnapshotFiles } from "./snapshot-input.ts";

const fixture = (name: string) => path.join(packageRoot(), "test", "snapshot", "fixtures", name);

async function recordingOf(...names: string[]) {
  const input = await analysisInput(names.map(fixture));
  if (input.kind !== "recording") throw new Error("no recording");
  return input;
}

/** Twenty allocations of 64 MiB, each freed before the next, in 256 MiB. */
function churn({ freed, requestsLost = [] }: { freed: readonly string[]; requestsLost?: readonly number[] }): Plain {
  const trace: Plain[] = [];
  for (let i = 0; i < 20; i++) {
    const actions = ["alloc", ...freed].filter((action) => action !== "free_requested" || !requestsLost.includes(i));
    for (const action of actions) {
      trace.push({ action, addr: 4096 + i, size: 64 * MIB, stream: 0, time_us: 1e15 + trace.length, frames: [] });
    }
  }
  const block = { address: 4096, size: 256 * MIB, requested_size: 0, state: "inactive", frames: [] };
  const segment = { device: 0, address: 4096, total_size: 256 * MIB, stream: 0, segment_type: "large", frames: [] };
  return { segments: [{ ...segment, blocks: [block] }], device_traces: [trace] };
}

async function written(snapshot: Plain) {
  const file = path.join(mkdtempSync(path.join(tmpdir(), "snapshot-")), "s.pickle");
  writeFileSync(file, pickled(snapshot));
  const input = await analysisInput([file]);
  rmSync(path.dirname(file), { recursive: true });
  if (input.kind !== "recording") throw new Error("no recording");
  return input;
}

describe("a memory snapshot as input of analyze", () => {
  it("a memory snapshot becomes a series of its trace that ends at its sizes, with the annotated steps", async () => {
    const { recording } = await recordingOf("leak-step12.pickle");
    const [table] = recording.tables;
    expect(table).toMatchObject({ rank: 0, device: "cuda:0" });
    // 143.08 MiB and 170 MiB are what the generator counted.
    expect(table?.columns.allocated?.at(-1)).toBe(150032384);
    expect(table?.columns.reserved?.at(-1)).toBe(170 * 2 ** 20);
    expect(table?.columns.allocated?.every((bytes) => bytes >= 0)).toBe(true);
    expect(table?.steps?.[0]).toBe(0);
    expect(table?.steps?.at(-1)).toBe(12);
    expect(table?.timeNs?.[0]).toBe(0);
    expect(recording.epochNs).toBeGreaterThan(1_717_000_000_000_000_000n);
  });

  it("a memory snapshot is classified like any other recording", async () => {
    const { recording } = await recordingOf("leak-step12.pickle");
    const { series } = analyze(recording, { horizon: null });
    const allocated = series.find(({ metric }) => metric === "allocated");
    expect(allocated?.class).toBe("leak");
    // 1310800 bytes a step are kept.
    expect(allocated?.slope_bytes_per_step).toBeGreaterThan(1.2e6);
    expect(allocated?.slope_bytes_per_step).toBeLessThan(1.4e6);
  });

  it("the recording of a memory snapshot marks an out-of-memory error of the trace", async () => {
    const { recording } = await recordingOf("odd.pickle");
    expect(recording.marks.map(({ kind }) => kind)).toEqual(["oom"]);
    expect(recording.tables.map(({ device }) => device)).toEqual(["cuda:0", "cuda:1"]);
  });

  it("a memory snapshot without a trace becomes one sample with a note", async () => {
    const { recording, notes } = await recordingOf("before-blocks.pickle");
    expect(recording.tables[0]?.columns.allocated).toHaveLength(1);
    expect(notes.join()).toContain("no trace");
  });

  it("free_completed alone frees a block where no free was requested", async () => {
    const { recording, notes } = await written(churn({ freed: ["free_completed"] }));
    const allocated = recording.tables[0]?.columns.allocated;
    expect(Math.max(...(allocated ?? []))).toBe(64 * MIB);
    expect(allocated?.at(-1)).toBe(0);
    expect(notes.join()).not.toContain("damaged");
    const both = await written(churn({ freed: ["free_requested", "free_completed"] }));
    expect(Math.max(...(both.recording.tables[0]?.columns.allocated ?? []))).toBe(64 * MIB);
    // An entry of the ring whose request was overwritten, and one allocation that is only completed.
    const mixed = await written(churn({ freed: ["free_requested", "free_completed"], requestsLost: [0, 5] }));
    expect(mixed.recording.tables[0]?.columns.allocated?.at(-1)).toBe(0);
    expect(Math.max(...(mixed.recording.tables[0]?.columns.allocated ?? []))).toBe(64 * MIB);
  });

  it("a snapshot with more allocated than reserved is reported as damaged, and its growth is not judged", async () => {
    const { recording, notes } = await written(churn({ freed: [] }));
    expect(notes.at(-1)).toBe(
      "the trace of cuda:0 is damaged: 1.25 GiB allocated in 256.00 MiB reserved is impossible, so only the sizes at the time of the snapshot are read",
    );
    expect(recording.tables[0]?.columns.allocated).toEqual(Float64Array.of(0));
    expect(analyze(recording).series.map((series) => series.class)).toEqual(["insufficient", "insufficient"]);
  });

  it("memory snapshots of several ranks become one run", async () => {
    const { recording } = await recordingOf("ranks_rank0_step9.pickle", "ranks_rank1_step9.pickle");
    expect(recording.tables.map(({ rank }) => rank)).toEqual([0, 1]);
  });

  it("a memory snapshot can be compared", async () => {
    const { scenarios } = await judgeableInput(fixture("leak-step12.pickle"));
    expect(scenarios[0]?.measurements.runs[0]?.series.map(({ metric }) => metric)).toEqual(["allocated", "reserved"]);
  });

  it("a memory snapshot in a SQLite database is refused, with the call that dumps a pickle", async () => {
    const sql = ["DROP TABLE step_memory_samples", "CREATE TABLE device_traces (action TEXT, size INTEGER)"];
    const file = path.join(mkdtempSync(path.join(tmpdir(), "snapshot-")), "step-3.db");
    writeFileSync(file, await traceMlDatabase([], { sql }));
    const hint = expect.stringContaining("torch.cuda.memory._dump_snapshot");
    expect(() => readSnapshotFiles([file])).toThrow(expect.objectContaining({ code: "SNAPSHOT_UNSUPPORTED", hint }));
    await expect(analysisInput([file])).rejects.toMatchObject({ code: "INPUT_UNKNOWN_FORMAT", exitCode: 5, hint });
  });
});
