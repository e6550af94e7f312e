import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { OutputLog } from "./output-log.ts";

let directory: string;
let file: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
  file = path.join(directory, "output.log");
});
afterEach(() => rmSync(directory, { recursive: true }));

const NOTE = /\n\[stormlog-gate: (\d+) bytes of output left out here\]\n/;

describe("OutputLog", () => {
  it("keeps everything that fits in head and tail, byte for byte", () => {
    const log = new OutputLog(file, 10);
    log.write(Buffer.from("abcdefgh"));
    log.write(Buffer.from("ijklmnopqrst"));
    log.close();
    expect(readFileSync(file, "utf8")).toBe("abcdefghijklmnopqrst");
    expect(log.totals()).toEqual({ bytes: 20, kept_bytes: 20 });
  });

  it("states how much it left out, and starts the tail with a whole line", () => {
    const log = new OutputLog(file, 10);
    log.write(Buffer.from("0123456789, then much\nthat is lost\nlast\n"));
    log.close();
    const text = readFileSync(file, "utf8");
    expect(text.slice(0, 10)).toBe("0123456789");
    expect(text).toMatch(/\nlast\n$/);
    const left = Number(NOTE.exec(text)?.[1]);
    const { bytes, kept_bytes } = log.totals();
    expect(left).toBe(bytes - kept_bytes);
    expect(kept_bytes).toBe(10 + "last\n".length);
  });

  it("keeps head and tail with chunks of any size", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(40), { maxLength: 20 }), (sizes) => {
        const text = sizes.map((size, i) => String.fromCharCode(97 + i).repeat(size)).join("");
        const log = new OutputLog(file, 16);
        let at = 0;
        for (const size of sizes) {
          log.write(Buffer.from(text.slice(at, at + size)));
          at += size;
        }
        log.close();
        const written = readFileSync(file, "utf8");
        if (text.length <= 32) expect(written).toBe(text);
        else {
          expect(written.startsWith(text.slice(0, 16))).toBe(true);
          expect(written.endsWith(text.slice(-16))).toBe(true);
          expect(Number(NOTE.exec(written)?.[1])).toBe(text.length - 32);
        }
        expect(log.totals().bytes).toBe(text.length);
      }),
    );
  });

  it("OutputLog has the tail on disk within 0.7 s, before it is closed", async () => {
    const log = new OutputLog(file, 10);
    log.write(Buffer.from("0123456789abcde"));
    expect(statSync(file).size).toBe(10);
    await sleep(700);
    expect(readFileSync(file, "utf8")).toBe("0123456789abcde");
    log.write(Buffer.from("f".repeat(30)));
    log.close();
    expect(readFileSync(file, "utf8")).toMatch(/f{10}$/);
  });

  it("ignores output after it was closed", () => {
    const log = new OutputLog(file);
    log.write(Buffer.from("a"));
    log.close();
    log.write(Buffer.from("b"));
    log.close();
    expect(readFileSync(file, "utf8")).toBe("a");
  });

  it.skipIf(!existsSync("/dev/full"))("OutputLog has the reason when the disk is full, and does not throw", () => {
    const log = new OutputLog("/dev/full");
    log.write(Buffer.from("a"));
    expect(log.error).toMatch(/ENOSPC/);
    log.write(Buffer.alloc(2 ** 20));
    log.close();
    expect(log.totals()).toEqual({ bytes: 2 ** 20 + 1, kept_bytes: 0 });
  });
});
