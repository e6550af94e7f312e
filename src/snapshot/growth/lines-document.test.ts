import { describe, expect, it } from "vitest";
import { parseLines } from "./lines-document.ts";

const document = (extra: object = {}) => ({
  schema: "stormlog.lines/1",
  pid: 7,
  moment: 0,
  step: 120,
  time_ns: 5_000_000,
  source: "tracemalloc",
  total_bytes: 1000,
  lines: [{ bytes: 900, count: 3, kind: "python", stack: [{ file: "train.py", line: 48, function: "step" }] }],
  others_bytes: 100,
  ...extra,
});

describe("parseLines", () => {
  it("returns a sample of a process", () => {
    expect(parseLines(document(), "x")).toEqual({
      pid: 7,
      moment: 0,
      source: "tracemalloc",
      sample: {
        step: 120,
        timeNs: 5_000_000,
        totalBytes: 1000,
        entries: [{ bytes: 900, count: 3, kind: "python", stack: [{ file: "train.py", line: 48, function: "step" }] }],
      },
      heldOnDevices: [],
      facts: {},
      notes: [],
      ended: false,
      unread: false,
    });
  });

  it("returns the retainer of a line's memory and its origin", () => {
    const retainer = { container: "list", name: "losses", owner: null, stack: [] };
    const line = {
      bytes: 4,
      count: 1,
      kind: "tensor",
      stack: [],
      operator: "aten.add",
      copied_from: "forward",
      retainer: 0,
    };
    const moment = parseLines(
      document({ lines: [line], retainers: [retainer], facts: { optimizers: 2 }, ended: true }),
      "x",
    );
    expect(moment.sample.entries[0]).toEqual({
      bytes: 4,
      count: 1,
      kind: "tensor",
      stack: [],
      operator: "aten.add",
      copiedFrom: "forward",
      retainer: { ...retainer, length: null, graphs: null },
    });
    expect(moment).toMatchObject({ facts: { optimizers: 2 }, ended: true });
  });

  it("accepts a sample without steps", () => {
    expect(parseLines(document({ step: null }), "x").sample.step).toBeNull();
  });

  it.each([
    ["a negative size", { total_bytes: -1 }, "LINES_INVALID", "total_bytes"],
    ["no lines", { lines: undefined }, "LINES_INVALID", "lines"],
    [
      "a frame without a line",
      { lines: [{ bytes: 1, count: 1, kind: "", stack: [{ file: "a", function: "" }] }] },
      "LINES_INVALID",
      "lines.0.stack.0.line",
    ],
    ["a newer schema", { schema: "stormlog.lines/2" }, "INPUT_SCHEMA_VERSION", "stormlog.lines/2"],
    ["another document", { schema: "stormlog.report" }, "LINES_INVALID", "schema"],
  ])("refuses %s", (_name, extra, code, place) => {
    expect(() => parseLines(document(extra), "file.json")).toThrow(
      expect.objectContaining({ code, where: "file.json", message: expect.stringContaining(place) }),
    );
  });

  it("rejects a value that is not an object", () => {
    expect(() => parseLines(null, "x")).toThrow(expect.objectContaining({ code: "LINES_INVALID" }));
  });
});
