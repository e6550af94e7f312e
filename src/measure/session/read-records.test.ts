import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { loadNative, startNative } from "../../sampler/native.ts";
import { RecordKind } from "../../sampler/record-layout.ts";
import { RecordWriter } from "../../sampler/record-writer.ts";
import type { Sampler } from "../../sampler/sampler.ts";
import { readRecords } from "./read-records.ts";

const START = {
  monotonicStartNs: 0n,
  epochNs: 0n,
  hostPeriodNs: 5_000_000,
  devicePeriodNs: 20_000_000,
  rootPid: 1,
  pageSize: 4096,
};
const SAMPLES = 500;

type Records = Pick<Sampler, "readRecords" | "checkRecords" | "closeRecords">;

/** Records of the plain sampler, complete. */
function plain(file: string): Records {
  const writer = new RecordWriter(file, START);
  for (let at = 0; at < SAMPLES; at += 1) writer.add(at * 5e6, RecordKind.tree, -1, [2 ** 28, 2 ** 28, 0, 1]);
  writer.close(SAMPLES * 5e6);
  return {
    readRecords: (into) => writer.readBack(into),
    checkRecords: () => writer.check(),
    closeRecords: () => writer.release(),
  };
}

/** Records of the native sampler, stopped. */
function native(file: string): Records {
  const loaded = loadNative();
  if (!("addon" in loaded)) throw new Error(loaded.reason);
  const sampler = startNative(loaded.addon, {
    file,
    rootPid: process.pid,
    includeRoot: true,
    hostPeriodNs: 1e6,
    devicePeriodNs: 1e9,
    cpuBudget: null,
    marker: null,
    probeDirectory: null,
  });
  sampler.stop();
  return sampler;
}

describe.each([
  ["plain", plain],
  ["native", native],
])("the record file of the %s sampler", (_, recorded) => {
  let directory: string;
  let file: string;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
    file = path.join(directory, "samples.rec");
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  it("the record file is read as it was written", () => {
    const read = readRecords(recorded(file), file);
    expect(read).toMatchObject({ kind: "read", interference: [], file: { cutBytes: 0, skippedRecords: 0 } });
  });

  it.each<[string, string, () => void]>([
    ["removed", "removed", () => rmSync(file)],
    [
      "replaced by a rename over it",
      "replaced",
      () => {
        writeFileSync(`${file}.new`, readFileSync(file).subarray(0, 64));
        renameSync(`${file}.new`, file);
      },
    ],
    [
      "replaced by a directory",
      "replaced",
      () => {
        rmSync(file);
        mkdirSync(file);
      },
    ],
    [
      "replaced by a link",
      "replaced",
      () => {
        writeFileSync(`${file}.new`, readFileSync(file));
        rmSync(file);
        symlinkSync(`${file}.new`, file);
      },
    ],
    ["appended to", "appended to", () => writeFileSync(file, Buffer.alloc(4800, 1), { flag: "a" })],
    [
      "in a directory that was swapped for a link",
      "replaced",
      () => {
        renameSync(directory, `${directory}.old`);
        onTestFinished(() => rmSync(`${directory}.old`, { recursive: true, force: true }));
        mkdirSync(`${directory}.evil`);
        onTestFinished(() => rmSync(`${directory}.evil`, { recursive: true, force: true }));
        writeFileSync(path.join(`${directory}.evil`, "samples.rec"), "");
        symlinkSync(`${directory}.evil`, directory);
      },
    ],
  ])("the record file is read through its descriptor when the path is %s, which is reported", (_, deed, alter) => {
    const records = recorded(file);
    const before = readFileSync(file).length;
    alter();
    const read = readRecords(records, file);
    expect(read).toMatchObject({
      kind: "read",
      interference: [`samples.rec was ${deed} during the run; the samples were read as the sampler wrote them.`],
    });
    expect(read.kind === "read" && read.file.records).toBe((before - 64) / 48);
  });

  it.each<[string, () => void]>([
    [
      "one bit is flipped",
      () => {
        const bytes = readFileSync(file);
        const fd = openSync(file, "r+");
        writeSync(fd, Buffer.from([(bytes[100] ?? 0) ^ 1]), 0, 1, 100);
        closeSync(fd);
      },
    ],
    ["it is emptied", () => truncateSync(file)],
    ["it is cut", () => truncateSync(file, 64 + 48)],
    ["it is cut within a record", () => truncateSync(file, 64 + 50)],
    [
      "it is cut and filled with zeros",
      () => {
        const size = readFileSync(file).length;
        truncateSync(file, 64);
        truncateSync(file, size);
      },
    ],
    [
      "its header is another",
      () => {
        const fd = openSync(file, "r+");
        writeSync(fd, "not a record file", 0);
        closeSync(fd);
      },
    ],
    [
      "two records are exchanged",
      () => {
        const bytes = readFileSync(file);
        const [first, second] = [bytes.subarray(64, 112), bytes.subarray(112, 160)];
        writeFileSync(file, Buffer.concat([bytes.subarray(0, 64), second, first, bytes.subarray(160)]), { flag: "r+" });
      },
    ],
  ])("the record file is refused as altered when %s", (_, alter) => {
    const records = recorded(file);
    alter();
    const read = readRecords(records, file);
    expect(read).toMatchObject({ kind: "failed", error: { code: "RECORD_FILE_ALTERED" } });
    expect(read.kind === "failed" && read.error.message).toContain("samples.rec was altered during the run");
  });
});
