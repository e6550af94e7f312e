// Releases that do not leak, each judged without a baseline while others run beside it.
import { rmSync } from "node:fs";
import path from "node:path";
import { prepare } from "../../bench/leaks/environments.ts";
import { judge } from "../../bench/leaks/gate.ts";
import { PAIRS, SIZES } from "../../bench/leaks/pairs.ts";
import { packageRoot } from "../../src/core/package-root.ts";
import { draws } from "./stores.ts";

/** Programs that run at once; they wait most of the time. */
const AT_ONCE = 6;
const CACHE = path.join(packageRoot(), "build", "leaks");

export interface ReleaseRound {
  readonly judged: number;
  /** Red, or with a line that was named. */
  readonly wrong: readonly string[];
  /** Why a release was not judged. */
  readonly skipped: readonly string[];
}

/** Judges `count` fixed releases, drawn by the seed, with the programs and the length of the smaller pairs. */
export async function releaseRound(count: number, seed: number, python: string): Promise<ReleaseRound> {
  const draw = draws(seed);
  const drawn = Array.from({ length: count }, () => PAIRS[Math.floor(draw() * PAIRS.length)] ?? PAIRS[0]);
  const wrong: string[] = [];
  const skipped: string[] = [];
  const settings = {
    cli: path.join(packageRoot(), "dist", "cli.js"),
    size: "small",
    seconds: SIZES.small.seconds,
    attribute: "auto",
    baseline: "none",
  } as const;
  const worker = async (slot: number): Promise<void> => {
    for (let pair = drawn.pop(); pair !== undefined; pair = drawn.pop()) {
      const project = prepare(pair, "fixed", python, CACHE);
      if ("skipped" in project) {
        skipped.push(`${pair.name}: ${project.skipped}`);
        continue;
      }
      const bundle = `bundle-${slot}`;
      const result = await judge(pair, project, settings, bundle);
      if (result.kind === "skipped") skipped.push(`${pair.name}: ${result.why}`);
      else if (result.red || result.line !== null) wrong.push(`${pair.name}: ${result.answer}, ${result.line}`);
      rmSync(path.join(project.directory, bundle), { recursive: true, force: true });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, slot) => worker(slot)));
  return { judged: count - skipped.length, wrong, skipped };
}
