import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type Evidence, type JsonObject, results } from "./evidence.ts";
import { gateRun } from "./gate-run.ts";
import { gate, type Machine, ROOT } from "./machine.ts";
import { median, rateAtMost } from "./statistics.ts";
import type { Task } from "./tasks.ts";

/** A baseline's runs in the re-judging, and how often the runs are drawn. */
const BASELINE_RUNS = 5;
const DRAWS = 60;
const DRAWS_SMALL = 2;
const RUNS_SMALL = 3;

export interface AaSettings {
  readonly runs: number;
}

interface Run {
  readonly session: string;
  readonly series: readonly Readonly<Record<string, unknown>>[];
}

/**
 * The same scenario again and again, nothing changed; then every draw of a baseline and a candidate among these runs is
 * judged.
 */
export function aaTasks(machine: Machine, evidence: Evidence, { runs }: AaSettings): Task[] {
  const count = machine.fake ? RUNS_SMALL : runs;
  const steps = machine.fake ? "40" : "400";
  const train = path.join(ROOT, "leak-lab", "walkthrough", "train.py");
  const command = [
    machine.python,
    train,
    "--state",
    "baseline",
    "--device",
    machine.device,
    "--steps",
    steps,
    "--step-ms",
    "4",
  ];
  const tasks: Task[] = [];
  for (let run = 1; run <= count; run++) {
    tasks.push({
      name: `run/${run}`,
      seconds: machine.fake ? 5 : 25,
      run: () =>
        gateRun(
          machine,
          {
            evidence,
            keep: run === 1 ? "run" : null,
            options: [
              "--scenario",
              "aa",
              "--baseline",
              "none",
              "--unjudged",
              "pass",
              "--attribute",
              "off",
              "--repeats",
              "1",
            ],
            command,
            timeoutS: 60,
          },
          (bundle) => ({
            measurements: JSON.parse(readFileSync(path.join(bundle, "measurements.json"), "utf8")) as JsonObject,
          }),
        ),
    });
  }
  tasks.push({ name: "judged", seconds: machine.fake ? 5 : 40, run: () => judgeDraws(machine, evidence) });
  return tasks;
}

/** Pseudo-random numbers that are the same in every call, so that a draw can be repeated. */
function* draws(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** Whether the verdict engine reports a difference between runs of the same code. */
async function judgeDraws(machine: Machine, evidence: Evidence): Promise<JsonObject> {
  const documents = results(evidence, "run/").map(
    ({ result }) => result.measurements as unknown as { fingerprint?: unknown; runs: Run[] },
  );
  const runs = documents.flatMap((one) => one.runs);
  const inBaseline = Math.min(BASELINE_RUNS, runs.length - 1);
  if (inBaseline < 1) throw new Error("there are not two runs yet");
  const random = draws(7);
  const verdicts: Record<string, number> = {};
  const count = machine.fake ? DRAWS_SMALL : DRAWS;
  const write = (name: string, chosen: readonly Run[]): string => {
    const file = path.join(machine.work, name);
    const head = { schema: "stormlog.measurements/1", scenario: "aa", fingerprint: documents[0]?.fingerprint };
    writeFileSync(file, JSON.stringify({ ...head, runs: chosen }));
    return file;
  };
  for (let draw = 0; draw < count; draw++) {
    const order = runs.map((run) => ({ run, at: random.next().value })).sort((a, b) => a.at - b.at);
    const chosen = order.map(({ run }) => run);
    const baseline = write("aa-baseline.json", chosen.slice(0, inBaseline));
    const candidate = write("aa-candidate.json", chosen.slice(inBaseline, inBaseline + 1));
    const judged = await gate(machine, ["judge", "--json", "--baseline", baseline, "--candidate", candidate], {
      timeoutS: 20,
    });
    const { verdict } = JSON.parse(judged.stdout) as { verdict?: string };
    verdicts[verdict ?? "error"] = (verdicts[verdict ?? "error"] ?? 0) + 1;
  }
  return { draws: count, runs: runs.length, baseline_runs: inBaseline, verdicts };
}

export function aaSummary(evidence: Evidence): JsonObject {
  const peaks = new Map<string, number[]>();
  const verdicts: Record<string, number> = {};
  for (const { result } of results(evidence, "run/")) {
    const own = String(result.verdict);
    verdicts[own] = (verdicts[own] ?? 0) + 1;
    for (const series of result.series as readonly JsonObject[]) {
      const name = `${series.metric} on ${series.device}`;
      if (typeof series.peak_bytes === "number") peaks.set(name, [...(peaks.get(name) ?? []), series.peak_bytes]);
    }
  }
  const judged = evidence.measurements.judged;
  const found = judged?.status === "measured" ? (judged.result.verdicts as Record<string, number>) : null;
  const trials = found === null ? 0 : Object.values(found).reduce((sum, one) => sum + one, 0);
  return {
    runs: results(evidence, "run/").length,
    verdicts_without_baseline: verdicts,
    peaks: Object.fromEntries(
      [...peaks].map(([name, bytes]) => {
        const [low, high] = [Math.min(...bytes), Math.max(...bytes)];
        return [
          name,
          {
            runs: bytes.length,
            median_bytes: median(bytes),
            spread_bytes: high - low,
            spread: (high - low) / median(bytes),
          },
        ];
      }),
    ),
    false_alarms: found === null ? null : (found.fail ?? 0),
    draws: trials,
    /** Bound for independent draws, while these share runs. */
    false_alarm_rate_at_most: found === null ? null : rateAtMost(found.fail ?? 0, trials),
  };
}
