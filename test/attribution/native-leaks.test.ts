import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { nativeLines } from "../../src/attribution/lines/native-lines.ts";
import { readNativeSamples } from "../../src/attribution/native/native-files.ts";
import { calledPackages } from "../../src/attribution/packages/called-packages.ts";
import type { JudgedGrowth } from "../../src/attribution/run/judged-growth.ts";
import { userFrames } from "../../src/snapshot/model/frames.ts";
import { missingProgram } from "../cluster/testing/program.ts";
import { PYTHONS, versionOf } from "../probe/testing/pythons.ts";
import { attributed, FIXTURES, isSampled, PYTHON } from "./testing/attributed.ts";

const MIB = 2 ** 20;
/** As the fixtures report them: each waits until the documents of one are written. */
const MOMENTS = { kind: "steps", at: [10, 1010, 2010, 3010, 4010, 5010] } as const;
/** The moments lie within; more than the fixtures keep in it, so that no share is cut at 1. */
const GROWTH: JudgedGrowth = {
  device: "host",
  metric: "host",
  stretch: { kind: "growth", unit: "steps", start: 0, onset: 5, end: 5010, bytes: 120 * MIB },
  bytes: 120 * MIB,
  freed: null,
};
async function linesOf(command: readonly [string, ...string[]], cwd: string) {
  const ran = await attributed(command, MOMENTS);
  expect(ran.code, ran.stderr).toBe(0);
  const isUserFrame = userFrames({ root: cwd, exclude: [] });
  const known = ran.attribution.lines;
  const samples = readNativeSamples(ran.directory);
  const lines = await nativeLines({
    samples,
    pipReport: null,
    isUserFrame,
    growths: [GROWTH],
    slowdown: 1,
    known,
  });
  return { lines, notes: samples.notes };
}

const lineWith = (file: string, text: string): number =>
  readFileSync(file, "utf8")
    .split("\n")
    .findIndex((line) => `${line}\n`.includes(text)) + 1;

describe.skipIf(!isSampled)("the growing line of native memory", () => {
  it.skipIf(!existsSync(PYTHON))(
    "the growing line is the Python line that calls malloc, not the one whose blocks are freed",
    async () => {
      const script = path.join(FIXTURES, "native_blocks.py");
      const { lines, notes } = await linesOf([PYTHON, script], FIXTURES);
      expect(notes).toEqual([]);
      expect(lines.map(({ named }) => [named.kind, named.line.file, named.line.line])).toEqual([
        ["leak", script, lineWith(script, "# leaks")],
      ]);
      const [only] = lines;
      expect(only?.site).toMatchObject({ called: "malloc", package: null });
      // 1,200 blocks of 8,000 bytes between two of six moments: 46 MiB in the stretch.
      expect(only?.named.share).toBeGreaterThan(0.2);
      expect(only?.named.share).toBeLessThan(1);
    },
  );

  it.each(PYTHONS.map((python) => [versionOf(python), python] as const))(
    "native samples name the allocating line by the frames of Python %s",
    async (_, { executable }) => {
      const script = path.join(FIXTURES, "native_blocks.py");
      const { directory } = await attributed([executable, script], MOMENTS);
      const { processes, notes } = readNativeSamples(directory);
      expect([notes, processes[0]?.[1][0]?.notes]).toEqual([[], []]);
      const [most] = [...(processes[0]?.[1][0]?.stacks ?? [])].sort((a, b) => b.bytes - a.bytes);
      expect(most?.python).toEqual([
        { file: script, line: lineWith(script, "# leaks"), function: "<module>", called: "malloc" },
      ]);
    },
  );

  it.skipIf(spawnSync(PYTHON, ["-c", "import numpy"]).status !== 0)(
    "the line of a leak names the package whose compiled code makes the objects, where it calls one",
    async () => {
      const script = path.join(FIXTURES, "kept_scalars.py");
      const ran = await attributed([PYTHON, script], MOMENTS);
      expect(ran.code, ran.stderr).toBe(0);
      const { lines } = ran.attribution;
      const samples = readNativeSamples(ran.directory);
      const called = calledPackages(lines, samples, null);
      const found = new Map(lines.map((line) => [line.line, called.get(line)?.name ?? null]));
      expect(found.get(lineWith(script, "# leaks\n"))).toBe("numpy");
      expect(found.get(lineWith(script, "# leaks too"))).toBeNull();
      // Its memory is that of Python's lines, and no other.
      const isUserFrame = userFrames({ root: FIXTURES, exclude: [] });
      const options = { samples, pipReport: null, growths: [GROWTH], slowdown: 1, known: [] };
      expect(await nativeLines({ ...options, isUserFrame })).toEqual([]);
    },
  );

  it.skipIf(missingProgram(["gcc", "addr2line"]) !== null).each([
    ["", []],
    [" whose threads first run when it has reported a step", ["-rdynamic", path.join(FIXTURES, "late_threads.c")]],
  ])("the growing line of a C program%s is found by its debug information", async (_, besides) => {
    const directory = mkdtempSync(path.join(tmpdir(), "gate-native-line-"));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const source = path.join(FIXTURES, "native_blocks.c");
    const program = path.join(directory, "native_blocks");
    expect(spawnSync("gcc", ["-g", "-O1", "-o", program, source, ...besides]).status).toBe(0);
    const { lines } = await linesOf([program], FIXTURES);
    expect(lines.map(({ named, hasLine }) => [hasLine, named.line.file, named.line.line])).toEqual([
      [true, source, lineWith(source, "/* leaks */")],
    ]);
  });

  it.skipIf(missingProgram(["g++", "addr2line"]) !== null).each(["-O0", "-O2"])(
    "the growing line of a C++ program built with %s is its own, not one of the standard library's headers",
    async (optimized) => {
      const directory = mkdtempSync(path.join(tmpdir(), "gate-native-vectors-"));
      onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
      const source = path.join(FIXTURES, "native_vectors.cc");
      const program = path.join(directory, "native_vectors");
      expect(spawnSync("g++", ["-g", optimized, "-o", program, source]).status).toBe(0);
      const { lines } = await linesOf([program], directory);
      expect(lines.map(({ named, hasLine }) => [hasLine, named.line.file, named.line.line])).toEqual([
        [true, source, lineWith(source, "// leaks\n")],
      ]);
    },
  );
});
