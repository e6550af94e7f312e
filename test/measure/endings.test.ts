import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { GateError } from "../../src/core/errors.ts";
import type { RecordingInfo } from "../../src/telemetry/recording/model.ts";
import { measured, node, temporaryDirectory } from "./kit.ts";

const isRoot = process.getuid?.() === 0;

function script(parent: string, text: string, mode = 0o755): string {
  const file = path.join(parent, "script");
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
}

describe("how a command ends", () => {
  it("reports the exit status", async () => {
    const { info, directory } = await measured(["sh", "-c", "exit 7"]);
    expect(info.exit).toEqual({ kind: "exited", code: 7 });
    expect(info.complete).toBe(true);
    expect(JSON.parse(readFileSync(path.join(directory, "recording.json"), "utf8"))).toEqual(info);
  });

  it("names the signal that killed it", async () => {
    const { info } = await measured(["sh", "-c", "kill -SEGV $$"]);
    expect(info.exit).toEqual({ kind: "signaled", signal: "SIGSEGV" });
  });

  it("records the processor time of the command with that of its children", async () => {
    const busy = "while (process.cpuUsage().user < 400_000);";
    const { info } = await measured(["sh", "-c", `'${process.execPath}' -e '${busy}' & wait`]);
    expect(info.cpu_s).toBeGreaterThanOrEqual(0.4);
    expect((await measured(["sleep", "0.1"])).info.cpu_s).toBeLessThan(0.4);
  });

  it("reports that the command is not on PATH", async () => {
    const { info } = await measured(["no-such-command-here"]);
    expect(info.exit).toMatchObject({ kind: "not-started", code: "COMMAND_NOT_FOUND" });
    expect(info.complete).toBe(true);
  });

  it("reports that the file does not exist", async () => {
    const { info } = await measured(["./missing.py"]);
    expect(info.exit).toMatchObject({ code: "COMMAND_NOT_FOUND", message: expect.stringContaining("./missing.py") });
  });

  it("reports that the file is not executable", async () => {
    const { info } = await measured([script(temporaryDirectory(), "#!/bin/sh\n", 0o644)]);
    expect(info.exit).toMatchObject({ kind: "not-started", code: "COMMAND_NOT_EXECUTABLE" });
  });

  it("reports that the command is a directory", async () => {
    const { info } = await measured([temporaryDirectory()]);
    expect(info.exit).toMatchObject({ kind: "not-started", code: "COMMAND_IS_DIRECTORY" });
  });

  it("reports that the interpreter of a script is missing", async () => {
    const { info } = await measured([script(temporaryDirectory(), "#!/no/such/interpreter\n")]);
    expect(info.exit).toMatchObject({ kind: "not-started", code: "COMMAND_INTERPRETER_MISSING" });
  });

  it("runs a string by sh, and an argument vector without any shell", async () => {
    const shell = await measured([], { command: { kind: "shell", script: "echo $((1+1)) | tr 2 3" } });
    expect(shell.stdout).toBe("3\n");
    expect(shell.info.command.shell).toBe(true);
    const argv = await measured(["echo", "$HOME", "a b", ";", "*"]);
    expect(argv.stdout).toBe("$HOME a b ; *\n");
  });

  it("gives the command no stdin, its own environment and the marker", async () => {
    const { stdout } = await measured(
      node(
        "process.stdin.on('data',()=>{}).on('end',()=>{const e=process.env;console.log(JSON.stringify([e.GITHUB_TOKEN,e.INPUT_RUN,e.NODE_OPTIONS,e.NODE_COMPILE_CACHE,e.EXTRA,e.STORMLOG_GATE_RUN.length]))})",
      ),
      {
        env: {
          ...process.env,
          GITHUB_TOKEN: "t",
          INPUT_RUN: "r",
          NODE_OPTIONS: "--no-warnings",
          NODE_COMPILE_CACHE: "",
        },
        extraEnv: { EXTRA: "x" },
      },
    );
    const options = expect.stringMatching(/^--no-warnings --require \S+\/probe\/node\/preload\.cjs$/);
    expect(JSON.parse(stdout)).toEqual([null, null, options, "", "x", 32]);
  });
});

describe("what cannot even be begun", () => {
  const failure = async (promise: Promise<unknown>): Promise<GateError> => {
    const error = await promise.then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(GateError);
    return error as GateError;
  };

  it("refuses a working directory that does not exist, or is a file", async () => {
    expect((await failure(measured(["true"], { cwd: "/no/such/parent" }))).code).toBe("CWD_NOT_FOUND");
    expect((await failure(measured(["true"], { cwd: "/etc/passwd" }))).code).toBe("CWD_NOT_DIRECTORY");
  });

  it("refuses an empty command", async () => {
    const error = await failure(measured([]));
    expect([error.code, error.exitCode]).toEqual(["COMMAND_MISSING", 2]);
  });

  it("refuses an argument with a NUL", async () => {
    expect((await failure(measured(["echo", "a\0b"]))).code).toBe("COMMAND_INVALID");
  });

  it("does not write over a recording", async () => {
    const { directory } = await measured(["true"]);
    expect((await failure(measured(["true"], { directory }))).code).toBe("RUN_DIRECTORY_IN_USE");
  });

  it("refuses a directory that cannot be made", async () => {
    const parent = temporaryDirectory();
    writeFileSync(path.join(parent, "file"), "");
    const error = await failure(measured(["true"], { directory: path.join(parent, "file", "run") }));
    expect([error.code, error.exitCode]).toEqual(["RUN_DIRECTORY_UNWRITABLE", 1]);
  });

  it.skipIf(isRoot)("refuses a directory without permission", async () => {
    const parent = temporaryDirectory();
    mkdirSync(path.join(parent, "locked"), { mode: 0o500 });
    const error = await failure(measured(["true"], { directory: path.join(parent, "locked", "run") }));
    expect(error.code).toBe("RUN_DIRECTORY_UNWRITABLE");
  });

  it("starts nothing when it is already interrupted", async () => {
    const parent = temporaryDirectory();
    const file = path.join(parent, "ran");
    const error = await failure(measured(["touch", file], { interrupt: AbortSignal.abort("SIGINT") }));
    expect([error.code, error.exitCode]).toEqual(["INTERRUPTED", 130]);
    expect(existsSync(file)).toBe(false);
  });
});

describe("recording.json", () => {
  it("recording.json exists and is incomplete while the command runs", async () => {
    const parent = temporaryDirectory();
    const directory = path.join(parent, "run");
    const { info, stdout } = await measured(["cat", path.join(directory, "recording.json")], { directory });
    const during = JSON.parse(stdout) as RecordingInfo;
    expect(during).toMatchObject({ complete: false, exit: { kind: "running" }, peaks: [] });
    expect(during.identity.pid).toBeGreaterThan(0);
    expect(during.clock.monotonic_start_ns).toBe(info.clock.monotonic_start_ns);
  });

  it("carries rank, session, commit and the rates that were reached", async () => {
    const { info } = await measured(node("setTimeout(()=>{},300)"), {
      extraEnv: { RANK: "3", WORLD_SIZE: "8", LOCAL_RANK: "1" },
      commit: "c".repeat(40),
    });
    expect(info.identity).toMatchObject({ rank: 3, local_rank: 1, world_size: 8 });
    expect(info).toMatchObject({ session: "s", commit: "c".repeat(40), run: 1 });
    expect(info.fingerprint).toMatchObject({ backend: "cpu", world_size: 8, allocator_settings: "default" });
    expect(info.clock.duration_s).toBeGreaterThan(0.3);
    const { ticks, host_rate_hz: rate } = info.sampler;
    expect(ticks).toBeGreaterThan(0);
    expect(rate).toBeCloseTo((ticks ?? 0) / (info.clock.duration_s ?? 0), 6);
    expect(info.peaks[0]).toMatchObject({ metric: "host", device: "host", rank: 3 });
    expect(info.peaks[0]?.bytes).toBeGreaterThan(5e6);
  });
});
