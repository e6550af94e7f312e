import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { writeAll } from "./console.ts";

describe("writing the output", () => {
  it("writes all of it", () => {
    const directory = mkdtempSync(path.join(tmpdir(), "console-"));
    const file = path.join(directory, "out");
    const fd = openSync(file, "w");
    writeAll(fd, new Uint8Array(3_000_000).fill(65));
    closeSync(fd);
    expect(readFileSync(file).length).toBe(3_000_000);
    rmSync(directory, { recursive: true });
  });

  it.skipIf(process.platform !== "linux")("reports a full disk that loses an answer", () => {
    const fd = openSync("/dev/full", "w");
    expect(() => writeAll(fd, new Uint8Array(8))).toThrow(
      expect.objectContaining({ code: "OUTPUT_UNWRITABLE", exitCode: 1 }),
    );
    closeSync(fd);
  });
});
