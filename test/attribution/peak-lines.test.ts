import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { peakEnvironment } from "../../src/attribution/peak/explain-peak.ts";
import { higherLines } from "../../src/attribution/peak/name-peak-lines.ts";
import { type PeakOfRun, peakOfRun } from "../../src/attribution/peak/peak-of-run.ts";
import { peakReport } from "../../src/attribution/peak/peak-report.ts";
import { packageRoot } from "../../src/core/package-root.ts";
import type { Metric } from "../../src/telemetry/recording/metrics.ts";
import type { Check } from "../../src/verdict/model/judgement.ts";
import { missingProgram } from "../cluster/testing/program.ts";
import { FIXTURES, hasTorch, inRunDirectory, isSampled, PYTHON, STAND_INS } from "./testing/attributed.ts";

const TWINS = path.join(packageRoot(), "leak-lab", "peaks");
const MIB = 2 ** 20;
/** Program, judged metric and the category that is larger; null where no tensor is involved. */
const TWINS_IN_PYTHON = [
  ["duplicated_dataset", "host", null],
  ["late_cache", "allocated", null],
] as const;
const TWINS_IN_TORCH = [
  ["larger_batch", "allocated", "activations"],
  ["optimizer_states", "allocated", "optimizer_state"],
] as const;
/** Tried by soak. */
const MORE_TWINS = [
  ["longer_sequence", "allocated", "activations"],
  ["checkpointing_off", "allocated", "activations"],
  ["eager_attention", "allocated", "temporary"],
  ["library_upgrade", "host", null],
] as const;
const triesAll = process.env.STORMLOG_TEST_PEAK_TWINS === "all";
const shownTwins = [...TWINS_IN_PYTHON, ...(hasTorch ? [...TWINS_IN_TORCH, ...(triesAll ? MORE_TWINS : [])] : [])];

async function held(
  argv: readonly [string, ...string[]],
  metric: Metric,
  endAfterMoments?: number,
): Promise<PeakOfRun> {
  const ran = await inRunDirectory(
    argv,
    peakEnvironment({ command: { kind: "argv", argv }, metric, durationS: 4 }, {}),
    endAfterMoments === undefined ? {} : { endAfterMoments },
  );
  if (endAfterMoments === undefined) expect(ran.code, ran.stderr).toBe(0);
  const notes: string[] = [];
  const run = { directory: ran.directory, recording: null };
  const peak = await peakOfRun(run, {
    device: "host",
    metric,
    root: TWINS,
    other: TWINS,
    warn: (note) => notes.push(note),
  });
  expect(notes).toEqual([]);
  return peak;
}

const total = ({ parts }: PeakOfRun): number => parts.reduce((sum, { bytes }) => sum + bytes, 0);

/** The lines of a file that are marked as the cause. */
function marked(file: string): readonly string[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.flatMap((line, at) => (/(?:#|\/\/) higher/.test(line) ? [`${path.basename(file)}:${at + 1}`] : []));
}

describe("the lines that make a peak of Node higher", () => {
  it.each(["response_cache", "read_buffers"])(
    "the lines of %s explain the difference of the peak",
    { timeout: 60_000 },
    async (name) => {
      const file = path.join(TWINS, `${name}.mjs`);
      const before = await held([process.execPath, file], "host");
      const after = await held([process.execPath, file, "--after"], "host");
      const difference = total(after) - total(before);
      expect(difference).toBeGreaterThan(10 * MIB);
      const named = higherLines(after.parts, before.parts, difference);
      expect(named.map(({ line }) => `${line.at.file}:${line.at.line}`)[0]).toBe(marked(file)[0]);
      expect(named.reduce((all, { share }) => all + share, 0)).toBeGreaterThan(0.95);
      // A difference far smaller than any check's margin.
      const again = await held([process.execPath, file, "--after"], "host");
      expect(higherLines(again.parts, after.parts, 2 * MIB)).toEqual([]);
    },
  );
});

describe.skipIf(!isSampled || !existsSync(PYTHON))("the lines that make a peak higher", () => {
  it.each(shownTwins)(
    "the lines of %s and their category explain the difference of the peak",
    { timeout: 120_000 },
    async (name, metric, category) => {
      const file = path.join(TWINS, `${name}.py`);
      const before = await held([PYTHON, file], metric);
      const after = await held([PYTHON, file, "--after"], metric);
      const difference = total(after) - total(before);
      expect(difference).toBeGreaterThan(10 * MIB);
      const named = higherLines(after.parts, before.parts, difference);
      expect(marked(file)).toContain(named.map(({ line }) => `${line.at.file}:${line.at.line}`)[0]);
      const check = { rank: 0, device: "host", metric, candidate_bytes: total(after) } as Check;
      const { categories, phases, lines } = peakReport(check, after, { kind: "base", ...before, difference });
      if (category === null) expect(categories).toEqual([]);
      else expect(categories[0]?.name).toBe(category);
      for (const rows of [phases, ...(category === null ? [] : [categories])]) {
        const sum = rows.reduce((bytes, row) => bytes + row.bytes - (row.compared_bytes ?? 0), 0);
        expect(Math.abs(sum - difference)).toBeLessThan(0.001 * difference);
      }
      const lineSum = lines.reduce((bytes, row) => bytes + row.bytes - (row.compared_bytes ?? 0), 0);
      expect(Math.abs(lineSum - difference)).toBeLessThan(0.02 * difference);
      expect(named.reduce((all, { share }) => all + share, 0)).toBeGreaterThan(0.95);
    },
  );

  it.each(triesAll ? shownTwins : shownTwins.slice(0, 1))(
    "two runs that differ only in the draw of the samples name no line: %s",
    { timeout: 60_000 },
    async (name, metric) => {
      const file = path.join(TWINS, `${name}.py`);
      const one = await held([PYTHON, file, "--after"], metric);
      const other = await held([PYTHON, file, "--after"], metric);
      // A difference far smaller than any check's margin.
      expect(higherLines(one.parts, other.parts, 2 * MIB)).toEqual([]);
      const check = { rank: 0, device: "host", metric, candidate_bytes: total(one) } as Check;
      const difference = total(one) - total(other);
      for (const category of peakReport(check, one, { kind: "base", ...other, difference }).categories)
        expect(Math.abs(category.bytes - (category.compared_bytes ?? 0)), category.name).toBeLessThan(2 * MIB);
    },
  );

  it("Codes.find returns functions that its first search did not include", () => {
    const script = [
      "import json, sys, textwrap",
      "from _stormlog_probe.attribute.codes import Codes",
      "codes = Codes()",
      "for one in (json.dumps, textwrap.dedent):",
      "    codes.find({id(one.__code__)})",
      "    assert codes.found[id(one.__code__)] is one.__code__",
    ].join("\n");
    const env = { PYTHONPATH: path.join(packageRoot(), "probe", "inject") };
    expect(spawnSync(PYTHON, ["-c", script], { env, encoding: "utf8" }).stderr).toBe("");
  });

  it("the probe's own memory counts neither in the samples nor in the heap", () => {
    const script = [
      "import json, os, sys, tempfile",
      "from _stormlog_probe.attribute.frames import Stacks",
      "from _stormlog_probe.attribute.native import NativeStacks, _OURS",
      "class Library:",
      "    def stormlog_stacks_write(self, raw, moment, step):",
      "        stacks = [{'bytes': 300, 'python': [[1, 1, 1, 1, 1]]}, {'bytes': 700, 'python': [[2, 2, 2, 2, 2]]}]",
      "        with open(raw, 'w') as file:",
      "            json.dump({'stacks': stacks, 'total_bytes': 1000, 'heap_bytes': 1200}, file)",
      "        return 1",
      "native = NativeStacks(Stacks())",
      "native._library = Library()",
      "native._places = {(1, 1, 1, 1, 1): _OURS, (2, 2, 2, 2, 2): ['main.py', 4, 'main', None]}",
      "with tempfile.TemporaryDirectory() as directory:",
      "    native.write(os.path.join(directory, 'a'), 0, None)",
      "    print(open(os.path.join(directory, 'a.native.0.json')).read())",
    ].join("\n");
    const env = { PYTHONPATH: path.join(packageRoot(), "probe", "inject") };
    const { stdout } = spawnSync(PYTHON, ["-c", script], { env, encoding: "utf8" });
    expect(JSON.parse(stdout)).toEqual({
      stacks: [{ bytes: 700, python: [["main.py", 4, "main", null]] }],
      total_bytes: 700,
      heap_bytes: 900,
    });
  });

  it("the lines of a killed program are recorded", { timeout: 60_000 }, async () => {
    const file = path.join(TWINS, "duplicated_dataset.py");
    const { parts } = await held(
      [
        PYTHON,
        "-c",
        `import sys; sys.path.insert(0, ${JSON.stringify(TWINS)})
import duplicated_dataset, time
rows = duplicated_dataset.read(60000)
data = duplicated_dataset.tokenised(rows)
time.sleep(60)`,
      ],
      "host",
      5,
    );
    expect(parts.slice(0, 2).map(({ at }) => `${at.file}:${at.line}`)).toContain(marked(file)[0]);
  });

  it("the search for lines is safe while other threads fill tuples", { timeout: 60_000 }, () => {
    // A tuple that is held elsewhere cannot be resized: with the collector's list of objects the program ends.
    const script = path.join(FIXTURES, "tuples_and_codes.py");
    const ran = (how: string) => spawnSync(PYTHON, [script, path.join(packageRoot(), "probe", "inject"), how]).status;
    expect([ran("codes"), ran("containers"), ran("collector")]).toEqual([0, 0, 1]);
  });

  // No device here: a stand-in with the private calls of torch. The snapshots are real pickles.
  it("the lines of a device's peak are found by its allocator's history", { timeout: 60_000 }, async () => {
    const file = path.join(FIXTURES, "device_peak.py");
    const env = { STANDIN_TORCH: "today", PYTHONPATH: path.join(STAND_INS, "torch-history") };
    const side = async (...args: readonly string[]) => {
      const argv = [PYTHON, file, ...args] as const;
      const run = { command: { kind: "argv", argv }, metric: "allocated", durationS: 4 } as const;
      const ran = await inRunDirectory(argv, peakEnvironment(run, {}), { env });
      expect(ran.code, ran.stderr).toBe(0);
      const where = { device: "cuda:0", metric: run.metric, root: FIXTURES, other: FIXTURES, warn: () => {} };
      return (await peakOfRun({ directory: ran.directory, recording: null }, where)).parts;
    };
    const [before, after] = [await side(), await side("--after")];
    const [first] = higherLines(after, before, 4 * MIB);
    expect(first).toMatchObject({
      line: { at: { file: "device_peak.py" }, bytes: 7 * MIB },
      before: 3 * MIB,
      share: 1,
    });
    expect(first?.line.stack.map(({ function: name }) => name)).toContain("attend");
  });

  it.skipIf(missingProgram(["gcc", "addr2line"]) !== null)(
    "the lines of a C program's peak are found by its debug information",
    async () => {
      const directory = mkdtempSync(path.join(tmpdir(), "gate-peak-line-"));
      onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
      const source = path.join(FIXTURES, "native_peak.c");
      const program = path.join(directory, "native_peak");
      expect(spawnSync("gcc", ["-g", "-O1", "-o", program, source]).status).toBe(0);
      const { parts } = await held([program], "allocated");
      const wanted =
        readFileSync(source, "utf8")
          .split("\n")
          .findIndex((line) => line.includes("/* higher */")) + 1;
      expect(parts[0]).toMatchObject({
        at: { file: source, line: wanted },
        bytes: 48_000_000,
        variance: expect.any(Number),
      });
    },
  );
});
