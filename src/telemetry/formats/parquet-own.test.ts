import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GateError } from "../../core/errors.ts";
import { draws } from "../../core/testing/draws.ts";
import type { Recording, SampleTable } from "../recording/model.ts";
import { readParquet, writeParquet } from "./parquet.ts";
import { bounded, UnsupportedEncoding } from "./parquet-page.ts";

let file: string;
beforeAll(() => {
  file = path.join(mkdtempSync(path.join(tmpdir(), "shard-parquet-")), "samples.parquet");
});
afterAll(() => rmSync(path.dirname(file), { recursive: true, force: true }));

const recordingOf = (tables: readonly SampleTable[]): Recording => ({
  ...{ epochNs: 1_700_000_000_123_456_789n, tables, worldSize: 2, events: null, info: null },
  ...{ peaks: [], marks: [], missing: { allocated_bytes: 3 } },
});

/** The metadata of one table with so many rows of host memory. */
const layoutOf = (rows: number) => ({
  ...{ version: 1, epoch_ns: null, world_size: null, missing: {}, peaks: [], marks: [] },
  tables: [{ rank: 0, device: "host", rows, time: false, steps: false, columns: ["host"], highwater: [] }],
});

/** Whole numbers of every width up to two pebibytes, some of them missing. */
const column = (rows: number) =>
  fc
    .array(
      fc.oneof(
        { weight: 6, arbitrary: fc.bigInt({ min: 0n, max: 2n ** 51n }).map(Number) },
        { weight: 3, arbitrary: fc.nat({ max: 300 }) },
        { weight: 1, arbitrary: fc.constant(Number.NaN) },
      ),
      { minLength: rows, maxLength: rows },
    )
    .map((values) => Float64Array.from(values));

const table = fc.integer({ min: 0, max: 400 }).chain((rows) =>
  fc.record({ allocated: column(rows), used: column(rows), time: column(rows), ends: fc.boolean() }).map(
    ({ allocated, used, time, ends }, rank = 0): SampleTable => ({
      ...{ rank, device: "cuda:0", timeNs: time, steps: ends ? used : null },
      columns: ends ? { allocated, used } : { allocated },
      highwater: new Set(),
      ...(ends ? { atStep: Uint8Array.from(allocated, (value) => Number(value % 2 === 1)) } : {}),
    }),
  ),
);

describe("Parquet files of our own", () => {
  it("a table is read as it was written, to the last bit", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(table, { minLength: 1, maxLength: 4 }), async (tables) => {
        const recording = recordingOf(tables.map((one, rank) => ({ ...one, rank })));
        writeParquet(file, recording);
        expect(await readParquet(file)).toEqual(recording);
      }),
      { numRuns: draws(40) },
    );
  });

  it("fractions are kept", async () => {
    const fractions: SampleTable = {
      ...{ rank: 0, device: "host", timeNs: Float64Array.of(0.5, 1.5), steps: null, highwater: new Set() },
      columns: { host: Float64Array.of(1, 2) },
    };
    writeParquet(file, recordingOf([fractions]));
    expect((await readParquet(file)).tables).toEqual([fractions]);
  });

  it("a truncated file is rejected, and any changed byte read to an end", async () => {
    const rows = 3000;
    const values = Float64Array.from({ length: rows }, (_, i) => 1e9 + ((i * 7919) % 1001) * 4096);
    const times = Float64Array.from({ length: rows }, (_, i) => i * 5_000_000 + ((i * 31) % 997));
    const one: SampleTable = {
      ...{ rank: 0, device: "host", timeNs: times, steps: null, highwater: new Set() },
      columns: { host: values },
    };
    writeParquet(file, recordingOf([one]));
    const whole = readFileSync(file);
    const outcome = async (bytes: Uint8Array) => {
      writeFileSync(file, bytes);
      return readParquet(file).catch((error: unknown) => (error instanceof GateError ? error.kind : error));
    };
    for (let at = 0; at < whole.length; at += Math.ceil(whole.length / 60)) {
      expect(await outcome(whole.subarray(0, at))).toBe("invalid-input");
    }
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(255), async (at, byte) => {
        const changed = Buffer.from(whole);
        changed[at] = byte;
        const read = await outcome(changed);
        // Numbers have no checksum here: a changed number may pass, a changed structure may not.
        if (read !== "invalid-input") expect(read).toMatchObject({ tables: [{ timeNs: { length: rows } }] });
      }),
      { numRuns: draws(400) },
    );
  });

  it("a small file that declares many rows is refused before room is made for them", async () => {
    const declared = 100_000_000;
    const bytes = new ByteWriter(1 << 16);
    const writer = new ParquetWriter({
      writer: bytes,
      schema: [
        { name: "root", num_children: 1 },
        { name: "host_bytes", type: "INT64", repetition_type: "OPTIONAL" },
      ],
      kvMetadata: [{ key: "stormlog.recording", value: JSON.stringify(layoutOf(declared)) }],
    });
    writer.write({ columnData: [{ name: "host_bytes", data: [1n, 2n], encoding: "DELTA_BINARY_PACKED" }] });
    writer.num_rows = BigInt(declared);
    for (const group of writer.row_groups) group.num_rows = BigInt(declared);
    writer.finish();
    writeFileSync(file, new Uint8Array(bytes.buffer, 0, bytes.index));
    await expect(readParquet(file)).rejects.toMatchObject({
      code: "PARQUET_UNREADABLE",
      message: expect.stringContaining("more rows than its size allows"),
    });
  });

  it("a Snappy element is not decoded beyond its page", () => {
    const decode = bounded(() => expect.fail("decoded"));
    // A literal of 2^32 bytes, which reads as a negative length in 32 bits, and a copy that is longer than the page.
    for (const bytes of [
      [4, 0xfc, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4],
      [4, 0xff, 1, 0, 0, 0],
      [4, 0x0c, 1],
    ]) {
      expect(() => decode(Uint8Array.from(bytes), new Uint8Array(4))).toThrow(UnsupportedEncoding);
    }
  });
});
