import { describe, expect, it } from "vitest";
import { type Frame, userFrames } from "../model/frames.ts";
import { attribute, type ProcessEvidence } from "./attribution.ts";
import { growthByLine } from "./line-growth.ts";
import type { LinesSample } from "./lines-document.ts";
import type { HeldEntry, Retainer } from "./retainer.ts";

const KIB = 1024;
const isUserFrame = userFrames({ root: "/repo" });
const at = (line: number, name = "train", file = "/repo/train.py"): Frame => ({ file, line, function: name });
const LAYER = [at(9, "forward", "/usr/lib/python3/dist-packages/torch/nn/functional.py"), at(20, "forward")];
const RETAINER: Retainer = {
  container: "list",
  name: "losses",
  owner: null,
  length: 9,
  stack: [at(48)],
  graphs: null,
};

const entry = (bytes: number, some: Partial<HeldEntry> = {}): HeldEntry => ({
  bytes,
  count: 1,
  kind: "tensor",
  stack: LAYER,
  ...some,
});

function moment(k: number, entries: readonly HeldEntry[], some: Partial<LinesSample> = {}): LinesSample {
  return {
    pid: 7,
    moment: k,
    source: "torch-cpu",
    sample: {
      step: 10 * k,
      timeNs: k * 1e9,
      totalBytes: entries.reduce((sum, { bytes }) => sum + bytes, 0),
      entries,
    },
    heldOnDevices: [],
    facts: {},
    notes: [],
    ended: false,
    unread: false,
    ...some,
  };
}

const of = (moments: readonly LinesSample[], id = "7.0"): ProcessEvidence => ({ process: id, moments, devices: [] });
const growing = (k: number): number => (k + 1) * 40 * KIB;

describe("attribute", () => {
  it("attributes memory to the line that retains it, also in samples before the retainer was known", () => {
    const moments = [0, 1, 2, 3].map((k) => moment(k, [entry(growing(k), k < 2 ? {} : { retainer: RETAINER })]));
    const { lines, devices } = attribute([of(moments)], { isUserFrame });
    expect(lines).toMatchObject([
      {
        file: "/repo/train.py",
        line: 48,
        placed: "kept",
        keptBy: "the list `losses`",
        allocatedAt: { line: 20 },
        device: "host",
        processes: ["7.0"],
        trend: "grows",
        bytesPerStep: 4 * KIB,
        bytesPerSecond: 40 * KIB,
        growthBytes: 120 * KIB,
        share: 1,
      },
    ]);
    expect(devices).toEqual([{ device: "host", growthBytes: 120 * KIB, explainedShare: 1 }]);
  });

  it("attributes memory to its allocation when the retainer's line is unknown or not user code", () => {
    const nowhere = { ...RETAINER, stack: [] };
    const library = { ...RETAINER, stack: [at(1, "get", "/usr/lib/python3.11/functools.py")] };
    for (const retainer of [nowhere, library]) {
      const moments = [0, 1, 2].map((k) => moment(k, [entry(growing(k), { retainer })]));
      expect(attribute([of(moments)], { isUserFrame }).lines).toMatchObject([{ line: 20, placed: "allocated" }]);
    }
  });

  it("adds the sources of one sample and ignores a sample that lacks one", () => {
    const tensors = [0, 1, 2, 3].map((k) => moment(k, [entry(growing(k), { retainer: RETAINER })]));
    const python = [0, 1, 2].map((k) =>
      moment(k, [entry(k * KIB, { kind: "python", stack: [at(48)] })], { source: "tracemalloc" }),
    );
    const { lines, sources } = attribute([of([...tensors, ...python])], { isUserFrame });
    expect(lines).toMatchObject([{ line: 48, growthBytes: 82 * KIB, countGrowth: 0 }]);
    expect(sources).toEqual(["torch-cpu", "tracemalloc"]);
  });

  it("keeps devices apart, each with shares of its own growth", () => {
    const moments = [0, 1, 2].map((k) =>
      moment(k, [entry(growing(k)), entry(100 * growing(k), { kind: "tensor:mps", stack: [at(60)] })]),
    );
    const { lines } = attribute([of(moments)], { isUserFrame });
    expect(lines).toMatchObject([
      { line: 60, device: "mps", share: 1 },
      { line: 20, device: "host", share: 1 },
    ]);
  });

  it("merges the same line of several ranks", () => {
    const ranks = ["7.0", "8.0"].map((id, rank) =>
      of(
        [0, 1, 2].map((k) => moment(k, [entry((rank + 1) * growing(k))])),
        id,
      ),
    );
    expect(attribute(ranks, { isUserFrame }).lines).toMatchObject([
      { processes: ["8.0", "7.0"].toSorted(), growthBytes: 240 * KIB, bytesPerStep: 12 * KIB },
    ]);
  });

  it("ignores the sample at the end of the process, where functions have released their memory", () => {
    const moments = [0, 1, 2].map((k) => moment(k, [entry(growing(k))]));
    const ended = moment(3, [entry(1)], { ended: true, notes: ["the run ended before its last moment"] });
    const { lines, notes } = attribute([of([...moments, ended])], { isUserFrame });
    expect(lines).toMatchObject([{ growthBytes: 80 * KIB, trend: "grows" }]);
    expect(notes).toEqual(["the run ended before its last moment"]);
    const held = moment(3, [entry(growing(3))], { ended: true });
    expect(attribute([of([...moments, held])], { isUserFrame }).lines[0]?.bytes).toHaveLength(4);
    const unread = moment(3, [], { unread: true });
    expect(attribute([of([...moments, unread])], { isUserFrame }).lines[0]?.bytes).toHaveLength(3);
  });

  it("notes that there are too few samples to distinguish growth from churn", () => {
    const moments = [0, 1].map((k) => moment(k, [entry(growing(k))]));
    const { lines, notes } = attribute([of(moments)], { isUserFrame });
    expect(lines).toMatchObject([{ trend: "unproven" }]);
    expect(notes).toEqual(["only 2 samples were written: churn cannot be distinguished from growth"]);
  });

  it("omits lines of little growth, and returns nothing without growth", () => {
    const moments = [0, 1, 2].map((k) => moment(k, [entry(1000 * growing(k)), entry(k, { stack: [at(70)] })]));
    expect(attribute([of(moments)], { isUserFrame }).lines).toHaveLength(1);
    expect(attribute([], { isUserFrame })).toEqual({ lines: [], jumps: [], devices: [], sources: [], notes: [] });
  });

  it("attributes a device's line to the retainer that the process reports for its blocks", () => {
    const samples = [0, 1, 2].map((k) => ({
      step: 10 * k,
      timeNs: null,
      totalBytes: growing(k),
      entries: [{ bytes: growing(k), count: k, kind: "block", stack: LAYER }],
    }));
    const growth = growthByLine(samples, isUserFrame);
    const held = [{ device: "cuda:0", bytes: 1, stack: LAYER, retainer: RETAINER }];
    const attributed = (moments: readonly LinesSample[]) =>
      attribute([{ process: "7.0", moments, devices: [{ device: "cuda:0", growth }] }], { isUserFrame });
    expect(attributed([moment(2, [], { heldOnDevices: held })]).lines).toMatchObject([
      { line: 48, device: "cuda:0", placed: "kept", allocatedAt: { line: 20 }, hint: { code: "kept-activations" } },
    ]);
    expect(attributed([]).lines).toMatchObject([{ line: 20, placed: "allocated", keptBy: null }]);
    expect(attributed([]).sources).toEqual(["torch-snapshot"]);
  });
});
