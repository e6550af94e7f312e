import { expect, it } from "vitest";
import type { LinesSample } from "../../snapshot/growth/lines-document.ts";
import { parseNative } from "../../snapshot/growth/native-document.ts";
import { withSampledPython } from "./sampled-python.ts";

const LINE = { file: "/repo/leak.py", line: 5, function: "step" };
const retainer = { container: "dict", name: "kept", owner: null, length: 9, stack: [LINE], graphs: null };

const traced = (moment: number, bytes: number, unread = false): LinesSample => ({
  ...{
    pid: 7,
    moment,
    source: "tracemalloc",
    heldOnDevices: [],
    notes: [],
    facts: { objects: 9 },
    ended: false,
    unread,
  },
  sample: {
    step: null,
    timeNs: moment * 1e9,
    totalBytes: bytes,
    entries: [{ bytes, count: 1, kind: "python", stack: [LINE], retainer }],
  },
});

const sampled = (moment: number, python: readonly unknown[]) =>
  parseNative(
    {
      ...{ schema: "stormlog.native/1", pid: 7, moment, step: null, time_ns: moment * 1e9, interval_bytes: 65536 },
      total_bytes: 9e6,
      modules: [],
      stacks: [
        { bytes: moment * 1e6, count: moment, allocator: "python", native: [], python },
        { bytes: 5e6, count: 9, native: [], python: [] },
      ],
    },
    "native.json",
  );

/** What stands for a process that was read at two of seven moments, and sampled at all. */
function shown(python: readonly unknown[], read = 2, samples = 7) {
  const moments = [1, 2, 3, 4, 5, 6, 7].map((at) => traced(at, at > read ? 0 : at * 1e6, at > read));
  const native = moments.slice(0, samples).map(({ moment }) => sampled(moment, python));
  const evidence = { process: "7.0", moments, devices: [] };
  const [process] = withSampledPython([evidence], { processes: [["7.0", native]], notes: [] }, () => true);
  return process?.moments ?? [];
}

const FRAME = ["/repo/leak.py", 5, "step", "object"];

it("blocks too many to be read are counted by the samples of Python's allocator, with their retainer", () => {
  const moments = shown([FRAME]);
  expect(moments.map(({ unread, sample }) => [unread, sample.totalBytes])).toEqual(
    [1, 2, 3, 4, 5, 6, 7].map((at) => [false, at * 1e6]),
  );
  expect(moments[6]?.sample.entries).toMatchObject([{ bytes: 7e6, kind: "python", stack: [LINE], retainer }]);
  expect(moments[6]?.facts).toEqual({ objects: 9 });
});

it("tracemalloc counts where it was read often enough, or as often as the samples", () => {
  expect(shown([FRAME], 5)[0]?.sample.totalBytes).toBe(1e6);
  expect(shown([FRAME], 5)[6]?.unread).toBe(true);
  expect(shown([FRAME], 2, 2)[6]?.unread).toBe(true);
});

it("samples whose code is not found stand for nothing", () => {
  expect(shown([]).map(({ unread }) => unread)).toEqual([false, false, true, true, true, true, true]);
});
