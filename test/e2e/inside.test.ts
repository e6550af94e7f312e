import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { MeasuredSeries } from "../../src/analysis/measurements.ts";
import { cli } from "./cli.ts";
import { type Gated, gate, linesOf, lineWith, repositoryWith } from "./gated.ts";

const PYTHON = "/usr/bin/python3";
const hasPython = existsSync(PYTHON);
const hasTorch = hasPython && spawnSync(PYTHON, ["-c", "import torch"]).status === 0;
const hasCompiler = spawnSync("gcc", ["--version"]).status === 0;
/** `npm run soak` tries more often. */
const LEAKY_TRIES = Number(process.env.STORMLOG_TEST_HEAP_TRIES ?? 1);
const CLEAN_TRIES = Number(process.env.STORMLOG_TEST_HEAP_CLEAN_TRIES ?? 1);
const HORIZON = ["--horizon", "1000000"];
/** For what needs a breach and its line, and no confirmation. */
const ONCE = ["--repeats", "1"];

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

/** Series of the candidate's runs, as they were judged. */
function judgedSeries({ bundle }: Gated): readonly (readonly MeasuredSeries[])[] {
  const measurements = JSON.parse(readFileSync(path.join(bundle, "measurements.json"), "utf8"));
  return measurements.runs.map(({ series }: { series: readonly MeasuredSeries[] }) => series);
}

const of = (series: readonly MeasuredSeries[], metric: string): MeasuredSeries | undefined =>
  series.find((one) => one.device === "host" && one.metric === metric);
const growthFindings = ({ findings }: Gated): readonly string[] =>
  findings.flatMap(({ classification, severity }) => (severity === "info" ? [] : [classification]));

describe.skipIf(!hasTorch || process.platform !== "linux")("a CPU training that keeps 32 x 10 logits a step", () => {
  const place = "retained_logits.py";
  const program = (state: string): string[] => [PYTHON, place, state];
  let cwd = "";
  /** Bytes a step by the C library's own account, in a run outside the gate. */
  let truth = Number.NaN;

  beforeAll(() => {
    cwd = repositoryWith("test/probe/fixtures/retained_logits.py", place);
    const alone = spawnSync(PYTHON, [place, "leaky"], { cwd, encoding: "utf8" });
    truth = Number(/^truth (\S+) 400$/m.exec(alone.stdout)?.[1]);
    expect(truth).toBeGreaterThan(1280);
  });

  it(`a leaky training is a leak at a horizon of a million steps, in ${LEAKY_TRIES} of ${LEAKY_TRIES} tries`, async () => {
    for (let attempt = 0; attempt < LEAKY_TRIES; attempt += 1) {
      const run = await gate(cwd, program("leaky"), [...HORIZON, "--attribute", "off"]);
      expect(run.code).toBe(4);
      expect(run.verdict).toBe("fail");
      expect(run.checks).toContainEqual(
        expect.objectContaining({ device: "host", metric: "allocated", aspect: "class", verdict: "fail" }),
      );
      for (const series of judgedSeries(run)) {
        const heap = of(series, "allocated");
        expect(heap?.class).toBe("leak");
        expect(Math.abs((heap?.slope_bytes_per_step ?? 0) / truth - 1)).toBeLessThan(0.1);
      }
      expect(run.info.probe?.processes).toMatchObject([{ framework: "torch", heap: "mallinfo2" }]);
      expect(run.runs.filter((name) => !/^\d+$/.test(name))).toEqual([]);
      expect(linesOf(run)).toEqual([]);
    }
  }, 600_000);

  it("a leaky training has no finding and does not fail without a horizon", async () => {
    const run = await gate(cwd, program("leaky"));
    expect(run.verdict).not.toBe("fail");
    expect(run.code).not.toBe(4);
    expect(run.findings, JSON.stringify(run.findings)).toEqual([]);
    expect(run.runs).toEqual(["1"]);
  });

  it(`passes in one run without a leak, in ${CLEAN_TRIES} of ${CLEAN_TRIES} tries`, async () => {
    for (let attempt = 0; attempt < CLEAN_TRIES; attempt += 1) {
      const run = await gate(cwd, program("clean"), [...HORIZON, "--budget", "host=16GiB"]);
      expect(growthFindings(run), JSON.stringify(run.findings)).toEqual([]);
      expect(run.verdict).toBe("pass");
      for (const series of judgedSeries(run)) {
        expect(series.map(({ class: label }) => label)).not.toContain("leak");
        expect(of(series, "allocated")?.slope_bytes_per_step).toBeLessThan(100);
      }
      expect(run.runs).toEqual(["1"]);
    }
  }, 1_800_000);

  it("names the leaking line in the terminal, the summary and the SARIF export", async () => {
    const run = await gate(cwd, program("leaky"), [...HORIZON, ...ONCE]);
    const line = lineWith(cwd, place, "kept.append");
    expect(run.runs).toContain("attribution-1");
    const [first] = linesOf(run);
    expect(first).toMatchObject({ severity: "critical", device: "host" });
    expect(first?.evidence).toMatchObject({ line, code: "kept.append(logits.detach())", pattern: "kept-activations" });
    expect(Number(first?.evidence.share)).toBeGreaterThan(0.8);
    expect(Math.abs(Number(first?.evidence.bytes_per_step) / truth - 1)).toBeLessThan(0.25);
    expect(run.stderr).toContain(line);
    expect(readFileSync(path.join(run.bundle, "summary.md"), "utf8")).toContain(`**${line}**`);
    const sarif = JSON.parse((await cli(["export", run.bundle, "--format", "sarif"], { cwd })).stdout);
    const places = sarif.runs[0].results.flatMap(
      ({ locations = [] }: { locations?: { physicalLocation: unknown }[] }) => locations,
    );
    expect(places).toContainEqual({
      physicalLocation: {
        artifactLocation: expect.objectContaining({ uri: place }),
        region: expect.objectContaining({ startLine: Number(line.split(":")[1]) }),
      },
    });
  });
});

describe.skipIf(process.platform !== "linux")("the line that leaks", () => {
  const named = async (
    source: string,
    place: string,
    command: readonly string[],
    text: string,
    prepare: (cwd: string) => Readonly<Record<string, string>> = () => ({}),
  ): Promise<Gated> => {
    const cwd = repositoryWith(source, place);
    const run = await gate(cwd, command, ONCE, prepare(cwd));
    expect(run.code).toBe(4);
    expect(run.runs).toContain("attribution-1");
    expect(linesOf(run)[0]?.evidence.line, run.stderr).toBe(lineWith(cwd, place, text));
    return run;
  };

  /** A package that keeps half of what it is given, and a change of the lock file since the main branch. */
  const withPackage = (cwd: string): Readonly<Record<string, string>> => {
    const packages = path.join(cwd, "env", "lib", "site-packages");
    const write = (directory: string, file: string, text: string): void => {
      mkdirSync(directory, { recursive: true });
      writeFileSync(path.join(directory, file), text);
    };
    const source = "kept = {}\n\ndef keep(body):\n    kept[len(kept)] = bytes(body[:32768])\n";
    write(path.join(packages, "hoard"), "__init__.py", source);
    write(path.join(packages, "Hoard-1.2.3.dist-info"), "RECORD", "hoard/__init__.py,sha256=x,9\n");
    write(path.join(packages, "Hoard-1.2.3.dist-info"), "METADATA", "Name: Hoard\nVersion: 1.2.3\n");
    const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"];
    write(cwd, "requirements.txt", "hoard==1.0.0\nother==1\n");
    for (const args of [
      ["add", "requirements.txt"],
      [...identity, "commit", "-q", "-m", "Lock"],
      ["branch", "-f", "before"],
    ]) {
      expect(spawnSync("git", args, { cwd }).status).toBe(0);
    }
    write(cwd, "requirements.txt", "hoard==1.2.3\nother==2\n");
    return { PYTHONPATH: packages, STORMLOG_GATE_BASE: "before" };
  };

  it.skipIf(!hasPython)(
    "the leaking line of plain Python is named below the top of the repository, with its package",
    async () => {
      const place = "service/keep_bytes.py";
      const program = [PYTHON, place, "leaky"];
      const run = await named("test/e2e/fixtures/keep_bytes.py", place, program, "history.append", withPackage);
      const [line, owned] = linesOf(run);
      expect(line).not.toHaveProperty("package");
      expect(owned?.evidence.line).toBe(lineWith(run.cwd, place, "hoard.keep"));
      expect(owned?.package).toEqual({ ecosystem: "python", name: "Hoard", version: "1.2.3", relation: "called" });
      expect(owned?.description).toMatch(/(?:kept|allocated) in Hoard 1\.2\.3/);
      const { stdout } = await cli(["show", "-v", run.bundle], { cwd: run.cwd });
      expect(stdout).toContain("2 locked packages changed since the base commit: hoard 1.0.0 -> 1.2.3, other 1 -> 2.");
      expect(line?.evidence).toMatchObject({ function: "serve", pattern: "growing-container" });
      expect(line?.evidence.allocated_at).toBe(lineWith(run.cwd, place, "return bytearray"));
    },
  );

  it.skipIf(!hasPython)("warns where it is a known leak of an installed package, until its day", async () => {
    const place = "service/keep_bytes.py";
    const cwd = repositoryWith("test/e2e/fixtures/keep_bytes.py", place);
    const env = withPackage(cwd);
    const known = { package: "hoard", versions: ["1.2.3"], at: "keep", limit: "16MiB/s", reason: "1.2.4 is not out" };
    const config = {
      scenarios: [{ name: "service", run: [PYTHON, place, "clean"] }],
      policy: { "known-leaks": [{ ...known, until: "2999-01-01" }] },
    };
    writeFileSync(path.join(cwd, "stormlog-gate.yml"), JSON.stringify(config));
    const run = await cli(["run", "--baseline", "none", ...ONCE], { cwd, env });
    expect(run.code, run.stderr).toBe(0);
    expect(run.stderr + run.stdout).toContain("Known leak of hoard 1.2.3 at keep until 2999-01-01: 1.2.4 is not out");
    const shown = await cli(["export", "stormlog-bundle", "--format", "junit"], { cwd });
    expect(shown.stdout).not.toContain("<failure");
  });

  it("the leaking line of a Node program is named", async () => {
    const place = "sessions.cjs";
    await named("test/e2e/fixtures/sessions.cjs", place, [process.execPath, place, "leaky"], "sessions.set(");
  });
});

describe.skipIf(!hasPython || process.platform !== "linux")("an interpreter that ignores its environment", () => {
  const program = ["-I", "-c", "import time; kept = bytearray(b'x') * 30_000_000; time.sleep(0.8)"];
  const source = "test/e2e/fixtures/keep_bytes.py";

  it("an interpreter that ignores its environment is measured from outside, and the recording gives the reason", async () => {
    const run = await gate(repositoryWith(source, "x.py"), [PYTHON, ...program], ["--budget", "host=16GiB"]);
    expect(run.verdict).toBe("pass");
    const probe = run.info.sources.find(({ name }) => name === "probe");
    expect(probe).toMatchObject({ available: false, reason: expect.stringContaining("-I") });
    const [series = []] = judgedSeries(run);
    expect(of(series, "host")?.peak_bytes).toBeGreaterThan(30_000_000);
    expect(of(series, "allocated")).toBeUndefined();
  });

  it("fails where the probe is required", async () => {
    const run = await gate(repositoryWith(source, "x.py"), [PYTHON, ...program], ["--probe", "require"]);
    expect(run.code).toBe(1);
    expect(run.stderr + run.stdout).toContain("PROBE_NOT_ATTACHED");
    expect(run.stderr + run.stdout).toContain("-I");
  });

  it("costs nothing where the probe is off", async () => {
    const command = [
      PYTHON,
      "-c",
      "import os, time; time.sleep(0.6); print(os.environ.get('STORMLOG_GATE_PROBE_DIR'))",
    ];
    const run = await gate(repositoryWith(source, "x.py"), command, ["--probe", "off", "--budget", "host=16GiB"]);
    expect(run.verdict).toBe("pass");
    expect(readFileSync(path.join(run.bundle, "runs", "default", "1", "output.log"), "utf8")).toBe("None\n");
    expect(of(judgedSeries(run)[0] ?? [], "allocated")).toBeUndefined();
  });
});

describe.skipIf(!hasCompiler || process.platform !== "linux")("a C program with the heap preloaded", () => {
  it("leaks 4 KiB at every step that it writes to its step file", async () => {
    const cwd = repositoryWith("test/e2e/fixtures/keep_blocks.c", "keep_blocks.c");
    expect(spawnSync("gcc", ["-g", "-O1", "-o", "keep_blocks", "keep_blocks.c"], { cwd }).status).toBe(0);
    const preload = { STORMLOG_GATE_HEAP: "preload" };
    const leaky = await gate(cwd, ["./keep_blocks", "leaky"], HORIZON, preload);
    expect(leaky.code).toBe(4);
    const heap = of(judgedSeries(leaky)[0] ?? [], "allocated");
    expect(heap?.class).toBe("leak");
    expect(Math.abs((heap?.slope_bytes_per_step ?? 0) / 4112 - 1)).toBeLessThan(0.05);
    const large = await gate(cwd, ["./keep_blocks", "leaky", "400", "262144"], ONCE, preload);
    expect(linesOf(large)[0]?.evidence.line, large.stderr).toBe(lineWith(cwd, "keep_blocks.c", "malloc(size)"));
    expect(Math.abs(Number(linesOf(large)[0]?.evidence.bytes_per_step) / 262160 - 1)).toBeLessThan(0.1);
    const clean = await gate(cwd, ["./keep_blocks", "clean"], HORIZON, preload);
    expect(clean.verdict).not.toBe("fail");
    expect(of(judgedSeries(clean)[0] ?? [], "allocated")?.class).toBe("flat");
    const without = await gate(cwd, ["./keep_blocks", "clean"], HORIZON);
    expect(of(judgedSeries(without)[0] ?? [], "allocated")).toBeUndefined();
  });
});
