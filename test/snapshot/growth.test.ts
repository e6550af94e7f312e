import { describe, expect, it } from "vitest";
import { snapshotDocument } from "../../src/snapshot/live/document.ts";
import { snapshotName } from "../../src/snapshot/model/file-names.ts";
import { sourceOf } from "../../src/snapshot/pickle/window.ts";
import { readSnapshot } from "../../src/snapshot/read.ts";
import { type Plain, pickled } from "../../src/snapshot/testing/pickle-writer.ts";
import { facts, fixture, LEAK_BYTES, ROOT } from "./kit.ts";

const named = (file: string) => ({ file, name: snapshotName(file), snapshot: fixture(file) });
const document = (...files: string[]) =>
  snapshotDocument(
    files.map((name) => named(`${name}.pickle`)),
    { root: ROOT },
  );
const at = ({ file, line }: { readonly file: string; readonly line: number }) => `${file}:${line}`;
const leakBytes = (name: string) => facts(`${name}.pickle`).lines["train.py:48"]?.bytes ?? Number.NaN;
const churnBytes = (name: string) => facts(`${name}.pickle`).lines["model.py:88"]?.bytes ?? Number.NaN;

describe("two snapshots", () => {
  it("two snapshots with a trace name the leak, not the churn that rose by more", () => {
    expect(churnBytes("after") - churnBytes("before")).toBeGreaterThan(leakBytes("after") - leakBytes("before"));
    const { growth, discarded, notes } = document("before", "after");
    expect(growth.map(at)).toEqual(["train.py:48"]);
    expect(growth[0]).toMatchObject({
      function: "training_step",
      trend: "grows",
      user: true,
      growth_bytes: leakBytes("after") - leakBytes("before"),
      blocks_growth: 6,
      bytes: [leakBytes("before"), leakBytes("after")],
    });
    // A large block is not split when less than 1 MiB would be left, so a kept one takes up to that more.
    expect(growth[0]?.bytes_per_step).toBeGreaterThanOrEqual(LEAK_BYTES);
    expect(growth[0]?.bytes_per_step).toBeLessThan(LEAK_BYTES + 2 ** 20);
    expect(growth[0]?.stack.map(at)).toContain("train.py:90");
    expect(discarded.map((row) => [at(row), row.trend])).toContainEqual(["model.py:88", "churn"]);
    expect(notes).toEqual([]);
  });

  it("two snapshots with blocks alone name the leak as not proven, and the churn as churn", () => {
    const { growth, discarded, notes } = document("before-blocks", "after-blocks");
    expect(growth.map((row) => [at(row), row.trend])).toEqual([["train.py:48", "unproven"]]);
    expect(discarded.map((row) => [at(row), row.trend])).toContainEqual(["model.py:88", "churn"]);
    expect(notes.join()).toContain("take a third");
  });

  it("two snapshots in the reverse order show no line that grows", () => {
    expect(document("after-blocks", "before-blocks").growth).toEqual([]);
  });
});

describe("three snapshots", () => {
  it("three snapshots with a trace name the leak, though the churn happened to rise on", () => {
    const names = ["leak-step04", "leak-step08", "leak-step12"];
    expect(names.map(churnBytes)).toEqual(names.map(churnBytes).sort((a, b) => a - b));
    const { growth, discarded } = document(...names);
    expect(growth.map((row) => [at(row), row.trend])).toEqual([["train.py:48", "grows"]]);
    expect(growth[0]?.bytes).toEqual(names.map(leakBytes));
    expect(growth[0]?.bytes_per_step).toBeCloseTo((leakBytes("leak-step12") - leakBytes("leak-step04")) / 8, 0);
    expect(discarded.map((row) => [at(row), row.trend])).toContainEqual(["model.py:88", "churn"]);
  });

  it("three snapshots are put in the order of their steps", () => {
    const sorted = document("leak-step04", "leak-step08", "leak-step12");
    expect(document("leak-step12", "leak-step04", "leak-step08")).toEqual(sorted);
  });

  it("snapshots of each rank are separate, and only the rank that leaks has a line that grows", () => {
    const files = [0, 1].flatMap((rank) => [3, 6, 9].map((step) => `ranks_rank${rank}_step${step}`));
    const { growth, snapshots, live } = document(...files);
    expect(snapshots.map(({ rank, step }) => [rank, step])).toEqual([
      [0, 3],
      [0, 6],
      [0, 9],
      [1, 3],
      [1, 6],
      [1, 9],
    ]);
    const proven = growth.filter(({ trend }) => trend === "grows");
    expect(proven.map((row) => [row.rank, at(row)])).toEqual([[1, "train.py:48"]]);
    expect(new Set(live.map(({ snapshot }) => snapshot))).toEqual(
      new Set(["ranks_rank0_step9.pickle", "ranks_rank1_step9.pickle"]),
    );
  });
});

describe("one snapshot with a trace", () => {
  const { growth, survivors } = document("leak-step12");
  const line = (name: string) => survivors.find((row) => at(row) === name);

  it("shows no growth, but what survives of what was allocated", () => {
    expect(growth).toEqual([]);
    expect(line("train.py:48")).toMatchObject({ trend: "grows", allocations: 13, survivors: 13, oldest_steps: 12 });
    expect(line("train.py:48")?.surviving_bytes_by_age.every((bytes) => bytes > 0)).toBe(true);
    // The trace contains the requested bytes.
    expect(line("train.py:48")?.bytes_per_step).toBeCloseTo(1310800, -3);
  });

  it("separates late growth, single allocations and replacements", () => {
    expect(line("model.py:88")).toMatchObject({ allocations: 78, survivors: 6, oldest_steps: 0 });
    expect(line("model.py:88")?.trend).not.toBe("grows");
    expect(line("model.py:88")?.surviving_bytes_by_age.slice(0, 4)).toEqual([0, 0, 0, 0]);
    expect(line("train.py:61")).toMatchObject({ trend: "once", survivors: 2 });
    expect(line("train.py:61")?.surviving_bytes_by_age.slice(1)).toEqual([0, 0, 0, 0]);
    expect(line("data.py:15")).toMatchObject({ survivors: 4, oldest_steps: 3 });
    expect(line("data.py:15")?.trend).not.toBe("grows");
  });
});

describe("a program that stands still while a snapshot is taken", () => {
  const frame = (filename: string, line: number): Plain => [{ name: "f", filename, line }];
  const [leak, cache, churn] = [frame("/job/train.py", 48), frame("/job/cache.py", 5), frame("/job/model.py", 88)];

  /** Three snapshots of one trace: 40 steps before each, 11 µs an entry, then a halt of 0.1 s. */
  function moments(kept: (step: number) => Plain) {
    const trace: Plain[] = [];
    const blocks: Plain[] = [];
    let time = 1_717_000_000_000_000;
    const note = (action: string, addr: number, size: number, frames: Plain): void => {
      time += 11;
      trace.push({ action, addr, size, stream: 0, time_us: time, frames });
    };
    return [40, 80, 120].map((end) => {
      // Where the pool is used up, the first entry of a burst allocates nothing yet.
      note("segment_alloc", end * 1024, 40 * 1024, []);
      for (let step = end - 40; step < end; step++) {
        const [held, passing] = [step * 1024, 2 ** 25 + step * 1024];
        const frames = kept(step);
        note("alloc", held, 1024, frames);
        note("alloc", passing, 1024, churn);
        note("free_completed", passing, 1024, churn);
        blocks.push({ address: held, size: 1024, requested_size: 1024, state: "active_allocated", frames });
      }
      time += 100_000;
      const segment = { device: 0, address: 0, total_size: 2 ** 30, stream: 0, segment_type: "large" };
      const segments: Plain = [{ ...segment, blocks: [...blocks] }];
      const file = `step${end}.pickle`;
      const snapshot = readSnapshot(sourceOf(pickled({ segments, device_traces: [[...trace]] })), "made");
      return { file, name: snapshotName(file), snapshot };
    });
  }

  it("shows the line that grew before and after the halt", () => {
    const { growth, discarded } = snapshotDocument(
      moments(() => leak),
      { root: "/job" },
    );
    expect(growth.map((row) => [at(row), row.trend, row.bytes])).toEqual([
      ["train.py:48", "grows", [40 * 1024, 80 * 1024, 120 * 1024]],
    ]);
    expect(discarded).toEqual([]);
  });

  it("shows a line that grew for the first quarter as risen once", () => {
    const { growth, discarded } = snapshotDocument(
      moments((step) => (step < 60 ? cache : churn)),
      { root: "/job" },
    );
    expect(growth.map(at)).not.toContain("cache.py:5");
    expect(discarded.map((row) => [at(row), row.trend])).toContainEqual(["cache.py:5", "once"]);
  });
});

describe("snapshots that another program could have written", () => {
  const frame = (filename: string, line: number): Plain => ({ name: "f", filename, line });
  const leak = [frame("/usr/lib/python3/dist-packages/torch/x.py", 1), frame("/job/train.py", 48)];
  const churn = [frame("/job/model.py", 88)];
  const cache = [frame("/job/cache.py", 5)];
  const growing = [frame("/job/grow.py", 9)];
  const KIB = 1024;

  /** A snapshot of blocks at the given addresses. */
  function snapshot(blocks: readonly (readonly [address: number, size: number, frames: Plain])[]) {
    const rows = blocks.map(
      ([address, size, frames]): Plain => ({
        address,
        size,
        requested_size: size,
        state: "active_allocated",
        frames,
      }),
    );
    const segment = { device: 0, address: 0, total_size: 2 ** 30, stream: 0, segment_type: "large", blocks: rows };
    return readSnapshot(sourceOf(pickled({ segments: [segment], device_traces: [[]] })), "made");
  }

  const moment = (i: number, snapshotOf: ReturnType<typeof snapshot>) => {
    const file = `step${i}.pickle`;
    return { file, name: snapshotName(file), snapshot: snapshotOf };
  };
  const kept = (count: number) => Array.from({ length: count }, (_, i) => [i * KIB, KIB, leak] as const);
  const passing = (i: number, size: number) => [[2 ** 25 + i * 2 ** 20, size * KIB, churn] as const];

  it("two snapshots discard the line whose blocks were freed, whatever it rose by", () => {
    const files = [
      moment(1, snapshot([...kept(2), ...passing(1, 46)])),
      moment(2, snapshot([...kept(4), ...passing(2, 720)])),
    ];
    const { growth, discarded } = snapshotDocument(files, { root: null });
    expect(growth.map((row) => [at(row), row.trend])).toEqual([["train.py:48", "unproven"]]);
    expect(discarded.map((row) => [at(row), row.trend])).toEqual([["model.py:88", "churn"]]);
  });

  it("three snapshots need a rise in each, and five prove a rise where no block is kept", () => {
    const rising = [10, 20, 30, 40, 50].map((size, i) =>
      moment(i, snapshot([...kept(i + 1), ...passing(i, size), [2 ** 28, i > 0 ? 64 * KIB : 0, cache]])),
    );
    const three = snapshotDocument(rising.slice(0, 3), { root: null });
    expect(three.growth.map((row) => [at(row), row.trend])).toEqual([
      ["train.py:48", "grows"],
      ["model.py:88", "unproven"],
    ]);
    expect(three.discarded.map((row) => [at(row), row.trend])).toEqual([["cache.py:5", "once"]]);
    const five = snapshotDocument(rising, { root: null });
    expect(five.growth.map((row) => [at(row), row.trend])).toContainEqual(["model.py:88", "grows"]);
  });

  it("snapshots show one block that is replaced by ever larger ones", () => {
    const files = [1, 2, 3, 4, 5].map((i) => moment(i, snapshot([[2 ** 26 * i, i * 2 ** 20, growing]])));
    expect(snapshotDocument(files, { root: null }).growth).toMatchObject([
      { file: "grow.py", trend: "grows", growth_bytes: 4 * 2 ** 20, bytes_per_step: 2 ** 20, share: 1 },
    ]);
  });
});
