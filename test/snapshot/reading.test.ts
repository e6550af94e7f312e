import { describe, expect, it } from "vitest";
import { snapshotDocument } from "../../src/snapshot/live/document.ts";
import type { PoolRow } from "../../src/snapshot/live/tables.ts";
import { snapshotName } from "../../src/snapshot/model/file-names.ts";
import { sourceOf } from "../../src/snapshot/pickle/window.ts";
import { readSnapshot } from "../../src/snapshot/read.ts";
import { bytesOf, FILES, facts, fixture, ROOT } from "./kit.ts";

const documentOf = (name: string, root: string | null = ROOT) =>
  snapshotDocument([{ file: name, name: snapshotName(name), snapshot: fixture(name) }], { root });

/** Live bytes, requested bytes and blocks by line, over all devices. */
function lines(name: string): Record<string, { bytes: number; requested: number | null; blocks: number }> {
  const sums: Record<string, { bytes: number; requested: number | null; blocks: number }> = {};
  for (const row of documentOf(name).live) {
    const key = row.line > 0 ? `${row.file}:${row.line}` : row.file;
    const sum = sums[key] ?? { bytes: 0, requested: 0, blocks: 0 };
    sum.bytes += row.bytes;
    sum.requested = sum.requested === null || row.requested_bytes === null ? null : sum.requested + row.requested_bytes;
    sum.blocks += row.blocks;
    if (sum.blocks > 0) sums[key] = sum;
  }
  return sums;
}

const total = <K extends keyof PoolRow>(rows: readonly PoolRow[], key: K): number =>
  rows.reduce((sum, row) => sum + Number(row[key]), 0);

describe.each(FILES)("%s", (name) => {
  // Before PyTorch 2.1 a block without a recorded stack does not contain the requested size.
  const old = /layout-(?:113|20)/.test(name);
  const truth = facts(name);

  it("a snapshot has the generator's totals", () => {
    const { pools, snapshots } = documentOf(name);
    expect(total(pools, "reserved_bytes")).toBe(truth.reserved);
    expect(total(pools, "allocated_bytes")).toBe(truth.allocated);
    expect(total(pools, "pending_free_bytes")).toBe(truth.pending);
    expect(total(pools, "inactive_bytes")).toBe(truth.reserved - truth.allocated - truth.pending);
    expect(Math.max(...pools.map((pool) => pool.largest_inactive_bytes))).toBe(truth.largest_inactive);
    expect(snapshots[0]).toMatchObject({ reserved_bytes: truth.reserved, allocated_bytes: truth.allocated });
  });

  it("a snapshot has the live bytes of every line", () => {
    const known = Object.fromEntries(
      Object.entries(truth.lines).map(([key, { bytes, requested, blocks }]) => [
        key,
        { bytes, requested: old && key === "<no stack>" ? null : requested, blocks },
      ]),
    );
    expect(lines(name)).toEqual(known);
  });

  it("a snapshot that is cut anywhere is refused", () => {
    const bytes = bytesOf(name);
    for (let length = 0; length < bytes.length; length += 37) {
      expect(() => readSnapshot(sourceOf(bytes.subarray(0, length)), "cut"), `after ${length} bytes`).toThrow(
        expect.objectContaining({ code: length < 2 ? "SNAPSHOT_MALFORMED" : "SNAPSHOT_TRUNCATED" }),
      );
    }
  });
});

describe("layouts", () => {
  it.each([113, 20, 21, 25, 29])("layouts of %i are the same in protocols 2, 4 and 5", (layout) => {
    const [first, ...rest] = [2, 4, 5].map((protocol) => {
      const name = `layout-${layout}-p${protocol}.pickle`;
      return JSON.stringify(documentOf(name)).replaceAll(name, "");
    });
    for (const other of rest) expect(other).toBe(first);
  });

  it("layouts from PyTorch's dumper equal those from Python", () => {
    const [native, python] = ["layout-native.pickle", "layout-21-p4.pickle"].map((name) =>
      JSON.stringify(documentOf(name)).replaceAll(name, ""),
    );
    expect(native).toBe(python);
  });

  it("layouts name steps where they have them", () => {
    expect(documentOf("layout-29-p5.pickle").snapshots[0]?.step).toBe(3);
    expect(documentOf("layout-21-p4.pickle").snapshots[0]?.step).toBeNull();
  });
});

describe("addresses of the upper half of 64 bits", () => {
  it.each(["odd.pickle", "odd-native.pickle"])(
    "addresses of the upper half of 64 bits are distinguished in %s",
    (name) => {
      const { blocks, segments } = fixture(name);
      expect(new Set(blocks.address).size).toBe(blocks.count);
      // 0xffff800000000000, as its signed twin.
      expect(segments.address[0]).toBe(-(2 ** 47));
      for (let i = 0; i < segments.count; i++) {
        const first = segments.firstBlock[i] ?? 0;
        expect(blocks.address[first]).toBe(segments.address[i]);
      }
    },
  );
});

describe("several devices and pools", () => {
  it("several devices and pools are separate, with pending frees and out-of-memory events", () => {
    const { pools, live, snapshots } = documentOf("odd.pickle");
    expect(pools.map(({ device, pool }) => [device, pool])).toEqual([
      ["cuda:0", "0:0"],
      ["cuda:1", "0:3"],
    ]);
    expect(pools[1]?.pending_free_bytes).toBeGreaterThan(0);
    expect(live.some(({ device, pending_free_bytes }) => device === "cuda:1" && pending_free_bytes > 0)).toBe(true);
    expect(snapshots[0]?.out_of_memory).toEqual([{ requested_bytes: 2 ** 40, free_bytes: 5 * 2 ** 20 }]);
  });
});

describe("the directory files are named from", () => {
  it("files are named from the given directory where they lie in it, else from the one they share", () => {
    expect(documentOf("before.pickle").root).toBe(ROOT);
    expect(documentOf("before.pickle", "/somewhere/else").root).toBe(ROOT);
    expect(documentOf("before.pickle", null).live.map(({ file }) => file)).toContain("train.py");
  });
});
