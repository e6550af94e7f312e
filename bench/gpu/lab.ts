import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { type LabSettings, leakyRun, type Pattern, PLAINEST, patternTasks, RUN_S } from "./catalogue.ts";
import type { Evidence, JsonObject } from "./evidence.ts";
import { gateRun } from "./gate-run.ts";
import { gate, type Machine, python, ROOT } from "./machine.ts";
import type { Task } from "./tasks.ts";

/**
 * The real allocator comes first, because least is known about it. Then each pattern: baseline of the fixed state, the
 * fixed state, the leaky one.
 */
export function labTasks(
  machine: Machine,
  evidence: Evidence,
  settings: LabSettings,
  patterns: readonly Pattern[],
): Task[] {
  const small = machine.fake ? ["--small"] : [];
  const inside = (name: string, file: string, env: NodeJS.ProcessEnv = {}): Task => ({
    name,
    seconds: machine.fake ? 5 : 60,
    run: () => python(machine, file, small, { timeoutS: 90, env: { ...machine.cudaEnv, ...env } }),
  });
  const tasks: Task[] = [
    inside("gap/default", "gap.py"),
    inside("gap/expandable_segments", "gap.py", { PYTORCH_CUDA_ALLOC_CONF: "expandable_segments:True" }),
    inside("gap/cudaMallocAsync", "gap.py", { PYTORCH_CUDA_ALLOC_CONF: "backend:cudaMallocAsync" }),
    {
      name: "gap/recorded",
      seconds: machine.fake ? 10 : 90,
      run: () => recordedGap(machine, evidence),
    },
    { ...inside("snapshot", "snapshot.py"), run: () => snapshots(machine, small) },
  ];
  if (!machine.fake) tasks.push({ name: "requested", seconds: 60, run: () => requested(machine, evidence) });
  for (const pattern of patterns) tasks.push(...patternTasks(machine, evidence, settings, pattern));
  const plainest = patterns.find(({ name }) => name === PLAINEST);
  for (const [variant, conf] of [
    ["expandable_segments", "expandable_segments:True"],
    ["cudaMallocAsync", "backend:cudaMallocAsync"],
  ] as const) {
    if (machine.fake || plainest === undefined) continue;
    const env = { ...machine.env, PYTORCH_CUDA_ALLOC_CONF: conf };
    tasks.push({
      name: `variant/${variant}/${PLAINEST}`,
      chain: `variant/${variant}`,
      seconds: RUN_S * 2,
      run: () =>
        leakyRun(machine, {
          evidence,
          settings,
          pattern: plainest,
          // A confirmation, and the repetition that names the line.
          options: ["--baseline", "none", "--max-runs", "3"],
          env,
          keep: null,
        }),
    });
  }
  return tasks;
}

/** The gap's components in the recording, beside those that the process itself observed at the same times. */
async function recordedGap(machine: Machine, evidence: Evidence): Promise<JsonObject> {
  const expected = path.join(machine.work, "gap-expected.json");
  const result = await gateRun(machine, {
    evidence,
    keep: "gap",
    options: ["--scenario", "gap", "--baseline", "none", "--unjudged", "pass", "--attribute", "off", "--repeats", "1"],
    command: [
      machine.python,
      path.join(ROOT, "bench", "gpu", "gap.py"),
      "--slow",
      "--output",
      expected,
      ...(machine.fake ? ["--small"] : []),
    ],
    timeoutS: 120,
    env: machine.cudaEnv,
  });
  return {
    recorded: result.devices ?? null,
    series: result.series ?? null,
    expected: JSON.parse(readFileSync(expected, "utf8")) as JsonObject,
  };
}

/** Metrics that are judged only on request, each with a budget below what the program holds by its own report. */
async function requested(machine: Machine, evidence: Evidence): Promise<JsonObject> {
  const limits = ["fragmentation", "graph_pools", "outside_allocator"].flatMap((name) => ["--budget", `${name}=64MiB`]);
  const result = await gateRun(machine, {
    evidence,
    keep: null,
    options: ["--scenario", "requested", "--baseline", "none", "--attribute", "off", "--repeats", "1", ...limits],
    command: [machine.python, path.join(ROOT, "bench", "gpu", "requested.py")],
    timeoutS: 60,
  });
  return { ...result, expected: JSON.parse(String(result.said)) as JsonObject };
}

/**
 * Snapshots of the real allocator: what they cost to take, how large they are, and what reading them and naming the
 * line takes.
 */
async function snapshots(machine: Machine, small: readonly string[]): Promise<JsonObject> {
  const directory = path.join(machine.work, "snapshots");
  const taken = await python(machine, "snapshot.py", ["--directory", directory, ...small], {
    timeoutS: 120,
    env: machine.cudaEnv,
  });
  const files = readdirSync(directory)
    .filter((name) => name.endsWith(".pickle"))
    .sort()
    .map((name) => path.join(directory, name));
  const read = await gate(machine, ["snapshot", "--json", ...files], { timeoutS: 60 });
  if (read.code !== 0) throw new Error(`reading the snapshots ended with ${read.code}: ${read.stderr.slice(-800)}`);
  const tables = JSON.parse(read.stdout) as {
    growth?: readonly { line?: unknown; trend?: unknown; share?: unknown }[];
  };
  const first = tables.growth?.[0];
  return {
    taken,
    read_seconds: read.seconds,
    lines_that_grow: tables.growth?.length ?? 0,
    first_line: typeof first?.line === "string" ? path.basename(first.line) : null,
  };
}
