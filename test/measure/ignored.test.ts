import { existsSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { findPrebuild } from "../../src/sampler/prebuild.ts";
import { measured, temporaryDirectory } from "./kit.ts";

const PYTHON = "/usr/bin/python3";
const native = !("reason" in findPrebuild());
const MIB = 2 ** 20;

/** Holds 40 MiB until the load has ended, which keeps 96 MiB in a child. */
const SERVER = `
import subprocess, sys
kept = b"x" * (40 << 20)
subprocess.run([sys.executable, "load.py"])
`;
const LOAD = `
import subprocess, sys, time
if len(sys.argv) == 1: subprocess.run([sys.executable, "load.py", "child"])
else:
    kept = b"x" * (96 << 20)
    time.sleep(0.5)
`;

describe.skipIf(!native || !existsSync(PYTHON))("a program that the configuration ignores", () => {
  it("an ignored program and its children are in no series, no process and no file of the probe", async () => {
    const cwd = temporaryDirectory();
    writeFileSync(path.join(cwd, "server.py"), SERVER);
    writeFileSync(path.join(cwd, "load.py"), LOAD);
    const all = await measured([PYTHON, "server.py"], { cwd });
    const own = await measured([PYTHON, "server.py"], { cwd, ignore: ["load.py"] });
    const host = ({ info }: typeof all) => info.peaks.find(({ metric }) => metric === "host")?.bytes ?? Number.NaN;
    expect(host(all)).toBeGreaterThan(136 * MIB);
    expect(host(own)).toBeGreaterThan(40 * MIB);
    expect(host(own)).toBeLessThan(80 * MIB);
    expect(all.info.probe?.processes_total).toBe(3);
    expect(own.info.probe?.processes.map(({ pid }) => pid)).toEqual([own.info.identity.pid]);
    const others = readdirSync(path.join(own.directory, "probe")).filter((name) => /^\d/.test(name));
    expect(others.filter((name) => !name.startsWith(`${own.info.identity.pid}.`))).toEqual([]);
    expect([all, own].map(({ info }) => info.fingerprint.not_measured)).toEqual(["nothing", "load.py"]);
    expect(own.info.lost.filter((note) => !note.includes("busy"))).toEqual([]);
  });

  it("a command that is ignored itself has measured nothing, which is an error and no empty recording", async () => {
    const cwd = temporaryDirectory();
    writeFileSync(path.join(cwd, "server.py"), SERVER);
    writeFileSync(path.join(cwd, "load.py"), LOAD);
    const { integrityError } = await measured([PYTHON, "load.py"], { cwd, ignore: ["load.py"] });
    expect(integrityError?.code).toBe("COMMAND_IGNORED");
    expect((await measured([PYTHON, "server.py"], { cwd, ignore: ["load.py"] })).integrityError).toBeNull();
  });

  it("a run in which no process has the name says that nothing was left out", async () => {
    const { info } = await measured([PYTHON, "-c", "import time; time.sleep(0.2)"], { ignore: ["wrk", "hey"] });
    expect(info.lost.join()).toContain("no process of wrk, hey was seen");
  });
});
