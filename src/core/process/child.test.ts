import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { programsOf, runChild } from "./child.ts";

let directory: string;
let own: string;

/** As an ordinary user, also where the tests run as root. */
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
  own = path.join(directory, "bin");
  mkdirSync(own);
  chmodSync(own, 0o777);
  for (const name of ["sh", "mine"]) writeFileSync(path.join(own, name), "#!/bin/sh\n", { mode: 0o755 });
  if (process.getuid?.() === 0) {
    vi.spyOn(process, "getuid").mockReturnValue(65_534);
    vi.spyOn(process, "getgroups").mockReturnValue([65_534]);
  }
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true });
});

describe("helper programs", () => {
  const searched = () => `bin:.:${own}:/usr/bin:/bin`;

  it("helper programs come from directories that this user cannot write, in a pipeline", () => {
    const programs = programsOf({ PATH: searched(), GITHUB_ACTIONS: "true" });
    expect(programs.find("sh")).toEqual({ path: expect.stringMatching(/^\/(?:usr\/)?bin\/sh$/), guarded: true });
    expect(programs.searchPath).toBe("/usr/bin:/bin");
  });

  it("helper programs come from another directory where there is none, and are marked", () => {
    expect(programsOf({ PATH: searched(), CI: "1" }).find("mine")).toEqual({ path: `${own}/mine`, guarded: false });
    expect(programsOf({ PATH: own, CI: "1" }).searchPath).toBe("/usr/bin:/bin");
    expect(programsOf({ PATH: searched(), CI: "1" }).find("absent")).toBeNull();
  });

  it("helper programs come from the first directory of PATH outside a pipeline", () => {
    const programs = programsOf({ PATH: searched(), CI: "false" });
    expect(programs.find("sh")?.path).toBe(`${own}/sh`);
    expect(programs.searchPath).toBe(`${own}:/usr/bin:/bin`);
  });

  it("helper programs are looked up once", () => {
    const programs = programsOf({ PATH: `${own}:/usr/bin`, CI: "false" });
    const first = programs.find("mine");
    rmSync(path.join(own, "mine"));
    expect(programs.find("mine")).toBe(first);
  });
});

describe("running a helper", () => {
  const env = { PATH: "/usr/bin:/bin" };
  const shell = (script: string, options: Partial<Parameters<typeof runChild>[2]> = {}) =>
    runChild("/bin/sh", ["-c", script], { env, timeoutMs: 60_000, ...options });
  /** The process that a script writes into the file; the script is interrupted once it has. */
  const interrupted = async (scriptOf: (file: string) => string): Promise<number> => {
    const file = path.join(own, "pid");
    const interrupt = new AbortController();
    const running = shell(scriptOf(file), { signal: interrupt.signal });
    const pid = await vi.waitUntil(() => existsSync(file) && Number(readFileSync(file, "utf8")), { timeout: 30_000 });
    interrupt.abort();
    expect((await running).end).toEqual({ kind: "killed", cause: "interrupt" });
    return pid;
  };
  const state = (pid: number): string => {
    const file = `/proc/${pid}/stat`;
    return existsSync(file) ? (readFileSync(file, "utf8").split(") ")[1]?.[0] ?? "") : "gone";
  };

  it("returns its output, its status and only the environment that was given", async () => {
    const { end, stdout, stderr } = await shell("cat; env; echo problem >&2; exit 3", { input: "in\n" });
    expect(end).toEqual({ kind: "exit", code: 3 });
    expect(stdout.split("\n").filter((line) => !/^(?:PWD|_|SHLVL|OLDPWD)=/.test(line))).toEqual([
      "in",
      "PATH=/usr/bin:/bin",
      "",
    ]);
    expect(stderr).toBe("problem\n");
  });

  it("kills a program at its deadline", async () => {
    expect((await shell("sleep 1000", { timeoutMs: 300 })).end).toEqual({ kind: "killed", cause: "timeout" });
  });

  it("kills the whole process group when it is interrupted", async () => {
    const pid = await interrupted((file) => `sleep 1000 & echo $! > ${file}; wait`);
    await vi.waitFor(() => expect(["gone", "Z", "X"]).toContain(state(pid)), 10_000);
  });

  it.runIf(process.platform === "linux")("does not wait for a process that left and holds its output", async () => {
    const pid = await interrupted((file) => `setsid sleep 1000 & echo $! > ${file}`);
    process.kill(pid, "SIGKILL");
  });

  it("ends when it is interrupted, when it prints too much, and when its program is absent", async () => {
    const interrupt = new AbortController();
    const waiting = shell("sleep 1000", { signal: interrupt.signal });
    interrupt.abort();
    expect((await waiting).end).toEqual({ kind: "killed", cause: "interrupt" });
    expect((await shell("cat /dev/zero", { maxBytes: 1e5 })).end).toEqual({ kind: "killed", cause: "output" });
    const absent = await runChild("/nowhere", [], { env, timeoutMs: 1000 });
    expect(absent.end).toMatchObject({ kind: "not-started", reason: expect.stringMatching(/ENOENT/) });
  });
});
