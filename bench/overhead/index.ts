/**
 * What the gate adds to a measured command: its wall and CPU time from its start to its exit, in the gate, in the gate
 * without the probe, in the gate behind its wall, and alone, in rounds of random order. As root, all of it runs as an
 * ordinary user, who alone gets a wall. Usage: npm run bench:overhead [-- --json] [--publish]
 * [--pairs N] [--seconds S] [--python FILE] [--only PART-OF-NAME] [--seed N]. The full run takes half an hour; with
 * `--pairs 5 --seconds 2` it takes two minutes, and its intervals are wide. Exits 1 when a limit is missed.
 */

import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { median } from "simple-statistics";
import { packageRoot } from "../../src/core/package-root.ts";
import { AS_USER, canWall, userDirectory } from "../../test/testing/walls.ts";
import { type Figure, type Result, shownFigure } from "../shared/figures.ts";
import { ratioInterval } from "../shared/intervals.ts";
import { conclude, PUBLISH_OPTIONS } from "../shared/publish.ts";
import { type Competitor, type Cost, timedProcesses } from "../shared/timed-processes.ts";
import { type Program, programs } from "./programs.ts";

/** Time of the command in the gate against alone: the end of the 95 % interval. */
const LIMIT = 1.02;
const MODES = ["alone", "gate", "gate without probe", "gate behind a wall"] as const;
type Mode = (typeof MODES)[number];

const { values } = parseArgs({
  options: {
    ...PUBLISH_OPTIONS,
    pairs: { type: "string", default: "20" },
    seconds: { type: "string", default: "10" },
    python: { type: "string", default: "/usr/bin/python3" },
    only: { type: "string", default: "" },
    seed: { type: "string", default: "1" },
  },
});

const directory = userDirectory();
const runOnce = fileURLToPath(new URL("run_once.py", import.meta.url));
const cli = path.join(packageRoot(), "dist", "cli.js");
const env = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(STORMLOG_|PYTHON(PATH|DONTWRITEBYTECODE)$|CI$|GITHUB_|HOME$)/.test(name),
  ),
);
env.HOME = directory;

const measuredFile = (mode: Mode): string => path.join(directory, mode.replaceAll(" ", "-"));

function costsOf(mode: Mode): readonly Cost[] {
  return readFileSync(measuredFile(mode), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

function competitor(mode: Mode, argv: readonly string[]): Competitor<Mode> {
  const command = ["/usr/bin/python3", "-I", runOnce, measuredFile(mode), ...argv];
  if (mode === "alone") return { name: mode, argv: [...AS_USER, ...command], env };
  const probe = mode === "gate without probe" ? "off" : "auto";
  const isolation = mode === "gate behind a wall" ? "require" : "off";
  const options = ["--baseline", "none", "--unjudged", "pass", "--repeats", "1", "--base-run", "off"];
  const bundle = path.join(directory, "bundle");
  const gate = [cli, "run", ...options, "--probe", probe, "--isolation", isolation, "--bundle", bundle];
  return { name: mode, argv: [...AS_USER, process.execPath, ...gate, "--", ...command], env };
}

/** Work that takes about the wanted time alone. */
async function amount(program: Program): Promise<number> {
  const rounds = { rounds: 3, warmups: 1, seed: 1, cwd: directory };
  const time = async (units: number): Promise<number> => {
    const argv = [...program.argv, String(units)];
    const taken = await timedProcesses([{ name: "alone", argv, env }], rounds);
    return Math.min(...taken.alone.map(([wall]) => wall));
  };
  const [little, much] = [await time(Math.ceil(program.trial / 4)), await time(program.trial)];
  const perUnit = (much - little) / (program.trial - Math.ceil(program.trial / 4));
  const start = Math.max(0, much - perUnit * program.trial);
  return Math.max(1, Math.round((Number(values.seconds) * 1e3 - start) / perUnit));
}

async function measure(program: Program): Promise<readonly Figure[]> {
  const argv = [...program.argv, String(await amount(program))];
  const modes = MODES.filter((mode) => canWall || mode !== "gate behind a wall");
  for (const mode of modes) rmSync(measuredFile(mode), { force: true });
  const rounds = Number(values.pairs);
  await timedProcesses(
    modes.map((mode) => competitor(mode, argv)),
    { rounds, warmups: 1, seed: Number(values.seed), cwd: directory },
  );
  // The first one is the warm-up.
  const [alone, gate, withoutProbe, walled] = modes.map((mode) => costsOf(mode).slice(1));
  if (alone === undefined || gate === undefined || withoutProbe === undefined) throw new Error("a mode is missing");
  for (const costs of [gate, withoutProbe, walled ?? gate])
    if (costs.length !== rounds) throw new Error("the gate ran the command more than once");
  const seconds = (median(alone.map(([wall]) => wall)) / 1e3).toFixed(1);
  const compared = (what: string, costs: readonly Cost[], under = alone): readonly Figure[] =>
    (["wall", "CPU"] as const).map((clock, at) => {
      const { ratio, ...interval } = ratioInterval(costs.map((cost, i) => [cost[at]!, under[i]![at]!] as const));
      const name = `${program.name} of ${seconds} s ${what}, ${clock} time`;
      return { name, value: ratio, interval, limit: LIMIT, unit: "" };
    });
  const figures = [
    ...compared("in the gate", gate),
    ...compared("in the gate without its probe", withoutProbe),
    ...(walled === undefined ? [] : compared("in the gate behind its wall, against no wall", walled, gate)),
  ];
  if (!values.json) for (const figure of figures) console.error(`${figure.name}: ${shownFigure(figure)}`);
  return figures;
}

try {
  const results: Result[] = [];
  for (const program of programs(values.python, directory)) {
    if (!program.name.includes(values.only)) continue;
    if ("skipped" in program) results.push(program);
    else results.push(...(await measure(program)));
  }
  const title = `What the gate adds to a command, ${values.pairs} rounds`;
  process.exitCode = conclude({ bench: "overhead", title, results }, values);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
