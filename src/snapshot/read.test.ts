import { describe, expect, it } from "vitest";
import { Op } from "./pickle/opcodes.ts";
import { sourceOf } from "./pickle/window.ts";
import { readSnapshot } from "./read.ts";
import { attempt } from "./testing/attempt.ts";
import { type Plain, pickled } from "./testing/pickle-writer.ts";
import { plainSnapshot } from "./testing/snapshots.ts";

const read = (value: Plain) => readSnapshot(sourceOf(pickled(value)), "file");
const segment = (extra: { readonly [key: string]: Plain }): Plain => ({
  address: 0,
  total_size: 512,
  blocks: [],
  ...extra,
});
const frame = (line: number): Plain => ({ filename: "a.py", line, name: "f" });

describe("readSnapshot", () => {
  it("accepts a bare list of segments, also an empty one", () => {
    expect(read([]).segments.count).toBe(0);
    expect(read([segment({ device: 3 })]).segments.device[0]).toBe(3);
  });

  it("accepts a snapshot with missing parts", () => {
    expect(read({ segments: [] }).traces).toEqual([]);
    expect(read({ device_traces: [[], [{ action: "alloc", addr: 4, size: 8 }]] }).traces).toMatchObject([
      { device: 1, length: 1 },
    ]);
  });

  it("computes missing addresses of blocks and uses the newest entry of a history", () => {
    const blocks: Plain[] = [
      { size: 512, state: "active_allocated", history: [{ addr: 0, real_size: 100, frames: [frame(7)] }] },
      { size: 1024, state: "inactive" },
      { size: 512, state: "active_pending_free", history: [] },
    ];
    const { blocks: table, stacks } = read([segment({ address: 4096, blocks })]);
    expect([...table.address]).toEqual([4096, 4608, 5632]);
    expect([...table.requested]).toEqual([100, Number.NaN, Number.NaN]);
    expect(stacks.list(table.stack[0] ?? 0)).toEqual([{ file: "a.py", line: 7, function: "f" }]);
    expect(stacks.depth(table.stack[2] ?? 0)).toBe(0);
  });

  it("ignores unknown keys and values of unexpected kinds", () => {
    const odd = { size: 512, state: 7, frames: "none", requested_size: null, color: ["red"], history: 3 };
    const { blocks } = read({ segments: [segment({ blocks: [odd], owner: { a: { b: [] } } })], version: 9 });
    expect([blocks.count, blocks.state[0], blocks.stack[0], blocks.requested[0]]).toEqual([1, 0, 0, Number.NaN]);
  });

  it("reads a dict with keys in any order, in batches and one by one", () => {
    const bytes = [
      ...[Op.PROTO, 4, Op.EMPTY_LIST, Op.EMPTY_DICT],
      ...[...text("address"), Op.BININT1, 5, Op.SETITEM],
      ...[...text("blocks"), Op.EMPTY_LIST, Op.SETITEM],
      ...[...text("device"), Op.BININT1, 2, Op.SETITEM],
      ...[Op.APPEND, Op.STOP],
    ];
    const { segments } = readSnapshot(sourceOf(Uint8Array.from(bytes)), "file");
    expect([segments.count, segments.address[0], segments.device[0]]).toEqual([1, 5, 2]);
  });

  it("deduplicates stacks and keeps stacks that are written in several batches", () => {
    const frames = Array.from({ length: 2300 }, (_, i) => frame(i + 1));
    const blocks = [frames, [...frames], frames.slice(0, 2299)].map(
      (own): Plain => ({ size: 1, state: "active_allocated", frames: own }),
    );
    const { blocks: table, stacks } = read([segment({ blocks })]);
    expect(table.stack[0]).toBe(table.stack[1]);
    expect(table.stack[0]).not.toBe(table.stack[2]);
    expect(stacks.depth(table.stack[0] ?? 0)).toBe(2300);
    expect(stacks.list(table.stack[0] ?? 0, 3).map(({ line }) => line)).toEqual([1, 2, 3]);
  });

  it("reads equal references as they are at the time, also after a frame has changed", () => {
    const line = (number: number) => [...text("line"), Op.BININT1, number];
    const made = [Op.EMPTY_DICT, Op.BINPUT, 0, Op.MARK, ...text("filename"), ...text("a.py"), ...line(1), Op.SETITEMS];
    const changed = [Op.BINGET, 0, Op.MARK, ...line(2), Op.SETITEMS];
    const entry = (other: readonly number[]) => [
      ...[Op.EMPTY_DICT, Op.MARK, ...text("action"), ...text("alloc"), ...text("other"), ...other],
      ...[...text("addr"), Op.BININT1, 1, ...text("size"), Op.BININT1, 1],
      ...[...text("frames"), Op.EMPTY_LIST, Op.MARK, Op.BINGET, 0, Op.BINGET, 0, Op.APPENDS, Op.SETITEMS],
    ];
    const entries = [...entry(made), ...entry([Op.NONE]), ...entry(changed), ...entry([Op.NONE])];
    const trace = [Op.EMPTY_LIST, Op.EMPTY_LIST, Op.MARK, ...entries, Op.APPENDS, Op.APPEND];
    const bytes = [Op.PROTO, 4, Op.EMPTY_DICT, ...text("device_traces"), ...trace, Op.SETITEM, Op.STOP];
    const { traces, stacks } = readSnapshot(sourceOf(Uint8Array.from(bytes)), "file");
    const lines = [...(traces[0]?.stack ?? [])].map((stack) => stacks.list(stack).map((one) => one.line));
    expect(lines).toEqual([
      [1, 1],
      [1, 1],
      [2, 2],
      [2, 2],
    ]);
  });

  it("reads annotations", () => {
    const external_annotations = [
      { name: "Optimizer.step#Adam.step", stage: "START", device: 0, time_us: 5 },
      { name: "odd", stage: "START" },
      { name: "x", stage: "END", device: null, time_us: 6 },
    ];
    const snapshot = read({ segments: [], external_annotations });
    expect(snapshot.annotations).toEqual([
      { name: "Optimizer.step#Adam.step", stage: "START", device: 0, timeUs: 5 },
      { name: "x", stage: "END", device: null, timeUs: 6 },
    ]);
  });

  it.each([
    ["a number", 5],
    ["a list of numbers", [1, 2]],
    ["a dict of something else", { loss: 1 }],
    ["segments that are numbers", { segments: [5] }],
    ["segments of blocks", { segments: [{ state: "inactive", size: 1 }] }],
    ["a segment without blocks", { segments: [{ total_size: 5 }] }],
    ["blocks without a size", { segments: [segment({ blocks: [{ state: "inactive" }] })] }],
    ["traces that are not lists", { device_traces: [{ action: "alloc" }] }],
    ["segments that are a string", { segments: "none" }],
  ])("refuses %s", (_name, value) => {
    expect(() => read(value)).toThrow(expect.objectContaining({ code: "SNAPSHOT_SHAPE", exitCode: 5 }));
  });

  it("rejects negative sizes and sizes beyond any device", () => {
    const block = (size: Plain) => ({ segments: [segment({ blocks: [{ size, state: "inactive" }] })] });
    expect(() => read(block(-1))).toThrow(expect.objectContaining({ code: "NEGATIVE_BYTES" }));
    expect(() => read(block(1e300))).toThrow(expect.objectContaining({ code: "SNAPSHOT_MALFORMED" }));
    expect(() => read(block(2n ** 62n))).toThrow(expect.objectContaining({ code: "SNAPSHOT_MALFORMED" }));
    expect(() => read(block(2n ** 63n))).toThrow(expect.objectContaining({ code: "SNAPSHOT_SHAPE" }));
    const trace = { device_traces: [[{ action: "alloc", addr: 1, size: -5 }]] };
    expect(() => read(trace)).toThrow(expect.objectContaining({ code: "NEGATIVE_BYTES" }));
  });

  it.each([
    ["a size that is a text", { size: "512" }, "SNAPSHOT_SHAPE"],
    ["a size of NaN", { size: Number.NaN }, "SNAPSHOT_SHAPE"],
    ["an action that does not exist", { action: "allocate" }, "SNAPSHOT_MALFORMED"],
    ["no address", { addr: null }, "SNAPSHOT_MALFORMED"],
    ["a time before that of the entry before it", { time_us: 1 }, "SNAPSHOT_MALFORMED"],
  ])("a trace entry with %s is refused", (_name, damage, code) => {
    const entry = { action: "alloc", addr: 512, size: 512, time_us: 5_000_000 };
    const trace = (second: Readonly<Record<string, Plain>>) => ({ device_traces: [[entry, { ...entry, ...second }]] });
    expect(read(trace({})).traces[0]?.length).toBe(2);
    expect(() => read(trace(damage))).toThrow(expect.objectContaining({ code, exitCode: 5 }));
  });
});

function text(value: string): number[] {
  return [Op.SHORT_BINUNICODE, value.length, ...[...value].map((letter) => letter.charCodeAt(0))];
}

const MIB = 2 ** 20;

/** The result, and the processor milliseconds of a run, or of the faster of two where the first takes too long. */
function timed(bytes: Uint8Array): { readonly code: string; readonly ms: number } {
  let ms = Number.POSITIVE_INFINITY;
  let code = "";
  for (let i = 0; i < 2 && ms >= limitMs(bytes); i++) {
    const before = process.cpuUsage();
    const result = attempt(bytes, true);
    const { user, system } = process.cpuUsage(before);
    ms = Math.min(ms, (user + system) / 1000);
    code = result.kind === "refused" ? result.code : result.kind === "read" ? "read" : result.error;
  }
  return { code, ms };
}

const limitMs = (bytes: Uint8Array): number => 1000 * (bytes.length / 1e6);

/** `head`, then `part` repeated up to one MiB, then `tail`. */
function filled(head: readonly number[], part: readonly number[], tail: readonly number[] = []): Uint8Array {
  const bytes = new Uint8Array(MIB);
  bytes.set(head);
  const used = head.length + Math.floor((MIB - tail.length - head.length) / part.length) * part.length;
  for (let at = head.length; at < used; at++) bytes[at] = part[(at - head.length) % part.length] ?? 0;
  bytes.set(tail, used);
  return bytes.subarray(0, used + tail.length);
}

describe("a file crafted to be expensive", () => {
  const PROTO = [Op.PROTO, 4];
  const blocksOnce = [
    ...[...PROTO, Op.EMPTY_LIST, Op.MARK, Op.EMPTY_DICT, Op.MEMOIZE, ...text("blocks"), Op.EMPTY_LIST, Op.MARK],
    ...Array.from({ length: 8000 }, () => [
      ...[Op.EMPTY_DICT, Op.MARK, ...text("state"), Op.NONE, ...text("size"), Op.BININT1, 1, Op.SETITEMS],
    ]).flat(),
    ...[Op.APPENDS, Op.SETITEM],
  ];
  it.each([
    ["lists in lists", filled(PROTO, [Op.EMPTY_LIST])],
    ["marks in marks", filled(PROTO, [Op.MARK])],
    ["dicts, each memoized", filled(PROTO, [Op.EMPTY_DICT, Op.MEMOIZE])],
    ["the same value memoized repeatedly", filled([...PROTO, Op.NONE], [Op.MEMOIZE], [Op.STOP])],
    ["tuples in tuples", filled([...PROTO, Op.NONE], [Op.TUPLE1])],
    ["tuples that double themselves", filled([...PROTO, Op.NONE], [Op.MEMOIZE, Op.BINGET, 0, Op.TUPLE2])],
    ["a list appended to itself", filled([...PROTO, Op.EMPTY_LIST, Op.MEMOIZE], [Op.BINGET, 0, Op.APPEND], [Op.STOP])],
    ["segments that share a list of blocks", filled(blocksOnce, [Op.BINGET, 0], [Op.APPENDS, Op.STOP])],
    [
      "a list of frames that is extended and read in turn",
      filled(
        [...PROTO, Op.EMPTY_LIST, Op.MEMOIZE, Op.EMPTY_DICT, ...text("filename"), ...text("a"), Op.SETITEM, Op.MEMOIZE],
        [
          ...[Op.BINGET, 0, Op.BINGET, 1, Op.APPEND, Op.EMPTY_DICT, Op.MARK],
          ...[...text("state"), Op.NONE, ...text("frames"), Op.BINGET, 0, Op.SETITEMS],
        ],
      ),
    ],
    ["unknown keys", filled([...PROTO, Op.EMPTY_DICT], [...text("a"), Op.NONE, Op.SETITEM], [Op.STOP])],
  ])("a file with %s takes at most one second per MB and bounded memory", (_name, bytes) => {
    const { code, ms } = timed(bytes);
    expect(["read", "SNAPSHOT_TOO_COSTLY", "SNAPSHOT_TRUNCATED", "SNAPSHOT_SHAPE", "SNAPSHOT_MALFORMED"]).toContain(
      code,
    );
    expect(ms).toBeLessThan(limitMs(bytes));
  });

  it("a file that shared lists make larger than its size is rejected", () => {
    expect(timed(filled(blocksOnce, [Op.BINGET, 0], [Op.APPENDS, Op.STOP])).code).toBe("SNAPSHOT_TOO_COSTLY");
  });

  it("an ordinary snapshot is read and not mistaken for an expensive file", () => {
    expect(timed(pickled(plainSnapshot(20_000))).code).toBe("read");
  });
});
