import {
  chmodSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { cli, freshDirectory } from "./cli.ts";

const directory = freshDirectory();
const file = (name: string, content: string | Uint8Array): string => {
  const full = path.join(directory, name);
  writeFileSync(full, content);
  return full;
};

const EVENT = {
  schema_version: 2,
  timestamp_ns: 1700000000000000000,
  event_type: "sample",
  collector: "stormlog.cuda_tracker",
  sampling_interval_ms: 100,
  pid: 1,
  host: "h",
  job_id: null,
  rank: 0,
  local_rank: 0,
  world_size: 1,
  device_id: 0,
  allocator_allocated_bytes: 1,
  allocator_reserved_bytes: 1,
  allocator_active_bytes: null,
  allocator_inactive_bytes: null,
  allocator_change_bytes: 0,
  device_used_bytes: 1,
  device_free_bytes: null,
  device_total_bytes: null,
  context: null,
  metadata: {},
};

describe("bad files", () => {
  it.each([
    ["a missing file", () => path.join(directory, "absent.json"), "INPUT_NOT_FOUND"],
    ["an empty file", () => file("empty.json", ""), "INPUT_EMPTY"],
    ["truncated JSON", () => file("cut.json", JSON.stringify([EVENT]).slice(0, -20)), "INPUT_TRUNCATED"],
    ["a truncated Parquet file", () => file("cut.parquet", "PAR1....notparquet"), "INPUT_TRUNCATED"],
    ["a record file cut inside its header", () => file("cut.rec", "SLGREC\u0001\n1234"), "INPUT_TRUNCATED"],
    [
      "a future telemetry schema",
      () => file("future.json", JSON.stringify([{ ...EVENT, schema_version: 9 }])),
      "INPUT_SCHEMA_VERSION",
    ],
    [
      "a future measurements schema",
      () => file("future-m.json", JSON.stringify({ schema: "stormlog.measurements/9", scenario: "x", runs: [] })),
      "INPUT_SCHEMA_VERSION",
    ],
    ["negative bytes", () => file("negative.csv", "time_s,allocated_bytes\n0,5\n1,-3\n"), "NEGATIVE_BYTES"],
    [
      "a directory that is not a recording",
      () => {
        const full = path.join(directory, "dir");
        mkdirSync(full, { recursive: true });
        return full;
      },
      "INPUT_IS_DIRECTORY",
    ],
    [
      "a file of another kind",
      () => file("noise.bin", Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2, 3])),
      "INPUT_UNKNOWN_FORMAT",
    ],
  ])("%s is exit 5 with a code", async (_name, make, code) => {
    const result = await cli(["analyze", make()], { cwd: directory });
    expect(result.stderr).toMatch(new RegExp(`^error ${code}: `, "m"));
    expect(result.stderr).not.toMatch(/\n\s+at /);
    expect(result.code).toBe(5);
  });

  it("NaN, infinite and empty values are missing, counted, and no reason to stop", async () => {
    const csv = file("missing.csv", "time_s,allocated_bytes\n0,5\n1,NaN\n2,\n3,inf\n4,[N/A]\n5,7\n");
    const result = await cli(["analyze", csv, "--json"], { cwd: directory });
    expect(result.code).toBe(0);
    expect(JSON.parse(result.stdout).missing).toEqual({ allocated_bytes: 4 });
  });

  it("equal and backwards timestamps are read", async () => {
    const csv = file(
      "backwards.csv",
      `time_s,allocated_bytes\n${Array.from({ length: 60 }, (_, i) => `${[0, 0, 5, 3][i % 4]},${1000 + i}`).join("\n")}\n`,
    );
    const result = await cli(["analyze", csv, "--json"], { cwd: directory });
    expect(result.code).toBe(0);
    expect(JSON.parse(result.stdout).series[0].samples).toBe(60);
  });

  it("a 2 GB file of zeros is refused without being read into memory", async () => {
    const full = path.join(directory, "huge.bin");
    const fd = openSync(full, "w");
    ftruncateSync(fd, 2 ** 31);
    closeSync(fd);
    const result = await cli(["analyze", full], { cwd: directory });
    expect(result.code).toBe(5);
    expect(result.stderr).toMatch(/^error INPUT_/m);
  });

  it("--batch continues after a bad file and exits 5", async () => {
    const good = file(
      "good.csv",
      `step,allocated_bytes\n${Array.from({ length: 40 }, (_, i) => `${i},1000`).join("\n")}\n`,
    );
    const result = await cli(["analyze", "--batch", path.join(directory, "absent.csv"), good], { cwd: directory });
    const lines = result.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map((line) => line.file)).toEqual([path.join(directory, "absent.csv"), good]);
    expect(lines[0].error.code).toBe("INPUT_NOT_FOUND");
    expect(lines[1].series[0].class).toBe("flat");
    expect(result.code).toBe(5);
  });
});

describe("bad commands", () => {
  const bundle = (name: string): string => path.join(directory, name);
  const run = (name: string, ...command: string[]) =>
    cli(["run", "--baseline", "none", "--unjudged", "pass", "--bundle", bundle(name), "--", ...command], {
      cwd: directory,
    });
  const recording = (name: string) =>
    JSON.parse(readFileSync(path.join(bundle(name), "runs", "default", "1", "recording.json"), "utf8"));

  it("a command that does not exist is exit 1 and leaves a bundle", async () => {
    const result = await run("absent", "no-such-command-here");
    expect(result.code).toBe(1);
    expect(result.stdout + result.stderr).toContain("COMMAND_NOT_FOUND");
    expect(recording("absent").exit.kind).toBe("not-started");
  });

  it("a command that is not executable is exit 1", async () => {
    const script = file("plain.sh", "#!/bin/sh\n");
    chmodSync(script, 0o644);
    const result = await run("plain", script);
    expect(result.code).toBe(1);
    expect(result.stdout + result.stderr).toContain("COMMAND_NOT_EXECUTABLE");
  });

  it("a command that exits with 7 gives exit 1 and a message with the 7", async () => {
    const result = await run("seven", "sh", "-c", "sleep 0.3; exit 7");
    expect(result.code).toBe(1);
    expect(result.stdout).toMatch(/status 7/);
    expect(recording("seven").exit).toEqual({ kind: "exited", code: 7 });
    expect(statSync(path.join(bundle("seven"), "runs", "default", "1", "samples.parquet")).size).toBeGreaterThan(0);
  });

  it("a command killed by a signal is exit 1 and names the signal", async () => {
    const result = await run("killed", "sh", "-c", "sleep 0.3; kill -SEGV $$");
    expect(result.code).toBe(1);
    expect(result.stdout).toMatch(/SIGSEGV/);
  });

  it("a command that forks 500 children is measured whole", async () => {
    const result = await run("forks", "sh", "-c", "for i in $(seq 500); do sleep 1 & done; wait");
    expect(result.code).toBe(0);
    const events = readFileSync(path.join(bundle("forks"), "runs", "default", "1", "recording.json"), "utf8");
    expect(JSON.parse(events).complete).toBe(true);
  }, 60_000);

  it("a command that prints 1 GB neither stalls nor fills the disk", async () => {
    const result = await cli(
      [
        "run",
        "--json",
        "--baseline",
        "none",
        "--unjudged",
        "pass",
        "--bundle",
        bundle("loud"),
        "--timeout",
        "100",
        "--",
        "sh",
        "-c",
        "head -c 1000000000 /dev/zero | tr '\\0' x",
      ],
      { cwd: directory },
    );
    expect(result.code).toBe(0);
    expect(recording("loud").output.bytes).toBe(1_000_000_000);
    expect(statSync(path.join(bundle("loud"), "runs", "default", "1", "output.log")).size).toBeLessThan(
      2 * 1024 * 1024,
    );
  }, 120_000);

  it("a wrong option is exit 2", async () => {
    const result = await cli(["run", "--bugdet", "host=1GiB", "--", "true"], { cwd: directory });
    expect(result.code).toBe(2);
    expect(result.stderr).toMatch(/^error OPTION_UNKNOWN/m);
  });

  it("a bundle directory that holds something else is never touched", async () => {
    const full = bundle("precious");
    mkdirSync(full);
    writeFileSync(path.join(full, "thesis.tex"), "years of work");
    const result = await run("precious", "true");
    expect(result.code).toBe(2);
    expect(readFileSync(path.join(full, "thesis.tex"), "utf8")).toBe("years of work");
  });
});
