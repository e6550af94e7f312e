import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { CLI, cli, freshDirectory } from "./cli.ts";

const SHORT = ["--", process.execPath, "-e", "setTimeout(() => {}, 150)"];

describe("a new user's first steps", () => {
  const directory = freshDirectory();

  it("finds help with -h, in JSON, and the command in the usage line", async () => {
    const cwd = freshDirectory();
    const short = await cli(["run", "-h"], { cwd });
    expect(short.code).toBe(0);
    expect(short.stdout).toContain("run [options] [-- COMMAND…]");
    const json = await cli(["run", "--help", "--json"], { cwd });
    expect(JSON.parse(json.stdout).help).toBe(short.stdout.trimEnd());
  });

  it("every command that measures is refused without a native library, with the platforms that have one", async () => {
    const cwd = freshDirectory();
    // As on a platform without one.
    const env = { STORMLOG_TEST_PREBUILDS: cwd };
    const refusal = `memory cannot be sampled on this machine: no native build for linux-${process.arch}`;
    const platforms =
      "Memory is sampled on Linux x64 and arm64 (glibc 2.17 or newer, or musl 1.2) and, by ps, on macOS.";
    for (const command of ["run", "record"]) {
      const { code, stdout, stderr } = await cli([command, ...SHORT], { cwd, env });
      expect(code, command).toBe(1);
      const text = (stdout + stderr).replace(/\s+/g, " ");
      expect(text, command).toContain(refusal);
      expect(text, command).toContain(platforms);
    }
    const doctor = await cli(["doctor"], { cwd, env });
    expect(doctor.stdout.replace(/\s+/g, " ")).toContain(
      `sampler no native build for linux-${process.arch} → ${platforms}`,
    );
    expect((await cli(["show"], { cwd, env })).stdout).toContain("SAMPLER_NATIVE_MISSING");
  });

  it("reports that a limit cut the repeats", async () => {
    // All notes: a busy machine adds its own.
    const limited = ["run", "--verbose", "--max-runs", "2", "--repeats"];
    const { stdout } = await cli([...limited, "3", ...SHORT], { cwd: freshDirectory() });
    expect(stdout.replace(/\s+/g, " ")).toMatch(/the limit of 2 runs is reached, so 2 of 3 runs were made/i);
    const whole = await cli([...limited, "2", ...SHORT], { cwd: freshDirectory() });
    expect(whole.stdout).not.toContain("the limit of");
  });

  it.skipIf(process.platform !== "linux")("refuses a bundle that cannot be written before it measures", async () => {
    const cwd = path.join(directory, "bundles");
    mkdirSync(cwd);
    writeFileSync(path.join(cwd, "file"), "");
    // Node never returns from making a directory with its parents below /proc.
    const codes = { "/proc/x": 1, "/sys/x": 1, file: 1, "file/x": 1, ["x".repeat(300)]: 1, "": 2, ".": 2, "/": 2 };
    for (const [bundle, wanted] of Object.entries(codes)) {
      const { code, stdout, stderr } = await cli(["run", "--bundle", bundle, "--", "echo", "measured"], { cwd });
      expect([code, stdout], bundle).toEqual([wanted, ""]);
      expect(stderr, bundle).toMatch(/^error (?:BUNDLE_WRITE_FAILED|NO_PERMISSION|OPTION_INVALID): .*\n {2}.*\n$/);
    }
  });

  it("reports options that follow the command", async () => {
    const { code, stderr } = await cli(["--json", "run", "--", "true"], { cwd: freshDirectory() });
    expect(code).toBe(2);
    expect(stderr).toContain("Options come after the command");
  });

  it("shows no memory for a command that never started", async () => {
    const { code, stdout } = await cli(["run", "--", "no-such-command"], { cwd: directory });
    expect(code).toBe(1);
    expect(stdout).toContain("Check the spelling");
    expect(stdout).not.toMatch(/up to .*iB/);
    const quoted = await cli(["run", "--", "python3 train.py"], { cwd: directory });
    expect(quoted.code).toBe(1);
    expect(quoted.stdout).toContain("Leave out the quotes around the whole command");
  });

  it("shows what the command printed when a baseline run fails", async () => {
    const cwd = freshDirectory();
    const script = "console.error('no such data set'); process.exit(3)";
    const { code, stderr } = await cli(["baseline", "refresh", "--", process.execPath, "-e", script], { cwd });
    expect(code).toBe(1);
    expect(stderr).toContain("│ no such data set");
    expect(existsSync(path.join(cwd, "baselines"))).toBe(false);
  });

  it("keeps baselines beside a config file named from elsewhere, where run looks for them", async () => {
    const cwd = freshDirectory();
    mkdirSync(path.join(cwd, "sub"));
    writeFileSync(path.join(cwd, "sub", "g.yml"), 'scenarios: [{ name: a, run: "sleep 0.1" }]\n');
    const refreshed = await cli(["baseline", "refresh", "--runs", "1", "--config", "sub/g.yml"], { cwd });
    expect(refreshed.stdout).toContain("1 run, 1 session,");
    const { code, stdout } = await cli(["run", "--config", "sub/g.yml"], { cwd });
    expect(code).toBe(6);
    expect(stdout).toContain("The baseline has 1 run");
    expect(stdout).toContain("cli.js baseline refresh --config sub/g.yml");
    expect(refreshed.stdout).toMatch(/The missing 4: .*cli\.js baseline refresh --runs 4 --config sub\/g\.yml$/m);
  });

  it("refuses a scenario whose directory is missing before it measures the others", async () => {
    const cwd = freshDirectory();
    const scenarios = ['{ name: a, run: "sleep 0.1" }', '{ name: b, run: "sleep 0.1", cwd: absent }'];
    writeFileSync(path.join(cwd, "stormlog-gate.yml"), `scenarios: [${scenarios.join(", ")}]\n`);
    const { code, stderr } = await cli(["run"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain("CWD_NOT_FOUND");
    expect(existsSync(path.join(cwd, "stormlog-bundle"))).toBe(false);
  });

  it("does not record over files of another recording", async () => {
    const cwd = freshDirectory();
    writeFileSync(path.join(cwd, "events.json"), "mine");
    const { code, stderr } = await cli(["record", "--output", ".", ...SHORT], { cwd });
    expect(code).toBe(1);
    expect(stderr).toContain("RUN_DIRECTORY_IN_USE");
    expect(readFileSync(path.join(cwd, "events.json"), "utf8")).toBe("mine");
  });

  it("reports that the demo cannot write to the directory", async () => {
    // Not even root can make a directory there.
    const { code, stderr } = await cli(["demo"], { cwd: "/sys" });
    expect(code).toBe(1);
    expect(stderr).toContain("DEMO_FOLDER_UNWRITABLE");
  });

  it("reports that the working directory was deleted", async () => {
    const cwd = freshDirectory();
    const script = `cd "${cwd}" && rmdir "${cwd}" && exec "${process.execPath}" "${CLI}" run -- true`;
    const { status, stderr } = spawnSync("sh", ["-c", script], { encoding: "utf8" });
    expect(status).toBe(1);
    expect(stderr).toContain("CWD_GONE");
  });

  it("reports that the temporary directory is missing", async () => {
    const env = { TMPDIR: "/no/such/directory" };
    const { code, stderr } = await cli(["baseline", "refresh", "--", "true"], { cwd: freshDirectory(), env });
    expect(code).toBe(1);
    expect(stderr).toContain("TEMPORARY_FOLDER_UNWRITABLE");
    expect(stderr).not.toContain("INTERNAL");
  });
});

describe("two gates at once", () => {
  it("two gates at once leave the first one's evidence alone", async () => {
    const cwd = freshDirectory();
    // The first command lasts until the second gate has ended, however long that takes to start.
    const secondEnded = path.join(cwd, "second-ended");
    const waiting = ["sh", "-c", 'until [ -e "$0" ]; do sleep 0.1; done', secondEnded];
    const first = spawn(process.execPath, [CLI, "run", "--", ...waiting], { cwd, stdio: "ignore" });
    const ended = new Promise<number | null>((resolve) => first.on("close", resolve));
    while (!existsSync(path.join(cwd, "stormlog-bundle", "runs"))) await sleep(20);
    const second = await cli(["run", ...SHORT], { cwd });
    writeFileSync(secondEnded, "");
    expect(second.code).toBe(1);
    expect(second.stderr).toContain("BUNDLE_IN_USE");
    expect(await ended).toBe(6);
    const manifest = JSON.parse(readFileSync(path.join(cwd, "stormlog-bundle", "manifest.json"), "utf8"));
    expect(manifest.complete).toBe(true);
    expect(JSON.stringify(manifest.files)).not.toContain(".writing");
  });
});

describe("export", () => {
  it.skipIf(process.platform !== "linux")("fails when it writes to a full disk", async () => {
    const cwd = freshDirectory();
    await cli(["run", ...SHORT], { cwd });
    const script = `exec "${process.execPath}" "${CLI}" export --format csv > /dev/full`;
    const { status, stderr } = spawnSync("sh", ["-c", script], { cwd, encoding: "utf8" });
    expect(status).toBe(1);
    expect(stderr).toContain("OUTPUT_UNWRITABLE");
  });

  it("an export names the column of processes without a unit, and analyze reads the file", async () => {
    const cwd = freshDirectory();
    await cli(["run", ...SHORT], { cwd });
    const { stdout } = await cli(["export", "--format", "csv", "--output", "out.csv"], { cwd });
    expect(stdout).toContain("wrote out.csv");
    const header = readFileSync(path.join(cwd, "out.csv"), "utf8").split("\n")[0];
    expect(header).toContain("processes");
    expect(header).not.toContain("processes_bytes");
    const { code } = await cli(["analyze", "out.csv"], { cwd });
    expect(code).toBe(0);
  });
});

describe("snapshot", () => {
  it("names the line that grows over three snapshots, and exits with 3 where that is asked", async () => {
    const fixtures = path.join(packageRoot(), "test", "snapshot", "fixtures");
    const files = ["04", "08", "12"].map((step) => path.join(fixtures, `leak-step${step}.pickle`));
    const { code, stdout, stderr } = await cli(["snapshot", "--exit-code", ...files], { cwd: freshDirectory() });
    expect(code, stderr).toBe(3);
    expect(stdout).toMatch(/Lines that grow\n.*\n.* train\.py:48 {2}training_step\n/);
  });
});
