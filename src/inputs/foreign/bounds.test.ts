import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { analyze } from "../../analysis/analyze.ts";
import { parseMeasurements } from "../../analysis/parse-measurements.ts";
import { parseBaselineRecord } from "../../baseline/record.ts";
import { analysisInput } from "../analysis-input.ts";
import { readTelemetry } from "./read.ts";

let directory = "";
beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-bounds-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function fileOf(text: string): string {
  const file = path.join(directory, "input");
  writeFileSync(file, text);
  return file;
}

const lines = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join("\n");

const event = (rank: number, worldSize: number) =>
  JSON.stringify({ timestamp: 1, event_type: "sample", memory_allocated: 1, rank, world_size: worldSize });

const measurements = (rank: number) =>
  JSON.stringify({
    schema: "stormlog.measurements/1",
    scenario: "train",
    runs: [{ session: "a", series: [{ rank, device: "cuda:0", metric: "allocated", peak_bytes: 1 }] }],
  });

describe("a small file that names huge ranks or many of them is refused with a code", () => {
  it.each([
    ["a CSV table of 200,000 ranks", "INPUT_TOO_LARGE", `rank,used_bytes\n${lines(200_000, (i) => `${i},1`)}`],
    [
      "a CSV table of 30,000 ranks with a row each",
      "INPUT_TOO_LARGE",
      `rank,used_bytes\n${lines(30_000, (i) => `${i},1`)}`,
    ],
    ["a CSV table of 70,000 devices", "INPUT_TOO_LARGE", `device,used_bytes\n${lines(70_000, (i) => `d${i},1`)}`],
    [
      "a CSV table of 35,000 ranks and all columns",
      "INPUT_TOO_LARGE",
      `rank,allocated_bytes,reserved_bytes,used_bytes,host_bytes\n${lines(35_000, (i) => `${i},1,2,3,4`)}`,
    ],
    [
      "a log of nvidia-smi with 50,000 indices",
      "INPUT_TOO_LARGE",
      `index,memory.used\n${lines(50_000, (i) => `${i},1`)}`,
    ],
    ["a CSV table with rank 10⁸", "RANK_INVALID", "rank,used_bytes\n100000000,1\n"],
    ["an event of rank 2³²", "TELEMETRY_INVALID", event(2 ** 32, 2 ** 33)],
    ["20,000 events of a rank each", "INPUT_TOO_LARGE", lines(20_000, (i) => event(i, 20_000))],
  ])("%s is refused with %s", async (_, code, text) => {
    await expect(readTelemetry(fileOf(text))).rejects.toMatchObject({ code, kind: "invalid-input" });
  });

  it.each([10 ** 8, 2 ** 32, 2 ** 53 - 1])("measurements of rank %d are refused", async (rank) => {
    await expect(analysisInput([fileOf(measurements(rank))])).rejects.toMatchObject({ code: "MEASUREMENTS_INVALID" });
  });
});

describe("JSON of a megabyte that is not telemetry", () => {
  const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

  it.each([
    ["an event", (value: string) => `[${event(0, 1).replace("}", `,"metadata":${value}}`)}]`],
    ["an object", (value: string) => value],
    ["a line", (value: string) => `{"timestamp":1,"events":[${value}]}`],
  ])("JSON is refused where %s has 100,000 levels", async (_, of) => {
    await expect(readTelemetry(fileOf(of(nested(100_000))))).rejects.toMatchObject({ code: "INPUT_MALFORMED" });
  });

  it("metadata of a table with 100,000 levels is read as empty, and with 30 levels it is read", async () => {
    const cell = (value: string) => `"${value.replaceAll('"', '""')}"`;
    const table = (levels: number) =>
      `event_type,timestamp,memory_allocated,metadata\nsample,1,1,${cell(nested(levels))}\n`;
    await expect(readTelemetry(fileOf(table(30)))).resolves.toMatchObject({ notes: [] });
    await expect(readTelemetry(fileOf(table(100_000)))).resolves.toMatchObject({
      notes: [expect.stringContaining("read as empty")],
    });
  });

  it("readTelemetry reads the events of the top-level object, not nested ones under the same key", async () => {
    const inner = `{"events":[${event(7, 8)}],"x":"\\"events\\":["}`;
    const telemetry = await readTelemetry(fileOf(`{"meta":[${inner}],"events":[${event(3, 8)}],"more":${inner}}`));
    expect(telemetry).toMatchObject({ recording: { events: [{ rank: 3 }] } });
  });
});

describe("measurements that no gate wrote", () => {
  const run = { session: "a", metrics: { allocated_peak_bytes: 1 } };
  const document = (runs: number, fields: number) => ({
    schema: "stormlog.measurements/1",
    scenario: "train",
    fingerprint: Object.fromEntries(Array.from({ length: fields }, (_, i) => [`field ${i}`, 1])),
    runs: Array.from({ length: runs }, () => run),
  });

  it.each([
    [2000, 500, null],
    [2001, 1, "the document has 2001 runs (at most 2000)"],
    [1, 501, "the document has 501 fingerprint fields (at most 500)"],
  ])("the error of measurements with %d runs and %d fields of the environment is: %s", (runs, fields, refusal) => {
    const parse = () => parseMeasurements(document(runs, fields), "file");
    if (refusal === null) expect(parse().runs).toHaveLength(runs);
    else expect(parse).toThrow(expect.objectContaining({ code: "MEASUREMENTS_INVALID", message: refusal }));
  });

  it("a baseline record with 501 fields of the environment is refused", () => {
    const { fingerprint } = document(1, 501);
    const record = { schema: "stormlog.baseline/1", scenario: "a", fingerprint, epochs: [], envelopes: [] };
    expect(() => parseBaselineRecord(record, "file")).toThrow(expect.objectContaining({ code: "BASELINE_INVALID" }));
  });
});

describe("a document whose first entry is wrong", () => {
  it.each([
    ["measurements", (runs: unknown) => parseMeasurements({ ...JSON.parse(measurements(0)), runs }, "file")],
    [
      "a baseline record",
      (runs: unknown) =>
        parseBaselineRecord(
          {
            schema: "stormlog.baseline/1",
            scenario: "a",
            fingerprint: {},
            epochs: [{ opened: "", reason: "", series: [], runs }],
          },
          "file",
        ),
    ],
  ])("a document whose first entry is wrong is refused without reading the others: %s", (_, parse) => {
    let looks = 0;
    const watched = Object.defineProperty({}, "session", { enumerable: true, get: () => (looks += 1) });
    expect(() => parse([{}, watched])).toThrowError(expect.objectContaining({ exitCode: 5 }));
    expect(looks).toBe(0);
    expect(() => parse([watched])).toThrowError();
    expect(looks).toBeGreaterThan(0);
  });
});

describe("a large job is read", () => {
  it("lists the missing ranks of measurements as far as ranks are followed", async () => {
    const input = await analysisInput([fileOf(measurements(999_999))]);
    if (input.kind !== "document") throw new Error("expected a document");
    expect(input.document.ranks.world_size).toBe(1_000_000);
    expect(input.document.ranks.missing_ranks).toHaveLength(100_000);
  });

  it("reads one sample of each of 16,384 ranks, and looks a bounded number of times at each", async () => {
    const telemetry = await readTelemetry(fileOf(`rank,used_bytes\n${lines(16_384, (i) => `${i},${i + 1}`)}`));
    if (telemetry.kind !== "recording") throw new Error("expected a recording");
    let looks = 0;
    const tables = telemetry.recording.tables.map((table) =>
      Object.defineProperty({ ...table }, "rank", {
        enumerable: true,
        get: () => {
          looks += 1;
          return table.rank;
        },
      }),
    );
    const { series } = analyze({ ...telemetry.recording, tables });
    expect(series).toHaveLength(16_384);
    // A join of all ranks with all ranks takes 268 million.
    expect(looks).toBeLessThan(100 * 16_384);
  });
});
