import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, vi } from "vitest";
import { cli, freshDirectory } from "./cli.ts";

const PYTHON = "/usr/bin/python3";
const SUPPORTED = process.platform === "linux" && existsSync(PYTHON);

vi.setConfig({ testTimeout: 120_000 });

/** A parent and its fork, of which the named one keeps 256 KiB every 10 ms until it has 64 MiB. */
const PROGRAM = `
import os, sys, time
def work(grows):
    kept = [b"x" * (16 << 20)]
    for i in range(256):
        time.sleep(0.01)
        if grows: kept.append(b"y" * (256 << 10))
child = os.fork()
work(sys.argv[1] == ("parent" if child else "child"))
if child: os.waitpid(child, 0)
`;

describe.skipIf(!SUPPORTED)("a command of two processes", () => {
  it.each([
    ["parent", "the main process of job.py"],
    ["child", "the child process of job.py"],
  ])("has all of its growth in its %s, and shows what each process holds", async (which, role) => {
    const cwd = freshDirectory();
    writeFileSync(path.join(cwd, "job.py"), PROGRAM);
    const once = ["--baseline", "none", "--repeats", "1", "--attribute", "off", "--probe", "off"];
    const run = await cli(["run", "--json", ...once, "--", PYTHON, "job.py", which], { cwd });
    const { processes } = JSON.parse(run.stdout).payload.scenarios[0].runs[0].analysis;
    expect(processes).toHaveLength(2);
    expect(processes.find((one: { role: string }) => one.role === role).share).toBeGreaterThan(0.95);
    const shown = await cli(["show", "-v", path.join(cwd, "stormlog-bundle")], { cwd });
    expect(shown.stdout).toMatch(/^ {2}the main process of job\.py .* MiB/m);
  });
});
