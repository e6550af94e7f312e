import path from "node:path";
import { type Evidence, type JsonObject, results } from "./evidence.ts";
import { gateRun } from "./gate-run.ts";
import { gate, type Machine, ROOT } from "./machine.ts";
import { at, insideLeak, list } from "./reports.ts";
import type { Task } from "./tasks.ts";

/** Baseline runs of the fixed state: the minimum for the relative checks. */
const BASELINE_RUNS = 5;
/** Maximum duration of a gated run with a confirmation and the attribution run, seconds. */
export const RUN_S = 60;
/** The pattern whose recordings are kept, and which is run under other allocators as well. */
export const PLAINEST = "tensor_retention";

/** Steps of patterns that would fill a GPU in full length. The slope needs fewer, and `oom` measures the end. */
const FEWER_STEPS: Readonly<Record<string, number>> = { validation_outputs: 150 };

export interface Pattern {
  readonly name: string;
  /** Of the leak lab. */
  readonly file: string;
  /** What the lab expects of it: "caught" or "not-visible". */
  readonly expected: string;
}

export interface LabSettings {
  readonly scale: string;
  /** Null: as many as the scale has. */
  readonly steps: number | null;
  readonly patterns: readonly string[];
}

/** The lab's patterns of PyTorch in one process, as its own command lists them. */
export async function catalogue(machine: Machine): Promise<Pattern[]> {
  const listed = await gate(machine, ["lab", "list", "--json"], { timeoutS: 60 });
  if (listed.code !== 0) throw new Error(`the lab's list ended with ${listed.code}: ${listed.stderr.slice(-500)}`);
  return list(JSON.parse(listed.stdout), "patterns")
    .filter((one) => at(one, "framework") === "torch" && at(one, "ranks") === 1)
    .map((one) => ({
      name: String(at(one, "name")),
      file: path.join(ROOT, "leak-lab", String(at(one, "file"))),
      expected: String(at(one, "expected")),
    }));
}

function command(machine: Machine, settings: LabSettings, { name, file }: Pattern, state: "leaky" | "fixed"): string[] {
  const steps = settings.steps ?? FEWER_STEPS[name];
  const length = steps === undefined ? [] : ["--steps", String(steps)];
  return [machine.python, file, state, "--device", machine.device, "--scale", settings.scale, ...length];
}

export interface LeakyRun {
  readonly evidence: Evidence;
  readonly settings: LabSettings;
  readonly pattern: Pattern;
  readonly options: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly keep: string | null;
}

/** The leaky state under the gate, and whether the first line in the report is one of the leak's. */
export async function leakyRun(machine: Machine, run: LeakyRun): Promise<JsonObject> {
  const { evidence, settings, pattern, options, env, keep } = run;
  // Small mode makes no attribution run.
  const cost = machine.fake ? ["--attribute", "off"] : [];
  const result = await gateRun(machine, {
    evidence,
    keep,
    options: ["--scenario", pattern.name, "--unjudged", "pass", ...cost, ...options],
    command: command(machine, settings, pattern, "leaky"),
    timeoutS: RUN_S * 4,
    env,
  });
  const line = result.first_line;
  return { ...result, first_line_in_leak: typeof line === "string" ? insideLeak(pattern.file, line) : null };
}

/** A state without a judgement is not a measurement, and is tried again by the next call. */
function needsBaseline(evidence: Evidence, name: string): void {
  if (evidence.measurements[`pattern/${name}/baseline`]?.status !== "measured") {
    throw new Error("its baseline is not measured yet");
  }
}

/** Baseline of the fixed state, the fixed state, the leaky one. */
export function patternTasks(machine: Machine, evidence: Evidence, settings: LabSettings, pattern: Pattern): Task[] {
  const { name } = pattern;
  const seconds = machine.fake ? 10 : RUN_S;
  // Kept where a resumed call finds them.
  const store = path.join(machine.out, "lab-baselines");
  const baseline = ["--baseline", `file:${store}`];
  const chain = `pattern/${name}`;
  const keep = (state: string) => (name === PLAINEST || machine.fake ? `${name}-${state}` : null);
  return [
    {
      name: `${chain}/baseline`,
      chain,
      seconds: seconds * 1.5,
      run: async () => {
        const args = [
          "baseline",
          "refresh",
          "--json",
          "--runs",
          String(machine.fake ? 1 : BASELINE_RUNS),
          "--scenario",
          name,
          ...baseline,
        ];
        const ended = await gate(machine, [...args, "--", ...command(machine, settings, pattern, "fixed")], {
          timeoutS: RUN_S * 5,
        });
        if (ended.code !== 0) throw new Error(`the baseline ended with ${ended.code}: ${ended.stderr.slice(-1500)}`);
        return { runs: machine.fake ? 1 : BASELINE_RUNS, seconds: ended.seconds, expected: pattern.expected };
      },
    },
    {
      name: `${chain}/fixed`,
      chain,
      seconds,
      run: async () => {
        needsBaseline(evidence, name);
        return gateRun(machine, {
          evidence,
          keep: keep("fixed"),
          options: ["--scenario", name, "--unjudged", "pass", "--max-runs", "3", "--attribute", "off", ...baseline],
          command: command(machine, settings, pattern, "fixed"),
          timeoutS: RUN_S * 3,
        });
      },
    },
    {
      name: `${chain}/leaky`,
      chain,
      seconds: seconds * 1.5,
      run: async () => {
        needsBaseline(evidence, name);
        return leakyRun(machine, {
          evidence,
          settings,
          pattern,
          options: [...baseline, "--repeats", "1"],
          env: machine.env,
          keep: keep("leaky"),
        });
      },
    },
  ];
}

/** The catalogue in one table. */
export function labSummary(evidence: Evidence): JsonObject {
  const names = [...new Set(results(evidence, "pattern/").map(({ name }) => name.split("/")[1]!))];
  const of = (name: string, state: string): JsonObject | undefined => {
    const one = evidence.measurements[`pattern/${name}/${state}`];
    return one?.status === "measured" ? one.result : undefined;
  };
  return {
    patterns: names.map((name) => {
      const [fixedState, leakyState] = [of(name, "fixed"), of(name, "leaky")];
      return {
        name,
        expected: of(name, "baseline")?.expected ?? null,
        leaky_verdict: leakyState?.verdict ?? null,
        fixed_verdict: fixedState?.verdict ?? null,
        leaky_allocated: allocated(leakyState),
        fixed_allocated: allocated(fixedState),
        first_line: leakyState?.first_line ?? null,
        first_line_in_leak: leakyState?.first_line_in_leak ?? null,
      };
    }),
  };
}

function allocated(state: JsonObject | undefined): JsonObject | null {
  const series = (state?.series ?? []) as readonly JsonObject[];
  const of = series.filter(({ metric }) => metric === "allocated");
  return of.find(({ device }) => device !== "host") ?? of[0] ?? null;
}
