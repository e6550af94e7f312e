/**
 * Milliseconds of a run's launch, [without a wall, with one, trial of the wall], in random order. A gate
 * makes the trial once.
 *
 * usage: launch-times ISOLATION ROUNDS DIRECTORY PATH…, which the wall protects
 */

import { launch } from "../../src/measure/launch/launch.ts";
import type { Wall } from "../../src/measure/launch/start-in-session.ts";
import { raiseWall, wallOfRun } from "../../src/measure/launch/wall.ts";
import { loadNative } from "../../src/sampler/native.ts";
import { prng } from "../../src/stats/testing/prng.ts";

const [isolation = "", rounds = "", directory = "", ...paths] = process.argv.slice(2);
const WARMUPS = 3;

/** From the request until the command can go. */
async function launchTime(wall: Wall | null): Promise<number> {
  const began = performance.now();
  const launched = await launch({ argv: ["true"], cwd: directory, env: { PATH: "/usr/bin:/bin" }, wall });
  const taken = performance.now() - began;
  launched.stdout.resume();
  launched.stderr.resume();
  launched.send("q");
  await launched.closed;
  return taken;
}

async function trialTime(): Promise<number> {
  const began = performance.now();
  (await raiseWall("require", paths, process.env)).lower();
  return performance.now() - began;
}

loadNative();
const raised = await raiseWall("require", paths, process.env);
if (raised.isolation.got !== isolation) throw new Error(`isolation is ${raised.isolation.got}, not ${isolation}`);
const wall = wallOfRun(raised, directory, null);
const { uniform } = prng(1);
const times: number[][] = [];
for (let round = 0; round < Number(rounds) + WARMUPS; round++) {
  const taken = [0, 0, 0];
  const work = [() => launchTime(null), () => launchTime(wall), trialTime];
  for (const [at] of work.map((_, index) => [index, uniform()] as const).sort(([, a], [, b]) => a - b))
    taken[at] = await work[at]!();
  if (round >= WARMUPS) times.push(taken);
}
raised.lower();
console.log(JSON.stringify(times));
