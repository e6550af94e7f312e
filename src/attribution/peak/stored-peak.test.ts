import { describe, expect, it } from "vitest";
import { higherLines, type ReadPart } from "./name-peak-lines.ts";
import { MAX_STORED_PEAK, readStoredPeak, storedPeak } from "./stored-peak.ts";

const MIB = 2 ** 20;
const KEY = { opened: "2026-01-01T00:00:00Z", device: "host", metric: "allocated" } as const;

const part = (line: number, mebibytes: number): ReadPart => ({
  at: { file: `packages/model/layers/attention_${line}.py`, line, function: "forward" },
  python: true,
  category: line % 2 === 0 ? "activations" : "parameters",
  phase: line % 2 === 0 ? "forward" : null,
  bytes: mebibytes * MIB,
  variance: 0,
  stack: [],
  called: null,
  place: null,
  isInterpreter: false,
  code: `hidden = self.layer_${line}(hidden, mask=mask, cache=cache, position=position, scale=scale)`,
});
const sum = (parts: readonly { readonly bytes: number }[]): number => parts.reduce((all, { bytes }) => all + bytes, 0);

describe("the peak that is stored with a baseline", () => {
  const parts = Array.from({ length: 40 }, (_, at) => part(at + 1, 40 - at));
  const inputs = { arguments: "--token secret", torch: "2.6.0" };
  const written = storedPeak({ parts, unseen: ["communication_buffers"], inputs }, KEY);

  it("takes at most two kilobytes, keeps every byte, and leaves out the arguments", () => {
    expect(Buffer.byteLength(written)).toBeLessThanOrEqual(MAX_STORED_PEAK);
    expect(written).not.toContain("secret");
    const read = readStoredPeak(written, KEY);
    expect(sum(read?.parts ?? [])).toBe(sum(parts));
    expect(read?.inputs).toEqual({ torch: "2.6.0" });
    const activations = (of: readonly ReadPart[]) => sum(of.filter(({ category }) => category === "activations"));
    expect(activations(read?.parts ?? [])).toBe(activations(parts));
  });

  it("a stored peak is compared with as a run is: a line is found again by its text", () => {
    const after = parts.map((one) =>
      one.at.line === 2 ? { ...one, at: { ...one.at, line: 90 }, bytes: 139 * MIB } : one,
    );
    const [first] = higherLines(after, readStoredPeak(written, KEY)?.parts ?? [], 100 * MIB);
    expect([first?.line.at.line, first?.before]).toEqual([90, 39 * MIB]);
  });

  it("a stored peak is null where it is damaged, or of another series or level", () => {
    expect(readStoredPeak(written.slice(0, 100), KEY)).toBeNull();
    expect(readStoredPeak('{"schema":"stormlog.peak/1"}', KEY)).toBeNull();
    expect(readStoredPeak(written, { ...KEY, opened: "2027-01-01T00:00:00Z" })).toBeNull();
    expect(readStoredPeak(written, { ...KEY, metric: "host" })).toBeNull();
  });
});
