/**
 * One part of what can only be measured on a machine with an NVIDIA GPU. Run through run.sh, which finds Node and
 * Python. Imports only Node and files of this directory: that machine has no packages and no network.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { aaSummary, aaTasks } from "./aa.ts";
import { catalogue, labSummary, PLAINEST } from "./catalogue.ts";
import { costSummary, costTasks } from "./costs.ts";
import {
  type Evidence,
  evidenceFile,
  type JsonObject,
  openEvidence,
  PARTS,
  type Part,
  UsageError,
} from "./evidence.ts";
import { fakeNvml } from "./fakes.ts";
import { labTasks } from "./lab.ts";
import { environment, type Machine, ROOT } from "./machine.ts";
import { oomSummary, oomTasks } from "./oom.ts";
import { peakSummary, peakTasks } from "./peaks.ts";
import { endAll } from "./processes.ts";
import { runTasks, type Task } from "./tasks.ts";

/** Deadline of one call: GPU machines are often available for a limited time only. */
const MINUTES = 8;
/** Beyond the deadline, when a measurement takes longer than estimated, the call ends with what is saved. */
const GRACE_S = 20;
/**
 * Steps of a pattern's run in small mode. The leak is 385 KiB a step beside tens of MiB that come and go within a step:
 * after 30 steps the allocated memory was flat in one run of 70.
 */
const STEPS_SMALL = 120;

const { values } = parseArgs({
  options: {
    part: { type: "string" },
    out: { type: "string", default: "build/gpu-evidence" },
    resume: { type: "boolean", default: false },
    fake: { type: "boolean", default: false },
    minutes: { type: "string", default: String(MINUTES) },
    python: { type: "string", default: "python3" },
    cli: { type: "string", default: path.join(ROOT, "dist", "cli.js") },
    scale: { type: "string" },
    steps: { type: "string" },
    patterns: { type: "string" },
    "at-once": { type: "string", default: "1" },
    runs: { type: "string", default: "30" },
  },
});

function partOf(text: string | undefined): Part {
  const part = PARTS.find((one) => one === text);
  if (part === undefined) throw new UsageError(`--part is one of ${PARTS.join(", ")}`);
  return part;
}

interface Plan {
  readonly settings: JsonObject;
  tasks(evidence: Evidence): Task[];
  summarise(evidence: Evidence): JsonObject;
}

async function planOf(part: Part, machine: Machine): Promise<Plan> {
  switch (part) {
    case "costs":
      return { settings: {}, tasks: () => costTasks(machine), summarise: costSummary };
    case "lab": {
      const wanted = (values.patterns ?? (machine.fake ? PLAINEST : "")).split(",").filter(Boolean);
      const patterns = (await catalogue(machine)).filter(({ name }) => wanted.length === 0 || wanted.includes(name));
      const settings = {
        scale: values.scale ?? (machine.fake ? "tiny" : "article"),
        steps: values.steps === undefined ? (machine.fake ? STEPS_SMALL : null) : Number(values.steps),
        patterns: patterns.map(({ name }) => name),
      };
      const tasks = (evidence: Evidence) => labTasks(machine, evidence, settings, patterns);
      return { settings, tasks, summarise: labSummary };
    }
    case "aa": {
      const settings = { runs: Number(values.runs) };
      return { settings, tasks: (evidence) => aaTasks(machine, evidence, settings), summarise: aaSummary };
    }
    case "oom":
      return { settings: {}, tasks: (evidence) => oomTasks(machine, evidence), summarise: oomSummary };
    case "peaks":
      return { settings: {}, tasks: (evidence) => peakTasks(machine, evidence), summarise: peakSummary };
  }
}

/** Environment without the variables of an outer gate or a developer, which would change the measurement. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(STORMLOG_GATE_|PYTORCH_|GITHUB_|FAKE_)/.test(name));
  return { ...Object.fromEntries(kept), NO_COLOR: "1", PYTHONUNBUFFERED: "1" };
}

function machineAt(work: string, part: Part): Machine {
  const env = cleanEnvironment();
  const out = path.resolve(values.out);
  const common = { python: values.python, cli: path.resolve(values.cli), work, out };
  if (!values.fake) return { ...common, env, cudaEnv: env, fake: false, device: "cuda" };
  const follow = path.join(work, "follow");
  mkdirSync(follow);
  const faked = { ...env, ...fakeNvml(work, follow), FAKE_NVML_FOLLOW: follow };
  const standIn = path.join(ROOT, "test", "probe", "stand-ins", "torch-cuda");
  const cudaEnv = { ...faked, PYTHONPATH: standIn };
  // Where a part needs no real PyTorch, none is loaded: a part in small takes seconds.
  return { ...common, env: part === "costs" ? cudaEnv : faked, cudaEnv, fake: true, device: "cpu" };
}

async function main(): Promise<void> {
  const began = performance.now();
  const part = partOf(values.part);
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new UsageError("--minutes is a number above 0");
  const atOnce = Number(values["at-once"]);
  if (!Number.isInteger(atOnce) || atOnce < 1) throw new UsageError("--at-once is a whole number above 0");
  if (!existsSync(values.cli)) throw new UsageError(`${values.cli} is missing: build it, or name it with --cli`);
  const work = mkdtempSync(path.join(tmpdir(), "gate-gpu-"));
  const stop = (why: string): never => {
    console.error(`bench/gpu: ${why}; what was measured is saved, go on with --resume`);
    endAll();
    rmSync(work, { recursive: true, force: true });
    process.exit(1);
  };
  setTimeout(() => stop(`the ${minutes} minutes are over`), minutes * 60_000 + GRACE_S * 1e3).unref();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop(`ended by ${signal}`));
  try {
    const machine = machineAt(work, part);
    const facts = await environment(machine);
    if (!machine.fake && facts.gpu === null)
      throw new UsageError(`no GPU to measure: ${(facts.problems as string[]).join("; ") || "no CUDA device"}`);
    const plan = await planOf(part, machine);
    const fresh = { hardware: !machine.fake, part, environment: facts, settings: plan.settings };
    const evidence = openEvidence(machine.out, fresh, values.resume);
    const tasks = plan.tasks(evidence);
    const deadline = began + minutes * 60_000;
    await runTasks({
      evidence,
      directory: machine.out,
      tasks,
      deadline,
      atOnce,
      summarise: plan.summarise,
      say: console.error,
    });
    const done = tasks.filter(({ name }) => evidence.measurements[name]?.status === "measured").length;
    console.log(
      `${done} of ${tasks.length} measured, ${evidence.complete ? "complete" : "go on with --resume"}: ${evidenceFile(machine.out, part)}`,
    );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

main().catch((error: unknown) => {
  console.error(`bench/gpu: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
