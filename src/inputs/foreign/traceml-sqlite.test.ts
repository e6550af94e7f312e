import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GateError } from "../../core/errors.ts";
import { GIB, MIB } from "../../core/units.ts";
import { traceMlDatabase } from "../../telemetry/testing/traceml-database.ts";
import { readTelemetry } from "./read.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "traceml-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const put = (bytes: Uint8Array, name = "telemetry"): string => {
  const file = path.join(directory, name);
  writeFileSync(file, bytes);
  return file;
};

async function read(file: string) {
  const telemetry = await readTelemetry(file);
  if (telemetry.kind !== "recording") throw new Error(`read as ${telemetry.kind}`);
  return telemetry;
}

const codeOf = async (file: string): Promise<string | undefined> => {
  try {
    await readTelemetry(file);
  } catch (error) {
    if (error instanceof GateError) return `${error.code}/${error.exitCode}`;
    throw error;
  }
  return undefined;
};

const PAGE = 4096;

const START = 1_700_000_000.25;
const rows = (count: number, first = 0) =>
  Array.from({ length: count }, (_, i) =>
    [0, 1].map((rank) => ({
      rank,
      localRank: rank,
      worldSize: 4,
      device: `cuda:${rank}`,
      time: START + first + i,
      step: first + i + 1,
      alloc: (rank + 1) * GIB + i * MIB,
      reserved: (rank + 2) * GIB,
    })),
  ).flat();

describe("TraceML's step memory database", () => {
  it("a TraceML database becomes one table per global rank and device, with steps, clock and capacity", async () => {
    const file = put(await traceMlDatabase(rows(3), { capacity: 80 * GIB }), "run.sqlite");
    const { format, recording, notes } = await read(file);
    expect(format).toBe("traceml-sqlite");
    expect(recording.epochNs).toBe(1_700_000_000_250_000_000n);
    expect(recording.worldSize).toBe(4);
    expect(recording.tables.map(({ rank, device }) => [rank, device])).toEqual([
      [0, "cuda:0"],
      [1, "cuda:1"],
    ]);
    const [, second] = recording.tables;
    expect([...(second?.timeNs ?? [])]).toEqual([0, 1e9, 2e9]);
    expect([...(second?.steps ?? [])]).toEqual([1, 2, 3]);
    expect([...(second?.columns.allocated ?? [])]).toEqual([2 * GIB, 2 * GIB + MIB, 2 * GIB + 2 * MIB]);
    expect([...(second?.columns.reserved ?? [])]).toEqual([3 * GIB, 3 * GIB, 3 * GIB]);
    expect([...(second?.columns.total ?? [])]).toEqual([80 * GIB, 80 * GIB, 80 * GIB]);
    expect(second?.highwater.size).toBe(0);
    expect(notes).toEqual([expect.stringContaining("peaks of each step")]);
  });

  it("counts null values, and never reads them as zero", async () => {
    const file = put(
      await traceMlDatabase([
        { rank: 0, step: 1, alloc: null, reserved: null, device: "cpu" },
        { rank: 0, step: null, alloc: 5, device: null, localRank: 3 },
        { rank: null, step: 2, alloc: 6, device: "mps" },
      ]),
    );
    const { recording } = await read(file);
    expect(recording.missing).toEqual({ peak_alloc_bytes: 1, peak_reserved_bytes: 3 });
    expect(recording.tables.map(({ device }) => device)).toEqual(["cuda:3", "host", "mps:0"]);
    expect(recording.tables[0]?.steps?.[0]).toBeNaN();
    expect(recording.tables[0]?.timeNs).toBeNull();
    expect(recording.tables[1]?.columns.allocated?.[0]).toBeNaN();
    expect(recording.epochNs).toBeNull();
    expect(recording.worldSize).toBeNull();
  });

  it("reads the first layout, without global ranks and world size", async () => {
    const sql = [
      "DROP TABLE step_memory_samples",
      "CREATE TABLE step_memory_samples (rank INTEGER, step INTEGER, peak_alloc_bytes REAL, peak_reserved_bytes REAL)",
      "INSERT INTO step_memory_samples VALUES (2, 1, 10.4, 20)",
    ];
    const { recording } = await read(put(await traceMlDatabase([], { sql })));
    expect(recording.tables).toMatchObject([{ rank: 2, device: "cuda:0", timeNs: null }]);
    expect(recording.tables[0]?.columns.allocated?.[0]).toBe(10);
  });

  it("refuses a database with an unmerged write-ahead log, with the command that merges it", async () => {
    const file = put(await traceMlDatabase(rows(20)), "run.db");
    writeFileSync(`${file}-wal`, "");
    expect((await read(file)).recording.tables).toHaveLength(2);
    writeFileSync(`${file}-wal`, Buffer.alloc(32 + 24 + PAGE));
    await expect(readTelemetry(file)).rejects.toMatchObject({
      code: "SQLITE_UNMERGED_LOG",
      exitCode: 5,
      where: file,
      hint: `Merge it while nothing writes to the database: sqlite3 ${file} "PRAGMA wal_checkpoint(TRUNCATE)"`,
    });
  });

  it("rejects truncated, foreign, empty and impossible databases, with a code", async () => {
    const good = await traceMlDatabase(rows(500));
    expect(await codeOf(put(good.subarray(0, good.length / 2)))).toBe("SQLITE_UNREADABLE/5");
    expect(await codeOf(put(good.subarray(0, 60)))).toBe("SQLITE_UNREADABLE/5");
    const noise = Uint8Array.from(good, (byte, i) => (i > 100 && i % 7 === 0 ? byte ^ 0x5a : byte));
    expect(await codeOf(put(noise))).toMatch(
      /^(SQLITE_UNREADABLE|INPUT_UNKNOWN_FORMAT|RANK_INVALID|NEGATIVE_BYTES)\/5$/,
    );
    expect(await codeOf(put(await traceMlDatabase([])))).toBe("INPUT_EMPTY/5");
    const foreign = { sql: ["DROP TABLE step_memory_samples", "CREATE TABLE cats (name TEXT)"] };
    expect(await codeOf(put(await traceMlDatabase([], foreign)))).toBe("INPUT_UNKNOWN_FORMAT/5");
    const renamed = { sql: ["ALTER TABLE step_memory_samples RENAME COLUMN peak_alloc_bytes TO peak"] };
    expect(await codeOf(put(await traceMlDatabase(rows(1), renamed)))).toBe("INPUT_UNKNOWN_FORMAT/5");
    expect(await codeOf(put(await traceMlDatabase([{ rank: 0, step: 1, alloc: -1 }])))).toBe("NEGATIVE_BYTES/5");
    expect(await codeOf(put(await traceMlDatabase([{ rank: -2, step: 1, alloc: 1 }])))).toBe("RANK_INVALID/5");
  });

  it("rejects a database that would not fit into memory", async () => {
    const file = put(await traceMlDatabase(rows(1)));
    truncateSync(file, 501 * MIB);
    expect(await codeOf(file)).toBe("INPUT_TOO_LARGE/5");
  });
});

/** A page whose children are these, for a tree of rows; `from` bytes of it are a header. */
function interiorPage(children: readonly number[], from = 0): Uint8Array {
  const page = new Uint8Array(PAGE);
  const view = new DataView(page.buffer);
  const cells = children.slice(0, -1);
  const at = (cell: number) => PAGE - 5 * (cell + 1);
  view.setUint8(from, 5);
  view.setUint16(from + 3, cells.length);
  view.setUint16(from + 5, at(cells.length - 1));
  view.setUint32(from + 8, children.at(-1) ?? 0);
  for (const [cell, child] of cells.entries()) {
    view.setUint16(from + 12 + 2 * cell, at(cell));
    view.setUint32(at(cell), child);
    view.setUint8(at(cell) + 4, 1);
  }
  return page;
}

/** A database of these pages, whose header has their number. */
function ofPages(pages: readonly Uint8Array[]): Uint8Array {
  const bytes = Buffer.concat(pages);
  bytes.writeUInt32BE(pages.length, 28);
  return bytes;
}

const pagesOf = (bytes: Uint8Array): Uint8Array[] =>
  Array.from({ length: bytes.length / PAGE }, (_, i) => Uint8Array.from(bytes.subarray(i * PAGE, (i + 1) * PAGE)));

describe("a small database that names its pages again and again", () => {
  const repeated = (page: number) => Array.from({ length: 500 }, () => page);

  it("a database that repeats pages is refused where its rows would be more than it has room for", async () => {
    const pages = pagesOf(await traceMlDatabase(rows(1)));
    const root = pages[1] ?? new Uint8Array();
    const rowsAt = pages.push(root);
    const levelAt = pages.push(interiorPage(repeated(rowsAt)));
    pages[1] = interiorPage(repeated(levelAt));
    expect(await codeOf(put(ofPages(pages)))).toBe("SQLITE_UNREADABLE/5");
    pages[1] = interiorPage([rowsAt, rowsAt]);
    expect(await codeOf(put(ofPages(pages)))).toBeUndefined();
  });

  it("a database that repeats a page of its schema is refused", async () => {
    const pages = pagesOf(await traceMlDatabase(rows(1), { sql: ["CREATE TABLE more (a UNIQUE)"] }));
    const [first = new Uint8Array()] = pages;
    const view = new DataView(first.buffer);
    const cells = Array.from({ length: view.getUint16(103) }, (_, i) => view.getUint16(108 + 2 * i));
    const isIndex = (at: number) => Buffer.from(first.subarray(at, at + 60)).includes("sqlite_autoindex");
    const leaf = (kept: readonly number[]): number => {
      const page = Uint8Array.from(first).fill(0, 0, 108 + 2 * cells.length);
      const fields = new DataView(page.buffer);
      fields.setUint8(0, 13);
      fields.setUint16(3, kept.length);
      fields.setUint16(5, Math.min(...kept));
      for (const [i, at] of kept.entries()) fields.setUint16(8 + 2 * i, at);
      return pages.push(page);
    };
    const [tables, index] = [leaf(cells.filter((at) => !isIndex(at))), leaf(cells.filter(isIndex))];
    const withSchema = (children: readonly number[]) => {
      const page = interiorPage(children, 100);
      page.set(first.subarray(0, 100));
      return ofPages([page, ...pages.slice(1)]);
    };
    expect(await codeOf(put(withSchema([tables, index])))).toBeUndefined();
    expect(await codeOf(put(withSchema([tables, ...repeated(index)])))).toBe("SQLITE_UNREADABLE/5");
  });

  it("a database is refused where the text of its rows is far longer than the file", async () => {
    const long = (characters: number) => ({
      sql: [
        "CREATE TABLE other AS SELECT step, peak_alloc_bytes, peak_reserved_bytes FROM step_memory_samples",
        "DROP TABLE step_memory_samples",
        "ALTER TABLE other RENAME TO step_memory_samples",
        `ALTER TABLE step_memory_samples ADD COLUMN device TEXT DEFAULT '${"x".repeat(characters)}'`,
      ],
    });
    expect(await codeOf(put(await traceMlDatabase(rows(200), long(10))))).toBeUndefined();
    expect(await codeOf(put(await traceMlDatabase(rows(200), long(20_000))))).toBe("SQLITE_UNREADABLE/5");
  });
});
