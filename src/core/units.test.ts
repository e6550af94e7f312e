import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatBytes, formatBytesDelta, formatDuration, parseSize } from "./units.ts";

describe("formatBytes", () => {
  it("prints binary units with two decimals", () => {
    expect(formatBytes(0)).toBe("0 B");
    expect(formatBytes(512)).toBe("512 B");
    expect(formatBytes(1536)).toBe("1.50 KiB");
    expect(formatBytes(1610612736)).toBe("1.50 GiB");
    expect(formatBytes(-3 * 1024 ** 2)).toBe("-3.00 MiB");
  });

  it("moves to the next unit rather than printing 1024.00", () => {
    expect(formatBytes(1024 ** 2 - 1)).toBe("1.00 MiB");
  });

  it("signs differences", () => {
    expect(formatBytesDelta(12 * 1024 ** 2)).toBe("+12.00 MiB");
    expect(formatBytesDelta(0)).toBe("0 B");
  });
});

describe("parseSize", () => {
  it("reads bare letters and *iB as binary, *B as decimal", () => {
    expect(parseSize("2GiB")).toBe(2 * 1024 ** 3);
    expect(parseSize("1.5 g")).toBe(1.5 * 1024 ** 3);
    expect(parseSize("1GB")).toBe(1e9);
    expect(parseSize("4096")).toBe(4096);
  });

  it("refuses anything else with a usage error", () => {
    for (const text of ["", "big", "-1", "1XB", "1e400", "NaN", "12 12"]) {
      expect(() => parseSize(text)).toThrowError(expect.objectContaining({ code: "SIZE_INVALID", exitCode: 2 }));
    }
  });

  it("reads back what formatBytes printed, within its two decimals", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 50 }), (bytes) => {
        expect(Math.abs(parseSize(formatBytes(bytes)) - bytes)).toBeLessThanOrEqual(Math.max(1, bytes * 0.006));
      }),
    );
  });
});

describe("formatDuration", () => {
  it("chooses the unit a person would", () => {
    expect([0.25, 12.34, 125, 12000].map(formatDuration)).toEqual(["250 ms", "12.3 s", "2 min 05 s", "3 h 20 min"]);
  });
});
