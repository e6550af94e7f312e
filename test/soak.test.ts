import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { packageRoot } from "../src/core/package-root.ts";

const directory = mkdtempSync(path.join(tmpdir(), "soak-"));
afterAll(() => rmSync(directory, { recursive: true }));

const soak = (...args: string[]) =>
  spawnSync(
    "node_modules/.bin/tsx",
    ["scripts/soak/index.ts", "--no-page", "--results", path.join(directory, "soak.json"), ...args],
    { cwd: packageRoot(), encoding: "utf8" },
  );

describe("npm run soak", () => {
  it("npm run soak fails and names the campaign when no round of it fits into the time", () => {
    const { status, stdout, stderr } = soak("--only", "fuzz", "--minutes", "0.0001");
    expect(stderr).toMatch(/soak: no round began in 0\.0001 min: fuzz \(needs \d+ s\)/);
    expect(stdout).not.toContain("0 failed");
    expect(status).toBe(1);
  }, 60_000);
});
