import { readFileSync } from "node:fs";
import path from "node:path";
import { type Evidence, type JsonObject, results } from "./evidence.ts";
import { gateRun } from "./gate-run.ts";
import { gate, type Machine, program } from "./machine.ts";
import { at, list } from "./reports.ts";
import type { Task } from "./tasks.ts";

/** The variable that makes the peak of `peaks.py` higher, and the category that holds the difference. */
const TWINS = [
  { variable: "BATCH", value: "8192", category: "activations" },
  { variable: "OPTIMIZER", value: "adam", category: "optimizer_state" },
  { variable: "KEPT", value: "1", category: null },
] as const;

/** Batches of which the peaks are fitted, and the memory for which the largest batch is predicted. */
const BATCHES = [1024, 2048, 3072, 4096, 6144];
const FITS_BYTES = 40e9;

/** Kept where a resumed call finds it. */
const stored = (machine: Machine): readonly string[] => [
  "--scenario",
  "peaks",
  "--baseline",
  `file:${path.join(machine.out, "peak-baseline")}`,
];
const command = (machine: Machine): readonly string[] => [machine.python, program("peaks.py"), machine.device];

export function peakTasks(machine: Machine, evidence: Evidence): Task[] {
  const tasks: Task[] = [{ name: "baseline", seconds: 60, run: () => baseline(machine) }];
  // In small one program shows that the documents are read.
  for (const twin of machine.fake ? TWINS.slice(0, 1) : TWINS)
    tasks.push({ name: `explained/${twin.variable}`, seconds: 30, run: () => explained(machine, evidence, twin) });
  if (!machine.fake) tasks.push({ name: "scaling", seconds: 60, run: () => predicted(machine, evidence) });
  return tasks;
}

async function baseline(machine: Machine): Promise<JsonObject> {
  const args = ["baseline", "refresh", "--json", "--composition", ...stored(machine), "--", ...command(machine)];
  const ended = await gate(machine, args, { timeoutS: 200 });
  if (ended.code !== 0) throw new Error(`the baseline ended with ${ended.code}: ${ended.stderr.slice(-1500)}`);
  return { seconds: ended.seconds };
}

/** The lines of the program that a variable makes larger. */
function marked(variable: string): readonly string[] {
  const lines = readFileSync(program("peaks.py"), "utf8").split("\n");
  return lines.flatMap((line, index) => (line.endsWith(`# [${variable}]`) ? [`peaks.py:${index + 1}`] : []));
}

const number = (value: unknown): number => (typeof value === "number" ? value : 0);
const sum = (rows: readonly unknown[]): number =>
  rows.reduce<number>((total, row) => total + number(at(row, "bytes")) - number(at(row, "compared_bytes")), 0);

/** The larger program against the baseline: the report of the difference. */
async function explained(machine: Machine, evidence: Evidence, twin: (typeof TWINS)[number]): Promise<JsonObject> {
  const { variable, value, category } = twin;
  if (evidence.measurements.baseline?.status !== "measured") throw new Error("the baseline is not measured yet");
  return gateRun(
    machine,
    {
      evidence,
      keep: null,
      options: [...stored(machine), "--repeats", "1", "--unjudged", "pass"],
      command: command(machine),
      timeoutS: 120,
      env: { ...machine.env, [variable]: value },
    },
    (bundle) => {
      const scenario = at(
        JSON.parse(readFileSync(path.join(bundle, "report.json"), "utf8")),
        "payload",
        "scenarios",
        0,
      );
      const peak = at(scenario, "peak");
      const first = list(scenario, "findings").find((one) => at(one, "classification") === "peak_line");
      const line = at(first, "evidence", "line");
      const difference = number(at(peak, "bytes")) - number(at(peak, "compared_bytes"));
      const categories = list(peak, "categories");
      return {
        peak: (peak ?? null) as JsonObject | null,
        difference_bytes: difference,
        first_line: typeof line === "string" ? path.basename(line) : null,
        first_line_right: typeof line === "string" ? marked(variable).includes(path.basename(line)) : null,
        first_category: (at(categories[0], "name") ?? null) as string | null,
        first_category_right: category === null ? null : at(categories[0], "name") === category,
        explained_share: difference > 0 ? sum([at(peak, "explained")]) / difference : null,
        categories_share: difference > 0 ? sum(categories) / difference : null,
      };
    },
  );
}

/** The largest batch for a size by the peaks of five smaller ones, and the peak of a run with that batch. */
async function predicted(machine: Machine, evidence: Evidence): Promise<JsonObject> {
  const run = (values: readonly number[], options: readonly string[]) => {
    let scaling: unknown;
    return gateRun(
      machine,
      {
        evidence,
        keep: null,
        options: [
          "--scenario=scaling",
          "--baseline=none",
          "--unjudged=pass",
          "--attribute=off",
          "--repeats=1",
          `--vary=BATCH=${values.join(",")}`,
          ...options,
        ],
        command: command(machine),
        timeoutS: 200,
        // The first steps reach the peak.
        env: { ...machine.env, STEPS: "4" },
      },
      (bundle) => {
        scaling = at(JSON.parse(readFileSync(path.join(bundle, "report.json"), "utf8")), "payload", "scaling", 0);
        return {};
      },
    ).then(() => scaling as JsonObject);
  };
  const fitted = await run(BATCHES, ["--fits", `card=${FITS_BYTES}`]);
  const largest = Math.floor(number(at(fitted, "fits", 0, "largest", "value")));
  if (largest === 0) throw new Error(`nothing was predicted: ${JSON.stringify(fitted).slice(0, 500)}`);
  const tried = await run([Math.floor(largest / 2), largest], []);
  const bytes = number(at(tried, "points", 1, "bytes"));
  return { fitted, largest, peak_bytes: bytes, error: bytes === 0 ? null : FITS_BYTES / bytes - 1 };
}

export function peakSummary(evidence: Evidence): JsonObject {
  const twins = results(evidence, "explained/").map(({ name, result }) => ({
    name: name.slice("explained/".length),
    difference_bytes: result.difference_bytes ?? null,
    first_line_right: result.first_line_right ?? null,
    first_category_right: result.first_category_right ?? null,
    explained_share: result.explained_share ?? null,
    categories_share: result.categories_share ?? null,
  }));
  const [scaling] = results(evidence, "scaling");
  return { twins, prediction_error: scaling?.result.error ?? null };
}
