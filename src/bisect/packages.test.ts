import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lockDifference } from "./locks.ts";
import { packageSubject } from "./packages.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-packages-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe("an environment of packages", () => {
  it("an environment of packages is made by the first python3 on PATH and keeps the caller's settings except HOME", async () => {
    const [bin, scratch] = [path.join(directory, "bin"), path.join(directory, "scratch")];
    for (const one of [bin, scratch]) mkdirSync(one);
    const script = `#!/bin/sh\necho "$2 $HOME $PIP_CACHE_DIR $PYTHONPATH" >> ${directory}/calls\n`;
    writeFileSync(path.join(bin, "python3"), script);
    chmodSync(path.join(bin, "python3"), 0o755);
    const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: "/root", PYTHONPATH: "src", MALLOC_ARENA_MAX: "2" };
    const interrupt = new AbortController().signal;
    const subject = packageSubject(lockDifference("a==1\n", "a==2\n", ["good.txt", "bad.txt"]), {
      tool: "pip",
      cwd: directory,
      directory: path.join(directory, "search"),
      env,
      interrupt,
    });
    const home = path.join(scratch, "home");
    expect(await subject.prepare([0], scratch)).toEqual({
      cwd: directory,
      env: {
        ...env,
        PATH: `${scratch}/env/bin:${env.PATH}`,
        HOME: home,
        VIRTUAL_ENV: `${scratch}/env`,
      },
    });
    const cache = path.join(directory, "search", "cache");
    expect(readFileSync(path.join(directory, "calls"), "utf8")).toBe(`venv ${home} ${cache} \npip ${home} ${cache} \n`);
    expect(readFileSync(path.join(scratch, "requirements.txt"), "utf8")).toBe("a==2\n");
  });
});
