import { describe, expect, it } from "vitest";
import type { AttributedLine } from "../../snapshot/growth/attributed-line.ts";
import type { ProcessEvidence } from "../../snapshot/growth/attribution.ts";
import { isLost, tracedGrowth, tracedRate } from "./lost-memory.ts";

type Facts = Readonly<Record<string, number>>;

/** One process whose samples counted these objects. */
const processOf = (facts: readonly Facts[]): ProcessEvidence => ({
  process: "7.0",
  moments: facts.map((one, moment) => ({
    ...{ pid: 7, moment, source: "tracemalloc", heldOnDevices: [], notes: [], ended: false, unread: false },
    facts: one,
    sample: { step: null, timeNs: moment, totalBytes: 1000 * moment, entries: [] },
  })),
  devices: [],
});
const objects = (counts: readonly number[], last: Facts = {}): readonly Facts[] =>
  counts.map((count, at) => ({ objects: count, ...(at === counts.length - 1 ? last : {}) }));
const line = (countGrowth: number): AttributedLine => ({ countGrowth, placed: "allocated" }) as AttributedLine;

describe("memory that a program has lost", () => {
  it("grows without more objects, or with objects that nothing refers to", () => {
    expect(isLost([processOf(objects([9000, 9400, 9412, 9412, 9413]))], [], [])).toBe(true);
    const new64 = { newest: 64, unreferenced: 62 };
    expect(isLost([processOf(objects([9000, 9400, 9900, 10400], new64))], [line(500)], [])).toBe(true);
  });

  it("memory is not lost where a container gains elements at every sample, or new objects are referred to", () => {
    expect(isLost([processOf(objects([9000, 9000, 9000], { steady_containers: 1 }))], [], [])).toBe(false);
    const new64 = { newest: 64, unreferenced: 2 };
    expect(isLost([processOf(objects([9000, 9400, 9900, 10400], new64))], [], [])).toBe(false);
  });

  it("memory is not lost where one line holds a single buffer that grows", () => {
    expect(isLost([processOf(objects([9000, 9000, 9000]))], [line(1)], [])).toBe(false);
  });

  it("memory is not lost where a container was seen to keep most of it, although it did not gain at every sample", () => {
    const process = processOf(objects([9900, 9903, 9907, 9907]));
    const kept = (growthBytes: number) => ({ placed: "kept", device: "host", growthBytes }) as AttributedLine;
    expect(isLost([process], [], [kept(2900)])).toBe(false);
    expect(isLost([process], [], [kept(300)])).toBe(true);
  });

  it("memory is not lost where one of several processes keeps what grows", () => {
    const keeps = processOf(objects([9000, 9000, 9000], { steady_containers: 2 }));
    expect(isLost([processOf(objects([9000, 9000, 9000])), keeps], [], [])).toBe(false);
  });

  it("lost memory is unknown with too few samples, and grows by the sum of the samples", () => {
    expect(isLost([processOf(objects([9000]))], [], [])).toBeNull();
    expect(isLost([], [], [])).toBeNull();
    expect(tracedGrowth([processOf(objects([1, 1, 1])), processOf(objects([1, 1]))])).toBe(3000);
    expect(tracedRate([processOf(objects([1, 1, 1])), processOf(objects([1, 1]))])).toBe(2 * 1e12);
    expect(tracedRate([processOf(objects([1]))])).toBeNull();
  });
});
