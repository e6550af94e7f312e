/**
 * What it takes to start the built Action or the command line, as a ratio to an empty Node process in pairs inside one
 * run, how many modules a command loads before its work, and how much later a measured command starts behind a wall.
 * Usage: npm run bench:start [-- --json] [--publish] [--node FILE] [--pairs N] [--dist DIR] [--only PART-OF-NAME].
 * Builds into a temporary directory unless a dist directory is given. Of the commands' help the slowest is reported,
 * with --only all of them. Exits 1 when a limit is missed.
 */

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { buildInto } from "../../scripts/build.mjs";
import { packageRoot } from "../../src/core/package-root.ts";
import { actionNode } from "../../test/action/testing/tools.ts";
import { type Figure, shownFigure } from "../shared/figures.ts";
import { ratioInterval } from "../shared/intervals.ts";
import { conclude, PUBLISH_OPTIONS } from "../shared/publish.ts";
import { type Cost, timedProcesses } from "../shared/timed-processes.ts";
import { moduleFigures } from "./modules.ts";
import { STARTS, type Start } from "./starts.ts";
import { WALLS, wallFigures } from "./walls.ts";

const { values } = parseArgs({
  options: {
    ...PUBLISH_OPTIONS,
    node: { type: "string", default: actionNode() },
    pairs: { type: "string", default: "40" },
    dist: { type: "string" },
    only: { type: "string", default: "" },
  },
});

const directory = mkdtempSync(path.join(tmpdir(), "gate-start-bench-"));

/** The built code in a directory that it takes for the installed package. */
async function built(): Promise<string> {
  if (values.dist !== undefined) return path.resolve(values.dist);
  const dist = path.join(directory, "dist");
  await buildInto(dist);
  cpSync(path.join(packageRoot(), "package.json"), path.join(directory, "package.json"));
  cpSync(path.join(packageRoot(), "dist/prebuilds"), path.join(dist, "prebuilds"), { recursive: true });
  return dist;
}

async function time(dist: string, start: Start): Promise<Figure> {
  const fileCommands = Object.fromEntries(
    ["GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY"].map((name) => {
      writeFileSync(path.join(directory, name), "");
      return [name, path.join(directory, name)];
    }),
  );
  const env = { PATH: process.env.PATH, HOME: directory, ...fileCommands, ...start.env };
  const taken = await timedProcesses(
    [
      { name: "ours", argv: [values.node, path.join(dist, start.file), ...start.args], env, status: start.exitCode },
      { name: "bare", argv: [values.node, "-e", "0"], env },
    ],
    { rounds: Number(values.pairs), warmups: 3, seed: 1, cwd: directory },
  );
  const compared = (at: 0 | 1): Figure => {
    const of = (costs: readonly Cost[], round: number): number => costs[round]![at];
    const { ratio, ...interval } = ratioInterval(
      taken.ours.map((_, round) => [of(taken.ours, round), of(taken.bare, round)] as const),
    );
    return { name: start.name, value: ratio, interval, limit: start.limit, unit: "" };
  };
  return { ...compared(0), note: `CPU ${shownFigure(compared(1))}` };
}

const highEnd = ({ value, interval }: Figure): number => interval?.high ?? value;

/** The slowest of many starts in the place of all. */
function slowestOf(figures: readonly Figure[]): readonly Figure[] {
  const [first] = figures;
  if (first === undefined) return [];
  const slowest = figures.reduce((worst, next) => (highEnd(next) > highEnd(worst) ? next : worst), first);
  return [{ ...slowest, name: `${slowest.name}, the slowest of ${figures.length} that print a text` }];
}

try {
  const walls = WALLS.includes(values.only) ? wallFigures(Number(values.pairs)) : [];
  const dist = await built();
  const steps: Figure[] = [];
  const texts: Figure[] = [];
  for (const start of STARTS) {
    if (!existsSync(path.join(dist, start.file)) || !start.name.includes(values.only)) continue;
    (start.file === "cli.js" ? texts : steps).push(await time(dist, start));
  }
  const results =
    values.only === ""
      ? [...steps, ...slowestOf(texts), ...(await moduleFigures(values.node, dist)), ...walls]
      : [...steps, ...texts, ...walls];
  const node = spawnSync(values.node, ["--version"], { encoding: "utf8" }).stdout.trim();
  const title = `Starts, as ratios to \`node -e 0\`, Node ${node.slice(1, 3)}`;
  process.exitCode = conclude({ bench: "start", title, results, node }, values);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
