import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { snapshotName } from "../model/file-names.ts";
import { sourceOf } from "../pickle/window.ts";
import { readSnapshot } from "../read.ts";
import { type Plain, pickled, tuple } from "../testing/pickle-writer.ts";
import { snapshotDifference } from "./peak-difference.ts";

const BASE = 0x7f0000000000;
const LINES = 4;

interface Call {
  /** Line that allocates. */
  readonly line: number;
  readonly bytes: number;
  /** Number of calls after which the block is released; beyond the end: never. */
  readonly lives: number;
}

interface Job {
  readonly calls: readonly Call[];
  /** Calls before the history begins. */
  readonly unrecorded: number;
}

interface Made {
  readonly snapshot: Plain;
  readonly peak: number;
  /** Live bytes by line when the history is highest; 0 = allocated before it, and released since. */
  readonly byLine: ReadonlyMap<number, number>;
}

const frames = (line: number): Plain => [
  { filename: "/env/lib/python3.11/site-packages/torch/nn/linear.py", line: 9, name: "forward" },
  { filename: "/repo/model.py", line, name: `f${line}` },
];

/** Runs a job on an allocator without rounding, and takes a snapshot of it at the end. */
function take({ calls, unrecorded }: Job, shift = 0): Made {
  const trace: Plain[] = [];
  const live = new Map<number, { line: number; bytes: number }>();
  const began = new Map<number, { line: number; bytes: number }>();
  let [level, peak] = [0, -1];
  let atPeak = new Map<number, { line: number; bytes: number }>();
  const note = (action: string, addr: number, size: number, line: number): void => {
    trace.push({ action, addr, size, stream: 0, time_us: 1e15 + trace.length, frames: frames(line + shift) });
    if (level > peak) [peak, atPeak] = [level, new Map(live)];
  };
  for (let now = 0; now < calls.length; now++) {
    for (const [start, call] of calls.entries()) {
      if (start + call.lives !== now || start > now) continue;
      live.delete(start);
      level -= call.bytes;
      if (now < unrecorded) began.delete(start);
      else note("free_requested", BASE + start * 2 ** 20, call.bytes, call.line);
    }
    const { line, bytes } = calls[now]!;
    if (calls[now]!.lives === 0) continue;
    live.set(now, { line, bytes });
    level += bytes;
    if (now < unrecorded) began.set(now, { line, bytes });
    else note("alloc", BASE + now * 2 ** 20, bytes, line);
  }
  const blocks: Plain[] = [...live].map(([start, { line, bytes }]) => ({
    address: BASE + start * 2 ** 20,
    size: bytes,
    requested_size: bytes,
    state: "active_allocated",
    frames: frames(line + shift),
  }));
  const segment = { device: 0, address: BASE, total_size: 2 ** 40, stream: 0, segment_pool_id: tuple(0, 0), blocks };
  const byLine = new Map<number, number>();
  for (const [start, { line, bytes }] of atPeak) {
    const isKnown = !began.has(start) || live.has(start);
    byLine.set(isKnown ? line : 0, (byLine.get(isKnown ? line : 0) ?? 0) + bytes);
  }
  return { snapshot: { segments: [segment], device_traces: [trace] }, peak, byLine };
}

const named = (snapshot: Plain, file: string) => ({
  file,
  name: snapshotName(file),
  snapshot: readSnapshot(sourceOf(pickled(snapshot)), file),
});

const difference = (before: Made, after: Made) =>
  snapshotDifference(named(before.snapshot, "a"), named(after.snapshot, "b"), { root: "/repo" });

const job: fc.Arbitrary<Job> = fc.record({
  calls: fc.array(
    fc.record({
      line: fc.integer({ min: 1, max: LINES }),
      bytes: fc.integer({ min: 1, max: 2 ** 19 }),
      lives: fc.integer({ min: 1, max: 30 }),
    }),
    { minLength: 12, maxLength: 40 },
  ),
  unrecorded: fc.nat({ max: 6 }),
});

describe("the difference of two peaks", () => {
  it("the difference of two peaks has the bytes of each line, for any allocations before the history", () => {
    fc.assert(
      fc.property(job, job, (one, other) => {
        const [before, after] = [take(one), take(other)];
        const [device] = difference(before, after).devices;
        expect([device?.before_bytes, device?.after_bytes]).toEqual([before.peak, after.peak]);
        const shown = (key: "before_bytes" | "after_bytes") =>
          new Map((device?.lines ?? []).flatMap((line) => (line[key] > 0 ? [[line.line, line[key]]] : [])));
        expect(shown("before_bytes")).toEqual(new Map([...before.byLine].sort()));
        expect([...shown("after_bytes")].sort()).toEqual([...after.byLine].sort());
        expect(device?.unexplained_bytes).toBe(0);
      }),
    );
  });

  const steady: Job = { calls: Array.from({ length: 20 }, () => ({ line: 2, bytes: 1000, lives: 3 })), unrecorded: 0 };

  it("pairs a line that an edit above it moved", () => {
    const [device] = difference(take(steady), take(steady, 7)).devices;
    // Its function is named after the first line here.
    expect(device?.lines).toMatchObject([{ line: 9, line_before: null }, { line: 2 }]);
    const moved = { ...take(steady, 7) };
    const renamed = JSON.parse(JSON.stringify(moved.snapshot).replaceAll('"f9"', '"f2"')) as Plain;
    const [again] = snapshotDifference(named(take(steady).snapshot, "a"), named(renamed, "b"), {
      root: "/repo",
    }).devices;
    expect(again?.lines).toMatchObject([{ line: 9, line_before: 2, difference_bytes: 0 }]);
  });

  it("notes that a snapshot without a history is compared as it was when it was taken", () => {
    const { snapshot } = take(steady);
    const bare = { segments: (snapshot as { segments: Plain }).segments };
    const { devices, notes } = snapshotDifference(named(bare, "a"), named(snapshot, "b"), { root: "/repo" });
    expect(devices).toMatchObject([{ before_moment: "end", after_moment: "peak" }]);
    expect(notes[0]).toContain("without a usable history");
  });
});
