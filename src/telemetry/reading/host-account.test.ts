import { describe, expect, it } from "vitest";
import { AllocatorKind, HostHeapIndex, ProcessRole, SampleReason } from "../../sampler/record-layout.ts";
import { ProcessHistory } from "../recording/process-history.ts";
import type { RecordedStream } from "../recording/recorded-streams.ts";
import { hostAccount } from "./host-account.ts";

const S = 1e9;
const MIB = 2 ** 20;
const NONE = Number.NaN;

interface Heap {
  readonly pid?: number;
  readonly index?: number;
  /** [second, MiB in use, MiB taken from the system] */
  readonly readings: readonly (readonly [number, number, number])[];
  readonly ends?: boolean;
}

function heap({ pid = 1, index = HostHeapIndex.c, readings, ends = false }: Heap, id: number): RecordedStream {
  const column = (of: (reading: readonly [number, number, number]) => number) => Float64Array.from(readings, of);
  return {
    id,
    pid,
    kind: AllocatorKind.hostHeap,
    index,
    rank: null,
    worldSize: null,
    role: ProcessRole.plain,
    peaksReset: false,
    timeNs: column(([second]) => second * S),
    allocated: column(([, used]) => used * MIB),
    reserved: column(([, , taken]) => taken * MIB),
    active: column(() => NONE),
    steps: column(() => NONE),
    reasons: Uint8Array.from(readings, (_, i) =>
      ends && i === readings.length - 1 ? SampleReason.end : SampleReason.timer,
    ),
    marks: { allocated: NONE, reserved: NONE, retries: NONE, ooms: NONE },
    cut: false,
  };
}

interface Run {
  /** MiB at each second. */
  readonly host: readonly number[];
  readonly shared?: readonly number[];
  readonly files?: readonly number[];
  readonly heaps?: readonly Heap[];
  /** [pid, parent] */
  readonly processes?: readonly (readonly [number, number])[];
  /** When each process ends, seconds; absent = with the run. */
  readonly ends?: Readonly<Record<number, number>>;
}

/** The parts at each second, MiB. */
function account({ host, shared, files, heaps = [], processes = [[1, 0]], ends = {} }: Run) {
  const column = (values: readonly number[] = host.map(() => NONE)) => Float64Array.from(values, (mib) => mib * MIB);
  const timeNs = Float64Array.from(host.keys(), (second) => second * S);
  const unread = column();
  const held = { host: column(host), sum: column(host), shared: column(shared), isCorrected: true };
  const read = { timeNs, charged: column(files), mapped: column(host.map(() => 0)) };
  const history = new ProcessHistory();
  for (const [pid, parent] of processes) history.start(pid, 0, parent);
  const found = hostAccount(
    {
      streams: heaps.map(heap),
      processes: history,
      tree: { timeNs, rss: unread, anon: unread, shmem: unread, shmemMost: unread, processes: unread, ticks: unread },
      shared: { ...read, tookNs: unread, once: unread, read: unread, unread },
    },
    held,
    (pid) => (ends[pid] ?? Number.POSITIVE_INFINITY) * S,
  );
  if (found === null) return null;
  return Object.fromEntries(
    Object.entries(found.columns).map(([name, bytes]) => [name, [...bytes].map((one) => one / MIB)]),
  );
}

describe("the account of host memory", () => {
  it("the account divides host memory into shared memory, files, heaps in use and kept, and the rest", () => {
    const found = account({
      host: [100, 120],
      shared: [30, 30],
      files: [5, 10],
      heaps: [
        {
          readings: [
            [0, 20, 30],
            [1, 25, 40],
          ],
        },
        {
          index: HostHeapIndex.python,
          readings: [
            [0, 8, 9],
            [1, 8, 9],
          ],
        },
      ],
    });
    expect(found).toEqual({
      shared: [30, 30],
      files: [5, 10],
      heap_used: [28, 33],
      heap_kept: [11, 16],
      unaccounted: [26, 31],
    });
  });

  it("the account leaves unknown what was not read, and counts it as the rest", () => {
    const found = account({
      host: [10, 100, 100],
      heaps: [
        {
          readings: [
            [1, NONE, 60],
            [2, 40, 60],
          ],
        },
      ],
    });
    expect(found?.heap_used).toEqual([NONE, NONE, 40]);
    expect(found?.heap_kept).toEqual([NONE, NONE, 20]);
    expect(found).not.toHaveProperty("files");
    expect(found?.unaccounted).toEqual([10, 100, 40]);
    expect(account({ host: [10, 100] })).toBeNull();
  });

  it("the account has of files in RAM what both readings around a time have", () => {
    const found = account({ host: [100, 100, 100], files: [10, 30, 20] });
    expect(found).toEqual({ files: [10, 20, 20], unaccounted: [90, 80, 80] });
  });

  it("the account counts a part that is too small to be seen as the rest, and is absent without another", () => {
    const small = { host: [100, 100], shared: [0.5, 0.5] };
    expect(account(small)).toBeNull();
    const found = account({ ...small, heaps: [{ readings: [[0, 10, 10]] }] });
    expect(found).toEqual({ heap_used: [10, 10], unaccounted: [90, 90] });
  });

  it("the account contains no more of a heap than host memory has: pages may never have been touched", () => {
    const found = account({ host: [100], shared: [40], heaps: [{ readings: [[0, 50, 900]] }] });
    expect([found?.heap_used, found?.heap_kept, found?.unaccounted]).toEqual([[50], [10], [0]]);
  });

  it("the account counts the heaps of all processes, each for as long as its process lives", () => {
    const found = account({
      host: [100, 100, 100],
      heaps: [{ readings: [[0, 10, 10]] }, { pid: 7, readings: [[1, 30, 35]] }],
      processes: [
        [1, 0],
        [7, 0],
      ],
      ends: { 7: 2 },
    });
    expect([found?.heap_used, found?.heap_kept]).toEqual([
      [10, 40, 10],
      [0, 5, 0],
    ]);
  });

  it("the account counts of a fork's heap what it gained, and not what it has of its parent's", () => {
    const child = {
      pid: 2,
      readings: [
        [1, 40, 48],
        [2, 45, 55],
        [3, 30, 55],
      ],
    } as const;
    const heaps = [{ readings: [[0, 40, 48]] } as const, child];
    const forked = account({
      host: [60, 60, 70, 70],
      heaps,
      processes: [
        [1, 0],
        [2, 1],
      ],
    });
    expect([forked?.heap_used, forked?.heap_kept]).toEqual([
      [40, 40, 45, 40],
      [8, 8, 10, 25],
    ]);
    const other = account({
      host: [200, 200, 200, 200],
      heaps,
      processes: [
        [1, 0],
        [2, 0],
      ],
    });
    expect(other?.heap_used).toEqual([40, 80, 85, 70]);
  });

  it("the account follows a collected heap from collection to collection, and knows no garbage after the last one", () => {
    const v8 = {
      index: HostHeapIndex.v8,
      readings: [
        [0, 10, 30],
        [2, 20, 40],
        [3, NONE, 60],
      ],
    } as const;
    const found = account({ host: [100, 100, 100, 100], heaps: [v8] });
    expect(found?.heap_used).toEqual([10, 15, 20, 20]);
    expect(found?.heap_kept).toEqual([20, 15, NONE, NONE]);
  });

  it("the account has a heap of V8 until its thread ends, and counts the buffers in it once", () => {
    const worker = {
      index: HostHeapIndex.v8,
      readings: [
        [0, 10, 10],
        [1, 10, 10],
        [2, 0, 0],
      ],
      ends: true,
    } as const;
    const main = { index: HostHeapIndex.v8, readings: [[0, 5, 5]] } as const;
    const malloc = { readings: [[0, 8, 8]] } as const;
    expect(account({ host: [100, 100, 100], heaps: [worker, main, malloc] })?.heap_used).toEqual([15, 15, 5]);
  });

  it("the account of a long run keeps the peak, in at most 240 rows that add up to host memory", () => {
    const host = Array.from({ length: 5000 }, (_, i) => (i === 3333 ? 900 : 100 + (i % 7)));
    const found = account({ host, shared: host.map(() => 50), heaps: [{ readings: [[0, 20, 30]] }] })!;
    const sums = host.slice(0, found.unaccounted?.length).map((_, i) => {
      return Object.values(found).reduce((sum, part) => sum + part[i]!, 0);
    });
    expect(sums.length).toBeLessThanOrEqual(240);
    expect(sums.length).toBeGreaterThan(200);
    expect(Math.max(...sums)).toBe(900);
    expect(sums.slice(0, -1).filter((sum) => sum !== 106 && sum !== 900)).toEqual([]);
  });
});
