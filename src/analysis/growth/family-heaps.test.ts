import { describe, expect, it } from "vitest";
import type { SampleTable } from "../../telemetry/recording/model.ts";
import { familyHeaps } from "./family-heaps.ts";

const MIB = 2 ** 20;
const ROWS = 200;

/** Ten seconds of what the heaps of a family use and keep, in MiB at shares of the time. */
function table(used: (at: number) => number, kept: (at: number) => number, more: SampleTable["columns"] = {}) {
  const column = (of: (at: number) => number) =>
    Float64Array.from({ length: ROWS }, (_, i) => Math.round(of(i / ROWS) * MIB));
  const timeNs = Float64Array.from({ length: ROWS }, (_, i) => (i * 10e9) / ROWS);
  const columns = { heap_used: column(used), heap_kept: column(kept), ...more };
  return { rank: 0, device: "host", timeNs, steps: null, columns, highwater: new Set<never>() };
}

describe("the heaps of a family of processes", () => {
  it("the heaps of a family are analysed by what is in use, which rests, and what they take, which grows", () => {
    const [used, taken] = familyHeaps([
      table(
        () => 10,
        (at) => 100 * at,
      ),
    ]);
    expect(used).toMatchObject({ metric: "allocated", device: "host", class: "flat" });
    expect(taken).toMatchObject({ metric: "reserved", class: "leak" });
    expect(taken?.growth_bytes).toBeGreaterThan(80 * MIB);
  });

  it("the heaps of a family are unknown beside a heap that a collector empties", () => {
    const rest = (at: number) => 10 + at;
    expect(familyHeaps([table(rest, rest), table(rest, rest, { js_heap: new Float64Array(ROWS) })])).toEqual([]);
  });
});
