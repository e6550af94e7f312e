import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import initSqlJs from "sql.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { analyze } from "../analysis/analyze.ts";
import { GateError } from "../core/errors.ts";
import { snapshotDocument } from "../snapshot/document.ts";
import { type Plain, pickled } from "../snapshot/testing/pickle-writer.ts";
import { plainSnapshot } from "../snapshot/testing/snapshots.ts";
import { readSnapshotFiles } from "./snapshot-input.ts";
import { readInput } from "./telemetry-input.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "snapshot-database-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

type Row = Readonly<Record<string, Plain>>;

/** The tables of the proposal, from a snapshot as it is pickled. */
async function databaseOf(snapshot: Row, leaveOut: readonly string[] = []): Promise<string> {
  const { Database } = await initSqlJs();
  const database = new Database();
  const run = (table: string, columns: string, rows: readonly (readonly Plain[])[]): void => {
    if (leaveOut.includes(table)) return;
    database.run(`CREATE TABLE ${table} (id INTEGER PRIMARY KEY, ${columns})`);
    const insert = database.prepare(
      `INSERT INTO ${table} (${columns.replaceAll(/ [A-Z]+/g, "")}) VALUES (${columns.replaceAll(/[^,]+/g, "?")})`,
    );
    for (const row of rows)
      insert.run(row.map((cell) => (typeof cell === "object" ? JSON.stringify(cell) : cell)) as string[]);
    insert.free();
  };
  const segments = snapshot.segments as readonly Row[];
  run(
    "segments",
    "device INTEGER, address INTEGER, total_size INTEGER, stream INTEGER, segment_type TEXT, is_expandable INTEGER",
    segments.map((one) => [one.device ?? 0, one.address ?? 0, one.total_size ?? 0, 0, one.segment_type ?? "", 0]),
  );
  run(
    "blocks",
    "segment_id INTEGER, addr INTEGER, size INTEGER, requested_size INTEGER, state TEXT, frames TEXT",
    segments.flatMap((segment, at) =>
      (segment.blocks as readonly Row[]).map((one) => [
        at + 1,
        one.address ?? 0,
        one.size ?? 0,
        one.requested_size ?? 0,
        one.state ?? "",
        one.frames ?? [],
      ]),
    ),
  );
  run(
    "device_traces",
    "device INTEGER, action TEXT, addr INTEGER, size INTEGER, stream INTEGER, time_us INTEGER, frames TEXT",
    (snapshot.device_traces as readonly (readonly Row[])[]).flatMap((trace, device) =>
      trace.map((one) => [
        device,
        one.action ?? "",
        one.addr ?? 0,
        one.size ?? 0,
        one.stream ?? 0,
        one.time_us ?? 0,
        one.frames ?? [],
      ]),
    ),
  );
  const file = path.join(directory, "step-3.db");
  writeFileSync(file, database.export());
  database.close();
  return file;
}

async function codeOf(work: () => Promise<unknown>): Promise<readonly [string, string]> {
  try {
    await work();
  } catch (error) {
    if (error instanceof GateError) return [error.code, error.hint ?? ""];
    throw error;
  }
  return ["none", ""];
}

describe("a memory snapshot in a SQLite database", () => {
  it("reads as the same snapshot that was pickled", async () => {
    // The tables have no settings and no annotations.
    const { segments, device_traces } = plainSnapshot(400) as Row;
    const snapshot = { segments: segments ?? [], device_traces: device_traces ?? [] };
    const pickle = path.join(directory, "step-3.pickle");
    writeFileSync(pickle, pickled(snapshot));
    const database = await databaseOf(snapshot);
    const documentOf = async (file: string) =>
      JSON.stringify(snapshotDocument(await readSnapshotFiles([file]), { root: "/repo" })).replaceAll(file, "FILE");
    const [stored, dumped] = [await documentOf(database), await documentOf(pickle)];
    expect(stored).toEqual(dumped);
    expect(stored).toContain("train.py");
    const [one, other] = [await readInput(database), await readInput(pickle)];
    if (one.kind !== "recording" || other.kind !== "recording") throw new Error("no recording");
    expect(one.recording.tables[0]?.columns).toEqual(other.recording.tables[0]?.columns);
    expect(analyze(one.recording).series).toEqual(analyze(other.recording).series);
  });

  it("is rejected in words when a table is missing, when it is damaged, and above the size that fits into memory", async () => {
    const incomplete = await databaseOf(plainSnapshot(40) as Row, ["segments"]);
    expect((await codeOf(() => readSnapshotFiles([incomplete])))[0]).toBe("SNAPSHOT_SHAPE");
    truncateSync(incomplete, 5000);
    expect((await codeOf(() => readInput(incomplete)))[0]).toBe("SQLITE_UNREADABLE");
    truncateSync(incomplete, 520 * 2 ** 20);
    const [code, hint] = await codeOf(() => readInput(incomplete));
    expect(code).toBe("INPUT_TOO_LARGE");
    expect(hint).toContain("_dump_snapshot");
  });
});
