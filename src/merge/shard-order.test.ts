import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { analyze } from "../analysis/analyze.ts";
import { draws } from "../core/testing/draws.ts";
import { analysisInput } from "../inputs/analysis-input.ts";
import { v2Record } from "../telemetry/testing/stormlog-records.ts";
import { traceMlDatabase } from "../telemetry/testing/traceml-database.ts";

const STEPS = 240;
const MIB = 2 ** 20;

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), "shards-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const put = (name: string, content: string | Uint8Array): string => {
  const file = path.join(directory, name);
  writeFileSync(file, content);
  return file;
};

/** One rank's CSV, with a length, gaps and a jump that depend on the rank; rank 2 leaks. */
function csvOf(rank: number): string {
  const rows = Array.from({ length: STEPS - 7 * rank }, (_, i) => {
    const jump = i > 90 + 3 * rank ? 900 * MIB : 0;
    const allocated = (i + rank) % 17 === 0 ? "" : String(4e9 + jump + (rank === 2 ? i * 8 * MIB : 0));
    return [i * 0.5 + rank * 0.01, i, rank, `cuda:${rank}`, allocated, 6e9 + jump, 7e9 + jump].join(",");
  });
  return ["time_s,step,rank,device,allocated_bytes,reserved_bytes,used_bytes", ...rows].join("\n");
}

/** One rank's Stormlog events, with an out-of-memory event on the last rank; clocks of the ranks differ by seconds. */
function eventsOf(rank: number): string {
  const jump = (i: number) => (i > 50 + rank ? 2e9 : 0);
  return Array.from({ length: 120 }, (_, i) =>
    JSON.stringify({
      ...v2Record(),
      timestamp_ns: 1_700_000_000_000_000_000 + rank * 3_000_000_000 + i * 100_000_000,
      event_type: rank === 3 && i === 119 ? "oom" : "sample",
      rank,
      local_rank: rank,
      device_id: rank,
      world_size: 5,
      allocator_allocated_bytes: 4e9 + i * (rank + 1) * MIB,
      allocator_reserved_bytes: 6e9 + jump(i),
      device_used_bytes: 7e9 + jump(i) + i * 2 * MIB,
      device_total_bytes: 80e9,
      device_free_bytes: 80e9 - (7e9 + jump(i) + i * 2 * MIB),
    }),
  ).join("\n");
}

const bytesOf = async (files: readonly string[]): Promise<string> => {
  const input = await analysisInput(files);
  if (input.kind !== "recording") throw new Error("shards contain samples");
  return JSON.stringify(analyze(input.recording));
};

async function sameInEveryOrder(files: readonly string[]): Promise<void> {
  const expected = await bytesOf(files);
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray([...files], { minLength: files.length }), async (order) => {
      expect(await bytesOf(order)).toBe(expected);
    }),
    { numRuns: draws(24) },
  );
}

describe("the order of shards", () => {
  it("the order of shards does not change the document for CSV files of eight ranks", async () => {
    await sameInEveryOrder(Array.from({ length: 8 }, (_, rank) => put(`rank${rank}.csv`, csvOf(rank))));
  });

  it("the order of shards does not change the document for Stormlog events, whose findings cover all ranks", async () => {
    await sameInEveryOrder(Array.from({ length: 4 }, (_, rank) => put(`rank${rank}.jsonl`, eventsOf(rank))));
  });

  it("the order of shards does not change the document for files of different formats", async () => {
    const database = await traceMlDatabase(
      Array.from({ length: STEPS }, (_, step) => ({ rank: 7, step, alloc: 5e9 + step * MIB, worldSize: 8 })),
    );
    await sameInEveryOrder([
      put("a.csv", csvOf(1)),
      put("b.jsonl", eventsOf(3)),
      put("c.db", database),
      put("d.csv", csvOf(2)),
    ]);
  });
});
