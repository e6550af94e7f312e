import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { RECORD_BYTES, RecordKind } from "../../sampler/record-layout.ts";
import { RecordWriter } from "../../sampler/record-writer.ts";
import { RECENT_CAPACITY, RECENT_ENDING, RECENT_MAGIC } from "../../telemetry/reading/recent-records.ts";
import { recordBytes } from "../../telemetry/testing/record-bytes.ts";
import { recordingInfo } from "../../telemetry/testing/recordings.ts";
import { EvidenceStream } from "./evidence-stream.ts";
import { readStreamedRun } from "./read-stream.ts";

const START = {
  monotonicStartNs: 987_654_321n,
  epochNs: 0n,
  hostPeriodNs: 5_000_000,
  devicePeriodNs: 20_000_000,
  rootPid: 1,
  pageSize: 4096,
};
const RUNNING = { info: recordingInfo({ complete: false, exit: { kind: "running" } }), programs: [] };

/** A run whose sampler writes ticks, one each millisecond, and its stream. */
function streamed() {
  const root = mkdtempSync(path.join(tmpdir(), "gate-stream-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const file = path.join(root, "samples.rec");
  const writer = new RecordWriter(file, START);
  onTestFinished(() => writer.release());
  const directory = path.join(root, "s", "20261130T093619Z-host-12", "train", "1");
  let ms = 0;
  const ticks = (count: number): void => {
    for (let i = 0; i < count; i += 1) writer.add(++ms * 1e6, RecordKind.tree, -1, [ms, ms, 0, 1]);
    writer.flush(ms * 1e6);
  };
  const stream = new EvidenceStream(directory, root);
  const read = () => readStreamedRun(directory, path.join(root, "read"));
  const restored = () => readFileSync(path.join(root, "read", "samples.rec"));
  return { root, file, directory, stream, ticks, read, restored };
}

describe("streamed evidence", () => {
  it("segments together are the record file, the output and the newest information", async () => {
    const { root, file, stream, ticks, read, restored } = streamed();
    ticks(5);
    stream.start(() => RUNNING);
    await stream.stop();
    ticks(7);
    writeFileSync(path.join(root, "output.log"), "hello\n");
    expect(await stream.end(recordingInfo())).toBeNull();
    const { info, recording } = await read();
    expect(restored()).toEqual(readFileSync(file));
    expect(readFileSync(path.join(root, "read", "output.log"), "utf8")).toBe("hello\n");
    expect([info.complete, recording.tables[0]?.timeNs?.length]).toEqual([true, 12]);
  });

  it("a segment that was cut while it was written is left out, with a note", async () => {
    const { directory, stream, ticks, read } = streamed();
    stream.start(() => RUNNING);
    await stream.stop();
    ticks(5);
    await stream.stop();
    ticks(5);
    await stream.end(RUNNING.info);
    const last = path.join(directory, readdirSync(directory).sort().at(-1) ?? "");
    truncateSync(last, readFileSync(last).length - 1);
    const { recording, info } = await read();
    expect(recording.tables[0]?.timeNs?.length).toBe(5);
    expect(info).toMatchObject({ complete: false, clock: { duration_s: 0.005 } });
    expect(info.lost).toContain("1 segment cut while written");
  });

  it("what a directory refused is in the next segment, and the loss is reported with its code", async () => {
    const { root, file, stream, ticks, read, restored } = streamed();
    writeFileSync(path.join(root, "s"), "in the way");
    ticks(5);
    stream.start(() => RUNNING);
    await stream.stop();
    rmSync(path.join(root, "s"));
    ticks(5);
    expect(await stream.end(RUNNING.info)).toMatch(/^STREAM_WRITE_FAILED: \w+: 2 of 3 segments not written/);
    await read();
    expect(restored()).toEqual(readFileSync(file));
  });

  it("records that a long run holds back follow those of its record file, each once", async () => {
    const { file, stream, ticks, read } = streamed();
    const hold = (first: number, next: number): void => {
      const bytes = Buffer.alloc(64 + RECENT_CAPACITY * RECORD_BYTES);
      bytes.write(RECENT_MAGIC, 0, "latin1");
      for (const [i, value] of [next, first, RECENT_CAPACITY].entries())
        bytes.writeBigUInt64LE(BigInt(value), 8 + 8 * i);
      for (let n = first; n < next; n++) {
        const tick = recordBytes([{ timeNs: (n + 1) * 1e6, kind: RecordKind.tree, values: [n, n, 0, 1n] }]);
        tick.copy(bytes, 64 + n * RECORD_BYTES, 64);
      }
      writeFileSync(`${file}${RECENT_ENDING}`, bytes);
    };
    ticks(2);
    hold(0, 6);
    stream.start(() => RUNNING);
    await stream.stop();
    ticks(2);
    hold(3, 9);
    await stream.end(RUNNING.info);
    const { recording } = await read();
    expect([...(recording.tables[0]?.timeNs ?? [])].map((ns) => ns / 1e6)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
});
