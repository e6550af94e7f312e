import { describe, expect, it } from "vitest";
import { AllocatorKind, HostHeapIndex, ProcessRole, SampleReason } from "../../sampler/record-layout.ts";
import type { RecordedStream } from "../recording/recorded-streams.ts";
import { heldByHeaps, liveHeap } from "./live-heap.ts";

const S = 1e9;
const MIB = 2 ** 20;

/** One isolate's readings: [seconds, MiB], the last one its end where it has ended. */
function isolate(pid: number, readings: readonly (readonly [number, number])[], ends = false): RecordedStream {
  const none = readings.map(() => Number.NaN);
  return {
    id: pid,
    pid,
    kind: AllocatorKind.hostHeap,
    index: HostHeapIndex.v8,
    rank: null,
    worldSize: null,
    role: ProcessRole.plain,
    peaksReset: false,
    timeNs: Float64Array.from(readings, ([second]) => second * S),
    allocated: Float64Array.from(readings, ([, mib]) => mib * MIB),
    reserved: Float64Array.from(none),
    active: Float64Array.from(none),
    steps: Float64Array.from(none),
    reasons: Uint8Array.from(readings, (_, i) =>
      ends && i === readings.length - 1 ? SampleReason.end : SampleReason.timer,
    ),
    marks: { allocated: Number.NaN, reserved: Number.NaN, retries: Number.NaN, ooms: Number.NaN },
    cut: false,
  };
}

const every = (mibAt: (second: number) => number, from = 0, to = 10) =>
  Array.from({ length: to - from + 1 }, (_, i) => [from + i, mibAt(from + i)] as const);

describe("the JavaScript heap of a rank", () => {
  it("follows the readings, on even steps of time", () => {
    const heap = liveHeap(
      0,
      "js_heap",
      [
        isolate(
          1,
          every((second) => 4 + second),
        ),
      ],
      () => 10 * S,
    );
    expect(heap?.timeNs[0]).toBe(0);
    expect(heap?.timeNs.at(-1)).toBe(10 * S);
    expect(heap?.bytes[0]).toBe(4 * MIB);
    expect(heap?.bytes.at(-1)).toBe(14 * MIB);
    const wrong = heap?.timeNs.findIndex((now, i) => Math.abs(heap.bytes[i]! - (4 + now / S) * MIB) > 1);
    expect(wrong).toBe(-1);
    expect(heap?.lost).toEqual([]);
  });

  it("the JavaScript heap is the sum of the main process's isolates, each for as long as its thread runs", () => {
    const worker = isolate(1, [...every(() => 2, 3, 5), [6, 0]], true);
    const heap = liveHeap(
      0,
      "js_heap",
      [
        isolate(
          1,
          every(() => 4),
        ),
        worker,
      ],
      () => 10 * S,
    );
    const at = (second: number) => heap?.bytes[heap.timeNs.findLastIndex((now) => now <= second * S)];
    expect([at(1), at(4), at(9)]).toEqual([4 * MIB, 6 * MIB, 4 * MIB]);
  });

  it("names the other processes that it leaves out, but not the small ones", () => {
    const others = [
      isolate(
        2,
        every(() => 2),
      ),
      isolate(
        3,
        every(() => 0.01),
      ),
    ];
    const heap = liveHeap(
      2,
      "js_heap",
      [
        ...others,
        isolate(
          1,
          // V8 collects by itself: other rows have the size alone.
          [...every(() => 4), [10, Number.NaN]],
        ),
      ],
      () => 10 * S,
    );
    expect(heap?.bytes[0]).toBe(4 * MIB);
    expect(heap?.lost).toEqual(["the JavaScript heap of rank 2 is that of its main process, without 1 other process"]);
  });

  it("the JavaScript heap is that of all processes, each until its end, where all collect all the time", () => {
    const main = isolate(
      1,
      every(() => 4),
    );
    // Three workers in turn, each of which fills and is then killed.
    const workers = [2, 3, 4].map((pid) => {
      const from = 3 * (pid - 2);
      return isolate(
        pid,
        every((second) => 1 + 6 * (second - from), from, from + 2),
      );
    });
    const heap = liveHeap(0, "js_heap", [...workers, main], (pid) => (pid === 1 ? 10 : 3 * (pid - 1) - 0.9) * S);
    const at = (second: number) => heap!.bytes[heap!.timeNs.findLastIndex((now) => now <= second * S)]!;
    expect([0, 2, 2.8, 5, 8, 10].map((second) => Math.round(at(second) / MIB))).toEqual([5, 17, 4, 17, 17, 4]);
    expect(heap?.lost).toEqual([]);
  });

  it("the JavaScript heap is not known from few readings, or from those of the beginning alone", () => {
    expect(liveHeap(0, "js_heap", [], () => 10 * S)).toBeNull();
    expect(
      liveHeap(
        0,
        "js_heap",
        [
          isolate(
            1,
            every(() => 4, 8, 10),
          ),
        ],
        () => 10 * S,
      ),
    ).toBeNull();
    expect(
      liveHeap(
        0,
        "js_heap",
        [
          isolate(
            1,
            every(() => 4, 0, 5),
          ),
        ],
        () => 10 * S,
      ),
    ).toBeNull();
  });
});

describe("JavaScript heaps with few collections", () => {
  const MAIN = 1;
  /** Rows of [second, live MiB or NaN, reason], one heap taking 20 MiB. */
  const heapOf = (id: number, rows: readonly (readonly [number, number, number?])[]): RecordedStream => ({
    ...isolate(
      MAIN,
      rows.map(([second, mib]) => [second, mib] as const),
    ),
    id,
    reserved: Float64Array.from(rows, () => 20 * MIB),
    reasons: Uint8Array.from(rows, ([, , reason]) => reason ?? SampleReason.timer),
  });
  const sizes = [0, 2, 4, 6].map((second) => [second, Number.NaN] as const);
  const { explicit, end } = SampleReason;
  const sumOf = (...heaps: readonly RecordedStream[]) => {
    const heap = liveHeap(0, "js_heap", heaps, () => 10 * S);
    return heap === null ? null : [...heap.timeNs, ...heap.bytes.map((bytes) => bytes / MIB)];
  };
  const main = heapOf(1, [...sizes, [10, 5, explicit]]);

  it("a last collection of each thread gives the highest sum of those that run at one time", () => {
    const first = heapOf(2, [...sizes, [8, 3, explicit], [8.1, 0, end]]);
    const second = heapOf(3, [...sizes, [8.2, 24, explicit], [8.3, 0, end]]);
    expect(sumOf(main, first, second)).toEqual([8 * S, 5 + 3 + 24]);
    const later = heapOf(4, [
      [9, 7, explicit],
      [9.5, 0, end],
    ]);
    expect(sumOf(main, first, later)).toEqual([9 * S, 5 + 7]);
  });

  it("a last collection that finds less than the one before shows what the end released, and is left out", () => {
    expect(sumOf(heapOf(1, [...sizes, [7, 40], [10, 5, explicit]]))).toBeNull();
    expect(sumOf(heapOf(1, [...sizes, [7, 40], [10, 39, explicit]]))).toEqual([7 * S, 40]);
  });

  it("the heap is not known where a thread that lived longer has no reading", () => {
    expect(sumOf(main, heapOf(2, sizes))).toBeNull();
    expect(sumOf(main, heapOf(2, sizes.slice(0, 1)))).toEqual([10 * S, 5]);
  });
});

describe("what collected heaps take of the host", () => {
  const jvm = (pid: number, rows: readonly { readonly s: number; readonly mib: number }[]): RecordedStream => ({
    ...isolate(
      pid,
      rows.map(({ s }) => [s, Number.NaN]),
    ),
    index: HostHeapIndex.jvm,
    reserved: Float64Array.from(rows, ({ mib }) => mib * MIB),
  });
  const times = Float64Array.from([0, 1, 2, 3, 4], (second) => second * S);

  it("adds the heaps of all processes, each from its first reading to its end", () => {
    const first = jvm(1, [
      { s: 1, mib: 10 },
      { s: 2, mib: 30 },
    ]);
    const held = heldByHeaps([first, jvm(2, [{ s: 2, mib: 5 }])], (pid) => (pid === 1 ? 4 * S : 9 * S), times);
    expect([...held!].map((bytes) => bytes / MIB)).toEqual([0, 10, 35, 35, 5]);
  });

  it("a heap has no size at rows with what its objects take alone", () => {
    const rows = jvm(1, [
      { s: 1, mib: 10 },
      { s: 2, mib: Number.NaN },
    ]);
    const held = heldByHeaps([{ ...rows, active: Float64Array.of(5 * MIB, 5 * MIB) }], () => 9 * S, times);
    expect([...held!].map((bytes) => bytes / MIB)).toEqual([0, 10, Number.NaN, Number.NaN, Number.NaN]);
  });

  it("the heaps have no known size where that of one is missing, or without a heap", () => {
    const unknown = jvm(2, [{ s: 1, mib: Number.NaN }]);
    expect(heldByHeaps([jvm(1, [{ s: 1, mib: 10 }]), unknown], () => 4 * S, times)).toBeNull();
    expect(heldByHeaps([], () => 4 * S, times)).toBeNull();
  });

  it("a Java heap is the sum over the processes, from the rows that follow a collection", () => {
    const live = (pid: number, mib: number) => {
      const readings = isolate(
        pid,
        every((second) => (second % 2 === 0 ? mib : Number.NaN)),
      );
      return { ...readings, index: HostHeapIndex.jvm };
    };
    const heap = liveHeap(0, "jvm_heap", [live(1, 4), live(2, 3)], () => 10 * S);
    expect([heap?.bytes[0], heap?.bytes.at(-1), heap?.lost]).toEqual([7 * MIB, 7 * MIB, []]);
  });

  it("a Java heap has no points in a stall of the machine, unless there are readings of collections alone", () => {
    // Two seconds of readings, two without any, and two more.
    const at = Array.from({ length: 80 }, (_, i) => 0.05 * i + (i < 40 ? 0 : 2));
    const gaps = (readings: readonly (readonly [number, number])[]) => {
      const stream = { ...isolate(1, readings), index: HostHeapIndex.jvm };
      const timeNs = liveHeap(0, "jvm_heap", [stream], () => 6 * S)?.timeNs ?? [];
      return [...timeNs].flatMap((now, i) => (i > 0 && now - timeNs[i - 1]! > 0.2 * S ? [now - timeNs[i - 1]!] : []));
    };
    const collected = (i: number): boolean => i % 5 === 0;
    const [gap = 0, ...others] = gaps(at.map((second, i) => [second, collected(i) ? i : Number.NaN]));
    expect(gap / S).toBeCloseTo(2, 0);
    expect(others).toEqual([]);
    expect(gaps(at.flatMap((second, i) => (collected(i) ? [[second, i] as const] : [])))).toEqual([]);
  });
});
