import { describe, expect, it } from "vitest";
import { recording, table } from "../../telemetry/testing/recordings.ts";
import { labCurve } from "./curve.ts";

const HEAP = { device: "host", metric: "allocated", rank: 0 };
const numbers = (count: number, of: (i: number) => number): Float64Array =>
  Float64Array.from({ length: count }, (_, i) => of(i));

describe("labCurve", () => {
  it("keeps the highest sample of every bin, at its position", () => {
    const count = 36_000;
    const allocated = numbers(count, (i) => (i === 12_345 ? 9999 : i % 100));
    const made = labCurve(
      recording({ tables: [table({ timeNs: numbers(count, (i) => i * 1e6), columns: { allocated } })] }),
      HEAP,
    );
    expect(made?.axis).toBe("time");
    expect(made?.length).toBeCloseTo(35.999);
    expect(made?.bytes).toHaveLength(180);
    const top = made?.bytes.indexOf(9999) ?? -1;
    expect(made?.at[top]).toBeCloseTo(12_345 / 35_999, 6);
    expect(new Set(made?.bytes)).toEqual(new Set([99, 9999]));
  });

  it("labCurve has steps as its axis where they are counted, and the memory at their ends where reported", () => {
    const count = 121;
    const steps = numbers(count, (i) => Math.floor(i / 2));
    // Twice a step: within it, with 500 bytes of working memory, and at its end; then once after the loop.
    const allocated = numbers(count, (i) => (i === count - 1 ? 1 : 10 * Math.floor(i / 2) + (i % 2 === 0 ? 500 : 0)));
    const timeNs = numbers(count, (i) => i * 1e7);
    const timed = table({ timeNs, steps, columns: { allocated } });
    expect(labCurve(recording({ tables: [timed] }), HEAP)).toMatchObject({ axis: "steps", length: 61 });
    const atStep = Uint8Array.from({ length: count }, (_, i) => i % 2);
    const made = labCurve(recording({ tables: [{ ...timed, atStep }] }), HEAP);
    expect(made).toMatchObject({ axis: "steps", length: 60 });
    expect([...(made?.bytes ?? [])]).toEqual(Array.from({ length: 60 }, (_, step) => 10 * step));
    expect(made?.at.at(-1)).toBe(1);
  });

  it("takes a series of the same kind of device where the number differs, and none of another kind", () => {
    const tables = [
      table({ columns: { allocated: Float64Array.of(1, 2, 3) } }),
      table({ device: "cuda:1", rank: 1, columns: { allocated: Float64Array.of(4, 5, 6) } }),
    ];
    const drawn = labCurve(recording({ tables }), { device: "cuda:0", metric: "allocated", rank: 0 });
    expect([...(drawn?.bytes ?? [])]).toEqual([4, 5, 6]);
    expect(labCurve(recording({ tables }), { device: "mps:0", metric: "allocated" })).toBeNull();
    expect(labCurve(recording({ tables }), { device: "host", metric: "reserved" })).toBeNull();
  });

  it("labCurve is a dot for one sample, and null for none", () => {
    const one = table({ timeNs: null, columns: { allocated: Float64Array.of(7) } });
    expect(labCurve(recording({ tables: [one] }), HEAP)).toMatchObject({ axis: "samples", at: Float64Array.of(0) });
    const none = table({ columns: { allocated: Float64Array.of(Number.NaN, Number.NaN, Number.NaN) } });
    expect(labCurve(recording({ tables: [none] }), HEAP)).toBeNull();
  });
});
