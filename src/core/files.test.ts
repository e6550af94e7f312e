import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  NOT_A_FILE,
  readBounded,
  readHead,
  readJson,
  readTail,
  TOO_LARGE,
  writeAtomically,
  writeAtomicallySync,
  writeOwn,
} from "./files.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-files-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe("writing a file atomically", () => {
  it("replaces the file and leaves nothing else", async () => {
    const file = path.join(directory, "a.json");
    await writeAtomically(file, "one");
    writeAtomicallySync(file, "two");
    expect([readdirSync(directory), readFileSync(file, "utf8")]).toEqual([["a.json"], "two"]);
  });

  it("leaves no partial file when the rename fails", async () => {
    // A directory cannot be replaced by a file.
    await expect(writeAtomically(directory, "x")).rejects.toMatchObject({ code: expect.stringMatching(/^E/) });
    expect(() => writeAtomicallySync(directory, "x")).toThrow();
    expect(
      readdirSync(path.dirname(directory)).filter((name) => name.startsWith(`${path.basename(directory)}.`)),
    ).toEqual([]);
  });
});

describe("reading a JSON file", () => {
  it("names the problem to the caller, who makes the error", () => {
    const file = path.join(directory, "a.json");
    const kind = (maxBytes?: number): unknown => {
      try {
        return readJson(file, (problem) => new Error(problem.kind), maxBytes);
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(kind()).toBe("absent");
    for (const [text, expected] of [
      ["", "empty"],
      ['{"a":', "truncated"],
      ['{"a":1}', { a: 1 }],
    ] as const) {
      writeFileSync(file, text);
      expect(kind()).toEqual(expected);
    }
    expect(kind(3)).toBe("too-large");
    expect(() => readJson(directory, ({ kind }) => new Error(kind))).toThrow("unreadable");
  });
});

describe.skipIf(process.platform === "win32")("reading a file that another program may have replaced", () => {
  const at = (name: string): string => path.join(directory, name);
  const refusal = (read: () => unknown): unknown => {
    try {
      return read();
    } catch (error) {
      return (error as NodeJS.ErrnoException).code;
    }
  };

  it("returns its content up to the limit, beginning and end", () => {
    writeFileSync(at("a"), "0123456789");
    expect(readBounded(at("a"), 10).toString()).toBe("0123456789");
    expect(readHead(at("a"), 4).toString()).toBe("0123");
    expect(readTail(at("a"), 4).toString()).toBe("6789");
    expect(readTail(at("a"), 40).toString()).toBe("0123456789");
    writeFileSync(at("empty"), "");
    expect([readBounded(at("empty"), 0).length, readHead(at("empty"), 9).length]).toEqual([0, 0]);
  });

  it.each(["fifo", "device", "directory", "sparse", "link to a device", "dangling"])("refuses at once: %s", (kind) => {
    const [file, expected] = {
      fifo: [at("fifo"), NOT_A_FILE],
      device: ["/dev/zero", NOT_A_FILE],
      directory: [directory, "EISDIR"],
      sparse: [at("sparse"), TOO_LARGE],
      "link to a device": [at("zero"), NOT_A_FILE],
      dangling: [at("dangling"), "ENOENT"],
    }[kind] as [string, string];
    execFileSync("mkfifo", [at("fifo")]);
    writeFileSync(at("sparse"), "");
    truncateSync(at("sparse"), 100e9);
    symlinkSync("/dev/zero", at("zero"));
    symlinkSync(at("nothing"), at("dangling"));
    expect(refusal(() => readBounded(file, 1000))).toBe(expected);
    if (kind !== "sparse") expect(refusal(() => readTail(file, 1000))).toBe(expected);
  });

  it("follows a link to a regular file only where links are legitimate", () => {
    writeFileSync(at("a"), "x");
    symlinkSync(at("a"), at("link"));
    expect(readBounded(at("link"), 9).toString()).toBe("x");
    expect(refusal(() => readBounded(at("link"), 9, "refuse"))).toBe("ELOOP");
  });

  it.skipIf(process.platform !== "linux")("reads the kernel's files, whose size is 0, up to the limit", () => {
    expect(readBounded("/proc/self/stat", 10_000).toString()).toContain(String(process.pid));
    expect(refusal(() => readBounded("/proc/self/stat", 3))).toBe(TOO_LARGE);
  });

  it("replaces and extends a file, and writes through nothing that took its place", () => {
    writeOwn(at("a"), "append", () => "one");
    writeOwn(at("a"), "append", (bytes) => ` ${bytes}`);
    expect(readBounded(at("a"), 9).toString()).toBe("one 3");
    writeOwn(at("a"), "replace", () => "new");
    writeOwn(at("a"), "replace", () => null);
    expect(readBounded(at("a"), 9).toString()).toBe("new");
    symlinkSync(at("a"), at("link"));
    execFileSync("mkfifo", [at("fifo")]);
    const write = (file: string) => refusal(() => writeOwn(file, "append", () => "x"));
    expect([at("link"), at("fifo"), directory, "/dev/null"].map(write)).toEqual([
      "ELOOP",
      "ENXIO",
      "EISDIR",
      NOT_A_FILE,
    ]);
    expect(readBounded(at("a"), 9).toString()).toBe("new");
  });
});
