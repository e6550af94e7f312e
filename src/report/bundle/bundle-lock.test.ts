import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { prepareBundle } from "./bundle.ts";
import { LOCK_FILE, lockBundle, unlockBundle } from "./bundle-lock.ts";

const directories: string[] = [];
const fresh = () => {
  const directory = mkdtempSync(path.join(tmpdir(), "bundle-lock-"));
  directories.push(directory);
  return directory;
};
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

const START = { argv: ["stormlog-gate", "run"], createdIso: "2026-01-01T00:00:00Z" };

describe("the lock of a bundle", () => {
  it("prevents a second gate from deleting the runs of the first one", async () => {
    const directory = fresh();
    await prepareBundle(directory, START);
    mkdirSync(path.join(directory, "runs", "a", "1"), { recursive: true });
    writeFileSync(path.join(directory, "runs", "a", "1", "samples.rec"), "x");
    // The parent of this process acts as the other gate: it is alive and is not this process.
    const text = readFileSync(path.join(directory, LOCK_FILE), "utf8");
    writeFileSync(path.join(directory, LOCK_FILE), text.replace(/ .*/s, ` ${process.ppid} -\n`));
    await expect(prepareBundle(directory, START)).rejects.toMatchObject({ code: "BUNDLE_IN_USE", exitCode: 1 });
    expect(existsSync(path.join(directory, "runs", "a", "1", "samples.rec"))).toBe(true);
  });

  it("a bundle's lock is taken over from a gate that was killed, and from a pid of another process", async () => {
    const directory = fresh();
    for (const left of ["4194304 1", `${process.ppid} 1`, "nonsense", ""]) {
      writeFileSync(path.join(directory, LOCK_FILE), `${hostname()} ${left}\n`);
      await lockBundle(directory);
      expect(readFileSync(path.join(directory, LOCK_FILE), "utf8")).toContain(` ${process.pid} `);
      await unlockBundle(directory);
      expect(existsSync(path.join(directory, LOCK_FILE))).toBe(false);
    }
  });

  it("a bundle's lock is not written into a directory with other files", async () => {
    const directory = fresh();
    writeFileSync(path.join(directory, "thesis.tex"), "x");
    await expect(prepareBundle(directory, START)).rejects.toMatchObject({ code: "BUNDLE_NOT_EMPTY" });
    expect(existsSync(path.join(directory, LOCK_FILE))).toBe(false);
  });
});
