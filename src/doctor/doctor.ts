import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { availableParallelism, release } from "node:os";
import { helperEnvironment, helperPrograms, runChild } from "../core/process/child.ts";
import { formatBytes, GIB, MIB } from "../core/units.ts";
import { type ProbeTrial, tryProbe } from "../measure/environment/probe-trial.ts";
import { scrubEnvironment } from "../measure/environment/scrub-environment.ts";
import { findPrebuild } from "../sampler/prebuild.ts";
import type { DeviceReport, SourceReport } from "../sampler/sampler.ts";
import { detectSampler, NATIVE_PLATFORMS, type SamplerSupport } from "../sampler/start.ts";
import { type Diagnosis, deviceDiagnoses } from "./doctor-devices.ts";
import { detectEnvironment, rootsFrom } from "./host-environment.ts";

async function versionOf(file: string, args: readonly string[], env = helperEnvironment()): Promise<string | null> {
  const { end, stdout, stderr } = await runChild(file, args, { env, timeoutMs: 10_000 });
  return end.kind === "exit" && end.code === 0 ? ((stdout || stderr).trim().split("\n")[0] ?? null) : null;
}

function samplerDiagnosis(sampler: SamplerSupport): Diagnosis {
  if (sampler.kind === "native") return { name: "sampler", status: "ok", detail: "native", hint: null };
  const status = sampler.kind === "missing" ? "missing" : "limited";
  return { name: "sampler", status, detail: sampler.reason, hint: NATIVE_PLATFORMS };
}

/** Sources of the machine itself. All others read devices. */
const MACHINE_SOURCES: readonly string[] = ["host", "cgroup", "host_shared_once", "host_unmapped", "probe"];

/** Only the host source is `missing` where it is not available. The others are optional. */
function machineDiagnosis({ name, available, reason, capabilities }: SourceReport): Diagnosis {
  const detail = available ? capabilities.join(", ") || "readable" : (reason ?? "not readable");
  return { name, status: available ? "ok" : name === "host" ? "missing" : "limited", detail, hint: null };
}

function directoryDiagnosis(directory: string): Diagnosis {
  try {
    accessSync(directory, constants.W_OK);
  } catch {
    return {
      name: "working directory",
      status: "missing",
      detail: "not writable",
      hint: "Bundles are written here unless --bundle names another directory.",
    };
  }
  const disk = statfsSync(directory);
  const free = disk.bavail * disk.bsize;
  return {
    name: "working directory",
    status: free < 256 * MIB ? "limited" : "ok",
    detail: `writable, ${formatBytes(free)} free`,
    hint: free < GIB ? "An hour of one process at 200 Hz needs about 40 MiB." : null,
  };
}

/** What is measured inside the processes: by the probe in Python, by the preloadable library in other programs. */
function probeDiagnosis(trial: ProbeTrial): Diagnosis {
  const prebuild = findPrebuild();
  const library = !("reason" in prebuild) && existsSync(prebuild.heapLibrary);
  const others = library ? "the heap of other programs with STORMLOG_GATE_HEAP=preload" : null;
  switch (trial.kind) {
    case "attached": {
      const heap = trial.heap?.startsWith("none:") === false ? `heap by ${trial.heap}` : "no heap counters";
      const detail = [`loads into Python ${trial.python}`, heap, others].filter((part) => part !== null).join(", ");
      return { name: "probe", status: "ok", detail, hint: null };
    }
    case "no-python":
      return {
        name: "probe",
        status: others === null ? "limited" : "ok",
        detail: ["python3 not found", others].filter((part) => part !== null).join(", "),
        hint: null,
      };
    case "not-attached":
      return {
        name: "probe",
        status: "limited",
        detail: trial.reason,
        hint: "Allocator counters are not read; host memory is still measured from outside.",
      };
    default:
      return trial satisfies never;
  }
}

/** The results of all checks, and the devices found. */
export interface Diagnoses {
  readonly findings: readonly Diagnosis[];
  readonly devices: readonly DeviceReport[];
}

/** Check everything that decides what can be measured on this machine, without changing it. */
export async function diagnose(directory: string): Promise<Diagnoses> {
  const sampler = await detectSampler();
  const isMachine = ({ name }: SourceReport): boolean => MACHINE_SOURCES.includes(name);
  const here = detectEnvironment(rootsFrom(process.env), process.env);
  // As a measured command's.
  const { env } = scrubEnvironment(process.env, {}, "doctor");
  const [git, python, torch, trial] = await Promise.all([
    versionOf(helperPrograms().find("git")?.path ?? "git", ["--version"]),
    versionOf("python3", ["--version"], env),
    versionOf("python3", ["-c", "import importlib.metadata as m; print('torch ' + m.version('torch'))"], env),
    tryProbe(env),
  ]);
  const findings: readonly Diagnosis[] = [
    {
      name: "platform",
      status: "ok",
      detail: `${process.platform}-${process.arch}, kernel ${release()}, Node ${process.versions.node}, ${availableParallelism()} cores`,
      hint: null,
    },
    samplerDiagnosis(sampler),
    ...sampler.sources.filter(isMachine).map(machineDiagnosis),
    ...deviceDiagnoses(
      sampler,
      sampler.sources.filter((source) => !isMachine(source)),
      here,
    ),
    directoryDiagnosis(directory),
    git === null
      ? {
          name: "git",
          status: "limited",
          detail: "not found",
          hint: "Without git the base commit cannot be re-run before a failing verdict.",
        }
      : { name: "git", status: "ok", detail: git, hint: null },
    probeDiagnosis(trial),
    python === null
      ? {
          name: "python",
          status: "limited",
          detail: "python3 not found",
          hint: "Only needed when the measured command is Python.",
        }
      : {
          name: "python",
          status: "ok",
          detail: [python, torch].filter((part) => part !== null).join(", "),
          hint: null,
        },
  ];
  return { findings, devices: sampler.devices };
}
