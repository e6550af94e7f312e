import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type ColumnSource, parquetWriteBuffer } from "hyparquet-writer";
import { afterAll, describe, expect, it } from "vitest";
import { GateError } from "../../core/errors.ts";
import { readParquet } from "../../telemetry/formats/parquet.ts";
import { readForeignParquet } from "./parquet-foreign.ts";

const read = (file: string) => readParquet(file, readForeignParquet);

const directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-parquet-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A file as other tools write it: row groups of seven rows, so that every read spans several. */
const written = (columnData: ColumnSource[]): string => {
  const file = path.join(directory, "foreign.parquet");
  writeFileSync(file, new Uint8Array(parquetWriteBuffer({ columnData, rowGroupSize: 7 })));
  return file;
};
const integers = (name: string, data: readonly (number | null)[]): ColumnSource => ({
  name,
  data: data.map((value) => (value === null ? null : BigInt(value))),
  type: "INT64",
});
const count = (n: number) => Array.from({ length: n }, (_, i) => i);
const codeOf = async (file: string) => {
  try {
    await read(file);
    return "none";
  } catch (error) {
    if (error instanceof GateError) return error.code;
    throw error;
  }
};

describe("Parquet files of other tools", () => {
  it("a Parquet file is split into a table for each rank and device, with interleaved rows in order", async () => {
    const { tables, missing } = await read(
      written([
        integers("timestamp_ns", count(50)),
        integers(
          "rank",
          count(50).map((i) => i % 3),
        ),
        { name: "device", data: count(50).map((i) => (i % 2 === 0 ? "cuda:0" : "host")), type: "STRING" },
        integers(
          "used_bytes",
          count(50).map((i) => (i === 12 ? null : 1000 + i)),
        ),
        { name: "comment", data: count(50).map(String), type: "STRING" },
      ]),
    );
    expect(tables.map(({ rank, device }) => `${rank} ${device}`)).toEqual([
      "0 cuda:0",
      "1 host",
      "2 cuda:0",
      "0 host",
      "1 cuda:0",
      "2 host",
    ]);
    expect([...(tables[0]?.timeNs ?? [])]).toEqual(count(9).map((i) => 6 * i));
    expect([...(tables[0]?.columns.used ?? [])]).toEqual([1000, 1006, Number.NaN, 1018, 1024, 1030, 1036, 1042, 1048]);
    expect(missing).toEqual({ used_bytes: 1 });
  });

  it("a Parquet file without rank and device columns is one table", async () => {
    const { tables } = await read(
      written([
        integers("step", count(20)),
        { name: "allocated_bytes", data: count(20).map((i) => i / 2), type: "DOUBLE" },
      ]),
    );
    expect(tables).toMatchObject([{ rank: 0, device: "cuda:0", timeNs: null }]);
    expect([...(tables[0]?.steps ?? [])]).toEqual(count(20));
    expect(tables[0]?.columns.allocated?.[19]).toBe(9.5);
  });

  it("a Parquet file is rejected without a memory column, or with an impossible size or rank", async () => {
    expect(await codeOf(written([integers("step", count(20))]))).toBe("INPUT_UNKNOWN_FORMAT");
    expect(await codeOf(written([integers("used_bytes", [5, -1])]))).toBe("NEGATIVE_BYTES");
    expect(await codeOf(written([integers("rank", [0, 2 ** 21]), integers("used_bytes", [5, 6])]))).toBe(
      "RANK_INVALID",
    );
    expect(await codeOf(written([{ name: "used_bytes", data: [1e300], type: "DOUBLE" }]))).toBe("BYTES_TOO_LARGE");
  });
});
