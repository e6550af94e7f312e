import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { notPreloaded, notReached, unseenProgram } from "./unseen-program.ts";

const directory = mkdtempSync(path.join(tmpdir(), "gate-unseen-program-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** An executable ELF file whose only segment names this loader, "" for none, or is a note. */
function elf(loader: string, type = loader === "" ? 1 : 3): Buffer {
  const file = Buffer.alloc(120 + loader.length);
  file.write("\x7fELF\x02\x01", "latin1");
  file.writeBigUInt64LE(64n, 32);
  file.writeUInt16LE(1, 56);
  file.writeUInt32LE(type, 64);
  file.writeBigUInt64LE(120n, 72);
  file.writeBigUInt64LE(BigInt(loader.length), 96);
  file.write(loader, 120);
  return file;
}

async function unseen(content: Buffer | string, mode = 0o755) {
  const file = path.join(directory, "leak");
  writeFileSync(file, content);
  chmodSync(file, mode);
  const found = await unseenProgram({ kind: "argv", argv: ["leak", "400"] }, "/", directory);
  const inShell = await unseenProgram({ kind: "shell", script: "./leak 400" }, directory, undefined);
  expect(inShell?.kind).toBe(found?.kind);
  return found;
}

it("names static programs, programs of musl and set-user-id programs, which no library is preloaded into", async () => {
  const found = await unseen(elf(""));
  expect(found).toMatchObject({ kind: "static", advice: expect.stringContaining("dynamically") });
  expect(found?.reason).toBe("memory of `leak` is not seen, because it is linked statically");
  expect(notPreloaded(found)).toEqual({});
  const musl = await unseen(elf("/lib/ld-musl-x86_64.so.1\0"));
  expect(musl?.kind).toBe("musl");
  expect(notPreloaded(musl)).toEqual({ STORMLOG_GATE_STACKS: "0" });
  const glibc = elf("/lib64/ld-linux-x86-64.so.2\0");
  const own = process.getuid?.() ?? 0;
  vi.spyOn(process, "getuid").mockReturnValue(own + 1);
  expect((await unseen(glibc, 0o4755))?.kind).toBe("setuid");
  vi.restoreAllMocks();
});

it("names no program of glibc, no script, and no set-user-id program of the caller", async () => {
  const glibc = elf("/lib64/ld-linux-x86-64.so.2\0");
  expect(await unseen(glibc)).toBeNull();
  expect(await unseen(glibc, 0o4755)).toBeNull();
  expect(await unseen("#!/bin/sh\nexit 0\n")).toBeNull();
});

it("names programs of Go by the note of its linker, and the tool that sees its heap", async () => {
  const found = await unseen(elf("\x04\0\0\0\x53\0\0\0\x04\0\0\0Go\0\0", 4));
  expect(found).toMatchObject({ kind: "go", advice: expect.stringContaining("go tool pprof") });
  expect((await unseen(elf("\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0", 4)))?.kind).toBe("static");
});

it("a process that reported nothing is said to lack the probe, or to grow outside of the C heap", () => {
  for (const program of ["leak.py", "python3.12", "worker.mjs"])
    expect(notReached(program)).toContain("the probe is not in");
  for (const program of ["ingest", "perl"]) expect(notReached(program)).toMatch(/^\w+ grows outside of the C heap/);
});
