import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { prng } from "../../src/stats/testing/prng.ts";
import { CLEAN_PROGRAMS, type CleanProgram, fillingCaches, PROGRAMS, PYTHON } from "./clean/programs.ts";
import { gated } from "./clean/testing/gated.ts";

/** `npm run soak` draws this many programs instead of the fixed ones. */
const DRAWN = Number(process.env.STORMLOG_TEST_CLEAN_PROGRAMS ?? 0);
const SEED = Number(process.env.STORMLOG_TEST_SEED ?? 1);
/** `npm run soak` judges all caches that fill, in runs of 10 s; else one, in one of 4 s. */
const ALL_CACHES = process.env.STORMLOG_TEST_FILLING_CACHES !== undefined;
const CACHES = fillingCaches(ALL_CACHES ? 500 : 200).filter(({ name }) => ALL_CACHES || name.includes("dict"));
/** A cache that turns over, one jump late in the run, and a service that long pauses break. */
const FIXED = ["python-bounded_cache", "pytorch-late_local", "node-keep-alive-service"];

const hasPython = existsSync(PYTHON);
const hasTorch = hasPython && spawnSync(PYTHON, ["-c", "import torch"]).status === 0;
const runs: Readonly<Record<CleanProgram["runtime"], boolean>> = { node: true, python: hasPython, pytorch: hasTorch };
const available = CLEAN_PROGRAMS.filter(({ runtime }) => runs[runtime]);

/** Different programs in the order of a draw. */
function drawn(count: number, seed: number): readonly CleanProgram[] {
  const { uniform } = prng(seed);
  return available
    .map((program) => ({ program, at: uniform() }))
    .sort((a, b) => a.at - b.at)
    .slice(0, count)
    .map(({ program }) => program);
}

describe("the corpus of programs that do not leak", () => {
  it("lists every program, and each explains what it holds and why that is bounded", () => {
    const listed = new Set([...CLEAN_PROGRAMS, ...CACHES].map(({ command }) => command[1]));
    const files = readdirSync(PROGRAMS, { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(?:py|mjs)$/.test(name) && !/^(?:pace|network)\./.test(path.basename(name)))
      .map((name) => path.join(PROGRAMS, name));
    expect([...listed].sort()).toEqual(files.sort());
    for (const file of files)
      expect(readFileSync(file, "utf8"), file).toMatch(/^(?:"""\n|\/\/ )Holds [\s\S]*?\sBounded(?::| by )/);
  });
});

describe("attribution of a program that does not leak", { timeout: 240_000 }, () => {
  const chosen = DRAWN > 0 ? drawn(DRAWN, SEED) : available.filter(({ name }) => FIXED.includes(name));

  for (const program of chosen) {
    it(`names no line and breaks nothing: ${program.name}`, async (context) => {
      const { verdict, leakLines, exits } = await gated(program);
      expect(leakLines).toEqual([]);
      if (!program.mayFail) expect(verdict).not.toBe("fail");
      expect(exits.filter((exit) => !/ (?:0|timeout)$/.test(exit))).toEqual([]);
      // Where no line could have been named, naming none shows nothing: that is not a try.
      if (exits.some((exit) => exit.endsWith("timeout")))
        context.skip("the limit on its time ended the attribution run");
    });
  }
});

describe("a cache that fills during the whole run", { timeout: 240_000 }, () => {
  it.for(CACHES.filter(({ runtime }) => runs[runtime]))(
    "a cache that fills during the whole run is not failed as a leak: $name",
    async (program) => {
      const { verdict } = await gated(program);
      expect(verdict).not.toBe("fail");
    },
  );
});
