/**
 * What the preloaded library that samples stacks costs a program, as ratios of interleaved pairs. Usage: npm run
 * bench:stacks [-- --json] [--python FILE] [--pairs N]. Exits 1 when a limit is missed.
 */

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { probeEnvironment } from "../../src/measure/environment/probe-environment.ts";
import { PUT_ASIDE_PRELOAD } from "../../src/measure/environment/scrub-environment.ts";
import { type Training, training } from "../shared/paired-segments.ts";

/** End of the 95 % interval of a program's time with the library against without. */
const LIMIT = 1.03;

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    python: { type: "string", default: "python3" },
    pairs: { type: "string", default: "12" },
  },
});

const parent = mkdtempSync(path.join(tmpdir(), "gate-stacks-bench-"));
const own = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const bare = Object.fromEntries(
  Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !/^(STORMLOG_GATE_|PYTHONPATH$)/.test(entry[0]),
  ),
);

/** The environment of a run that looks for a line: with the library alone, or as one that looks for a peak. */
function sampled(mode: "1" | "peak"): NodeJS.ProcessEnv {
  const probe = path.join(parent, mode);
  mkdirSync(probe, { recursive: true });
  const peak = mode === "peak" ? { STORMLOG_GATE_ATTRIBUTE: "peak", STORMLOG_GATE_ATTRIBUTE_AT: "seconds:1,5" } : {};
  const { env, lost } = probeEnvironment({ ...bare, ...peak, STORMLOG_GATE_STACKS: mode }, probe, false);
  const preload = env[PUT_ASIDE_PRELOAD];
  if (preload === undefined) throw new Error(`the library cannot be preloaded here: ${lost.join("; ")}`);
  return { ...env, LD_PRELOAD: preload };
}

/** The environment of the judged run beside it: the probe without the library. */
function judged(): NodeJS.ProcessEnv {
  const probe = path.join(parent, "judged");
  mkdirSync(probe, { recursive: true });
  return probeEnvironment(bare, probe, false).env;
}

function churn(): string | null {
  const program = path.join(parent, "churn");
  return spawnSync("gcc", ["-O2", "-o", program, own("churn.c")]).status === 0 ? program : null;
}

interface Row {
  readonly program: string;
  readonly mode: string;
  readonly measured: Training;
}

async function rows(): Promise<readonly Row[]> {
  const found: Row[] = [];
  const program = churn();
  const hasTorch = spawnSync(values.python, ["-c", "import torch"]).status === 0;
  const loops = [
    ...(program === null
      ? []
      : [{ name: "C, about a million allocations a second", argv: [program] as const, steps: 200_000 }]),
    ...(hasTorch
      ? [{ name: "PyTorch training loop", argv: [values.python, own("../probe/train.py")] as const, steps: 400 }]
      : []),
  ];
  for (const { name, argv, steps } of loops) {
    for (const mode of ["1", "peak"] as const) {
      const pairs = Number(values.pairs);
      const measured = await training(argv, [sampled(mode), judged()], { pairs, steps, segments: 16 });
      found.push({ program: name, mode: mode === "1" ? "stacks" : "stacks, peak", measured });
    }
  }
  return found;
}

try {
  const found = await rows();
  const missed = found.filter(({ measured }) => measured.wall.high > LIMIT);
  if (values.json) console.log(JSON.stringify({ limit: LIMIT, rows: found }, null, 2));
  else {
    for (const { program, mode, measured } of found) {
      const { ratio, low, high } = measured.wall;
      const interval = `95 %: ${low.toFixed(4)} to ${high.toFixed(4)}`;
      const mark = high > LIMIT ? "   MISSED" : "";
      console.log(`${program}, ${mode}: wall ${ratio.toFixed(4)} (${interval})   limit ${LIMIT}${mark}`);
    }
    if (found.length === 0) console.log("skipped: neither gcc nor a Python with PyTorch is here");
  }
  process.exitCode = missed.length > 0 ? 1 : 0;
} finally {
  rmSync(parent, { recursive: true, force: true });
}
