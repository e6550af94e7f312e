/**
 * How far the prediction of the largest batch for a size is off: for four models five batches are run and fitted, then
 * the predicted batch is run and its peak compared with the size. Usage: npm run bench:scaling [-- --json] [--publish]
 * [--only MODEL] [--python FILE]. Needs PyTorch and a built dist/. Exits 1 when a limit is missed.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { packageRoot } from "../../src/core/package-root.ts";
import type { Figure } from "../shared/figures.ts";
import { conclude, PUBLISH_OPTIONS } from "../shared/publish.ts";

/** Largest share by which a predicted batch may miss its size. */
const LIMIT = 0.03;

/** Batches that are fitted, as multiples of the smallest, and how many times the last one's peak is to be filled. */
const MULTIPLES = [1, 2, 3, 4, 6];
const BEYOND = 3;

/** The smallest batch of each model: its memory is some tens of MiB. */
const MODELS = { mlp: 1024, cnn: 32, transformer: 32, lstm: 64 } as const;

const { values } = parseArgs({
  options: {
    ...PUBLISH_OPTIONS,
    only: { type: "string", default: "" },
    python: { type: "string", default: "/usr/bin/python3" },
  },
});

interface Fitted {
  readonly metric: string;
  readonly points: readonly { readonly bytes: number }[];
  readonly fits: readonly {
    readonly largest: { readonly value: number; readonly low: number; readonly high: number } | null;
  }[];
}

const directory = mkdtempSync(path.join(tmpdir(), "gate-scaling-"));

function run(model: string, batches: readonly number[], options: readonly string[]): Fitted {
  const bundle = path.join(directory, "bundle");
  rmSync(bundle, { recursive: true, force: true });
  const args = [
    path.join(packageRoot(), "dist", "cli.js"),
    "run",
    `--scenario=${model}`,
    "--baseline=none",
    "--unjudged=pass",
    "--attribute=off",
    "--repeats=1",
    `--bundle=${bundle}`,
    `--vary=BATCH=${batches.join(",")}`,
    ...options,
    "--",
    values.python,
    fileURLToPath(new URL("./models.py", import.meta.url)),
    model,
  ];
  const ended = spawnSync(process.execPath, args, { cwd: directory, encoding: "utf8" });
  if (ended.status !== 0) throw new Error(`${model}: exit ${ended.status}: ${ended.stdout}${ended.stderr}`);
  const report = JSON.parse(readFileSync(path.join(bundle, "report.json"), "utf8")) as {
    readonly payload: { readonly scaling: readonly Fitted[] };
  };
  const [found] = report.payload.scaling;
  if (found === undefined) throw new Error(`${model}: the report has no scaling`);
  return found;
}

function predicted(model: string, smallest: number): Figure {
  const batches = MULTIPLES.map((one) => one * smallest);
  const last = (points: Fitted["points"]): number => points.at(-1)?.bytes ?? Number.NaN;
  // The size follows from the largest batch's peak, so that is run first. Two values are the fewest that vary.
  const size = Math.round(BEYOND * last(run(model, batches.slice(-2), []).points));
  const fitted = run(model, batches, ["--fits", `size=${size}`]);
  const answer = fitted.fits[0]?.largest;
  if (answer == null) throw new Error(`${model}: nothing is predicted`);
  const batch = Math.floor(answer.value);
  const bytes = last(run(model, [batch >> 1, batch], []).points);
  const { low, high } = answer;
  return {
    name: model,
    value: Math.abs(size / bytes - 1),
    interval: null,
    limit: LIMIT,
    unit: "",
    note: `${fitted.metric}, batch ${batch} (${Math.floor(low)} to ${Math.ceil(high)}) for ${(size / 1e6).toFixed(0)} MB`,
  };
}

try {
  const results = Object.entries(MODELS)
    .filter(([model]) => model.includes(values.only))
    .map(([model, smallest]) => predicted(model, smallest));
  process.exitCode = conclude({ bench: "scaling", title: "The largest batch for a size, off by", results }, values);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
