/**
 * What it takes to start the built Action or the command line, as a ratio to an empty Node process, in
 * pairs inside one run; and how much JavaScript each start reads. Usage: npm run bench:start [-- --json] [--node FILE]
 * [--pairs N] [--dist DIR]. Builds into a temporary directory unless a dist directory is given. Exits 1 when a limit is
 * missed.
 */

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { median } from "simple-statistics";
import { buildInto } from "../../scripts/build.mjs";
import { packageRoot } from "../../src/core/package-root.ts";
import { actionNode } from "../../test/action/testing/tools.ts";
import { type Interval, ratioInterval } from "../probe/statistics.ts";
import { STARTS, type Start } from "./starts.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    node: { type: "string", default: actionNode() },
    pairs: { type: "string", default: "60" },
    dist: { type: "string" },
  },
});

interface Timing {
  readonly name: string;
  readonly limit: number;
  /** Median milliseconds from spawn to exit. */
  readonly ms: number;
  readonly bareMs: number;
  readonly ratio: Interval & { readonly ratio: number };
}

const directory = mkdtempSync(path.join(tmpdir(), "gate-start-bench-"));

/** The built code in a directory that it takes for the installed package. */
async function built(): Promise<string> {
  if (values.dist !== undefined) return path.resolve(values.dist);
  const dist = path.join(directory, "dist");
  await buildInto(dist);
  cpSync(path.join(packageRoot(), "package.json"), path.join(directory, "package.json"));
  return dist;
}

function run(args: readonly string[], env: NodeJS.ProcessEnv, wanted: number): number {
  const began = process.hrtime.bigint();
  const { status } = spawnSync(values.node, args, { env, stdio: "ignore", cwd: directory });
  const ms = Number(process.hrtime.bigint() - began) / 1e6;
  if (status !== wanted) throw new Error(`${args.join(" ")} ended with ${status}, not with ${wanted}`);
  return ms;
}

function time(dist: string, start: Start): Timing {
  const fileCommands = Object.fromEntries(
    ["GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY"].map((name) => {
      writeFileSync(path.join(directory, name), "");
      return [name, path.join(directory, name)];
    }),
  );
  const env = { PATH: process.env.PATH, HOME: directory, ...fileCommands, ...start.env };
  const whole = (): number => run([path.join(dist, start.file), ...start.args], env, start.exitCode);
  const bare = (): number => run(["-e", "0"], env, 0);
  for (let i = 0; i < 3; i++) {
    whole();
    bare();
  }
  const pairs: (readonly [number, number])[] = [];
  for (let i = 0; i < Number(values.pairs); i++) {
    // The order alternates: the second process finds warmer caches.
    if (i % 2 === 0) {
      const ours = whole();
      pairs.push([ours, bare()]);
    } else {
      const nothing = bare();
      pairs.push([whole(), nothing]);
    }
  }
  return {
    name: start.name,
    limit: start.limit,
    ms: median(pairs.map(([ours]) => ours)),
    bareMs: median(pairs.map(([, nothing]) => nothing)),
    ratio: ratioInterval(pairs),
  };
}

try {
  mkdirSync(path.join(directory, "temp"));
  const dist = await built();
  const timings = STARTS.filter(({ file }) => existsSync(path.join(dist, file))).map((start) => time(dist, start));
  const missed = timings.filter(({ limit, ratio }) => ratio.high > limit);
  const version = spawnSync(values.node, ["--version"], { encoding: "utf8" }).stdout.trim();
  if (values.json) {
    console.log(JSON.stringify({ node: version, timings, missed: missed.map((m) => m.name) }));
  } else {
    for (const { name, limit, ms, bareMs, ratio } of timings) {
      const interval = `95 %: ${ratio.low.toFixed(2)} to ${ratio.high.toFixed(2)}`;
      const figure = `${ms.toFixed(1)} ms, node -e 0 ${bareMs.toFixed(1)} ms, ratio ${ratio.ratio.toFixed(2)} (${interval})`;
      console.log(`${name}: ${figure}   limit ${limit}`);
    }
    console.log(`${version}, ${values.pairs} pairs each`);
    for (const { name, ratio } of missed) console.log(`MISSED: ${name}: the interval ends at ${ratio.high.toFixed(2)}`);
  }
  process.exitCode = missed.length > 0 ? 1 : 0;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
