import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readParquet } from "../formats/parquet.ts";
import type { Recording, RecordingInfo } from "../recording/model.ts";
import type { OutOfMemory } from "../recording/out-of-memory.ts";
import { readRecordingInfo } from "../recording/run-info.ts";
import { writeRunFiles } from "../run-directory.ts";
import { recording, recordingInfo, series, table } from "../testing/recordings.ts";
import { outOfMemory } from "./decide.ts";
import { NO_KERNEL_FACTS } from "./kernel.ts";
import { findMessages } from "./messages.ts";
import { readProbeOoms } from "./probe-files.ts";

const _STORMLOG_PYTHON = process.env.STORMLOG_PYTHON ?? "";
/** 60 s at 200 Hz, growing, with the error at 50 s. */
const SAMPLES = 12_000;
const PERIOD_NS = 5e6;
const ERROR_NS = 50e9;
const START_NS = 987_654_321n;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-oom-"));
  mkdirSync(path.join(directory, "probe"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const file = (...names: string[]) => path.join(directory, ...names);
const put = (name: string, text: string) => writeFileSync(file("probe", name), text);

function record(atNs: number, more = ""): string {
  return `time_ns=${START_NS + BigInt(atNs)}
kind=torch-observer
exception=torch.OutOfMemoryError
message=CUDA out of memory. Tried to allocate 2.00 GiB
device=cuda:0
requested_bytes=2147483648
allocated_bytes=3000000000
reserved_bytes=3500000000
traceback=Traceback (most recent call last):%0A  File "/project/train.py", line 41, in step%0A    x = torch.empty(n)%0A
${more}`;
}

function device(): Recording {
  const { timeNs, values } = series(SAMPLES, PERIOD_NS, (i) => 1e9 + i * 1e5);
  const columns = { allocated: values, reserved: values.map((v) => v + 1e6), used: values.map((v) => v + 4e8) };
  const total = values.map(() => 16e9);
  return recording({ tables: [table({ device: "cuda:0", timeNs, columns: { ...columns, total } })] });
}

function judged(changes: Partial<RecordingInfo> = {}, output = ""): RecordingInfo {
  const info = recordingInfo({ exit: { kind: "exited", code: 1 }, ...changes });
  const oom = outOfMemory({
    exit: info.exit,
    startNs: START_NS,
    probe: readProbeOoms(directory),
    kernel: NO_KERNEL_FACTS,
    output,
    messages: findMessages(output),
  });
  if (oom === null) throw new Error("expected an out-of-memory run");
  return { ...info, oom };
}

const written = () =>
  readdirSync(file("oom"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(file("oom"), path.join(entry.parentPath, entry.name)))
    .sort();

describe("the evidence of a run that ran out of memory", () => {
  it("contains the last window at full rate, the request, the stack and the snapshot", async () => {
    put("77.0.info", "pid=77\nrank=0\n");
    put("77.0.oom.0", record(ERROR_NS, "snapshot=77.0.oom.0.pickle\n"));
    put("77.0.oom.0.pickle", "pickled");
    writeFileSync(file("output.log"), "epoch 1\nepoch 2\n");
    const info = judged();
    await writeRunFiles(directory, { ...device(), info });
    expect(written()).toEqual([
      "77.0.info",
      "77.0.oom.0",
      "77.0.oom.0.pickle",
      "oom.json",
      "output-tail.txt",
      "traceback.txt",
      "window.parquet",
    ]);
    expect(existsSync(file("probe", "77.0.oom.0"))).toBe(false);
    expect(existsSync(file("probe", "77.0.oom.0.pickle"))).toBe(false);
    const window = await readParquet(file("oom", "window.parquet"));
    const times = window.tables[0]?.timeNs ?? new Float64Array();
    expect([times[0], times.at(-1), times.length]).toEqual([40e9, 51e9, 11e9 / PERIOD_NS + 1]);
    expect(readFileSync(file("oom", "traceback.txt"), "utf8")).toBe(
      'Traceback (most recent call last):\n  File "/project/train.py", line 41, in step\n    x = torch.empty(n)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n',
    );
    const document = JSON.parse(readFileSync(file("oom", "oom.json"), "utf8")) as OutOfMemory & { schema: string };
    expect(document).toMatchObject({
      schema: "stormlog.oom/1",
      source: "probe",
      requested_bytes: 2 ** 31,
      window: { from_ns: 40e9, to_ns: 51e9 },
      exit: { kind: "exited", code: 1 },
      later: [],
    });
    expect(readRecordingInfo(directory).oom).toEqual(info.oom);
  });

  it("keeps the first error and the last four of many, each with its snapshot", async () => {
    for (let k = 0; k < 9; k++) {
      put(`77.0.oom.${k}`, record(ERROR_NS + k * 1e8, `snapshot=77.0.oom.${k}.pickle\n`));
      put(`77.0.oom.${k}.pickle`, "pickled");
    }
    const info = judged({ exit: { kind: "exited", code: 0 } });
    expect(info.oom).toMatchObject({ errors: 9, swallowed: true, time_ns: ERROR_NS });
    await writeRunFiles(directory, { ...device(), info });
    const names = readdirSync(file("oom"));
    const { later } = JSON.parse(readFileSync(file("oom", "oom.json"), "utf8")) as { later: unknown[] };
    expect(later).toHaveLength(4);
    expect(names.filter((name) => name.endsWith(".pickle")).sort()).toEqual(
      [0, 5, 6, 7, 8].map((k) => `77.0.oom.${k}.pickle`),
    );
  });

  it("the evidence of a suspected error has what the output and the samples show", async () => {
    const report = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";
    writeFileSync(file("output.log"), report);
    const suspected = judged({ exit: { kind: "exited", code: 0 } }, report);
    expect(suspected.oom?.certainty).toBe("suspected");
    await writeRunFiles(directory, { ...device(), info: suspected });
    expect(written()).toEqual(["oom.json", "output-tail.txt", "window.parquet"]);
  });

  it("writeRunFiles does not follow links or wait for pipes that the program put among the probe's files", async () => {
    put("77.0.oom.0", record(ERROR_NS, "snapshot=77.0.oom.0.pickle\n"));
    writeFileSync(file("secret"), "secret");
    symlinkSync(file("secret"), file("probe", "77.0.oom.1"));
    symlinkSync(file("secret"), file("probe", "77.0.oom.0.pickle"));
    execFileSync("mkfifo", [file("probe", "77.0.oom.2")]);
    const info = judged();
    expect(info.oom?.errors).toBe(1);
    await writeRunFiles(directory, { ...device(), info });
    expect(written()).not.toContain("77.0.oom.0.pickle");
    expect(readRecordingInfo(directory).lost).toEqual([
      expect.stringMatching(/77\.0\.oom\.0\.pickle.*not a regular file/),
    ]);
  });

  it("one file of the evidence that cannot be written causes a note, and the others are written", async () => {
    put("77.0.oom.0", record(ERROR_NS));
    // A directory at the file's path: nothing can be written there, even by root.
    mkdirSync(file("oom", "window.parquet"), { recursive: true });
    await writeRunFiles(directory, { ...device(), info: judged() });
    expect(readRecordingInfo(directory).lost).toEqual([
      expect.stringMatching(/^oom\/ is not complete: window\.parquet could not be written \(.*EISDIR/),
    ]);
    expect(written()).toEqual(["77.0.oom.0", "oom.json", "traceback.txt"]);
  });

  it("evidence that cannot be written causes a note, and does not affect the run's other files", async () => {
    put("77.0.oom.0", record(ERROR_NS));
    // A file at the directory's path: nothing can be written into it, even by root.
    writeFileSync(file("oom"), "in the way");
    await writeRunFiles(directory, { ...device(), info: judged() });
    const lost = readRecordingInfo(directory).lost.join("\n");
    expect(lost).toMatch(
      /^oom\/ is not complete: window\.parquet, .*oom\.json could not be written \((EEXIST|ENOTDIR)/s,
    );
    for (const name of ["samples.parquet", "events.json", "stats.json"]) expect(existsSync(file(name))).toBe(true);
  });
});
