import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { availableParallelism, release } from "node:os";
import { helperEnvironment, helperPrograms, runChild } from "../core/process/child.ts";
import { formatBytes, GIB, MIB } from "../core/units.ts";
import { type ProbeTrial, tryProbe } from "../measure/environment/probe-trial.ts";
import { scrubEnvironment } from "../measure/environment/scrub-environment.ts";
import { raiseWall } from "../measure/launch/wall.ts";
import { findPrebuild } from "../sampler/prebuild.ts";
import type { DeviceReport, SourceReport } from "../sampler/sampler.ts";
import { detectSampler, NATIVE_PLATFORMS, type SamplerSupport } from "../sampler/start.ts";
import { type Diagnosis, deviceDiagnoses, joined, row } from "./doctor-devices.ts";
import { detectEnvironment, rootsFrom } from "./host-environment.ts";

async function versionOf(file: string, args: readonly string[], env = helperEnvironment()): Promise<string | null> {
  const { end, stdout, stderr } = await runChild(file, args, { env, timeoutMs: 10_000 });
  return end.kind === "exit" && end.code === 0 ? ((stdout || stderr).trim().split("\n")[0] ?? null) : null;
}

function samplerDiagnosis(sampler: SamplerSupport): Diagnosis {
  if (sampler.kind === "native") return row("sampler", "ok", "native");
  const status = sampler.kind === "missing" ? "missing" : "limited";
  return row("sampler", status, sampler.reason, NATIVE_PLATFORMS);
}

/** Sources of the machine itself. All others read devices. */
const MACHINE_SOURCES: readonly string[] = ["host", "cgroup", "host_shared_once", "host_unmapped", "probe"];

/** Only the host source is `missing` where it is not available. The others are optional. */
function machineDiagnosis({ name, available, reason, capabilities }: SourceReport): Diagnosis {
  const detail = available ? capabilities.join(", ") || "readable" : (reason ?? "not readable");
  return row(name, available ? "ok" : name === "host" ? "missing" : "limited", detail);
}

function directoryDiagnosis(directory: string): Diagnosis {
  try {
    accessSync(directory, constants.W_OK);
  } catch {
    return row(
      "working directory",
      "missing",
      "not writable",
      "Bundles are written here unless --bundle names another directory.",
    );
  }
  const disk = statfsSync(directory);
  const free = disk.bavail * disk.bsize;
  return row(
    "working directory",
    free < 256 * MIB ? "limited" : "ok",
    `writable, ${formatBytes(free)} free`,
    free < GIB ? "An hour of one process at 200 Hz needs about 40 MiB." : null,
  );
}

/** What is measured inside the processes: by the probe in Python, by the preloadable library in other programs. */
function probeDiagnosis(trial: ProbeTrial): Diagnosis {
  const prebuild = findPrebuild();
  const library = !("reason" in prebuild) && existsSync(prebuild.heapLibrary);
  const others = library ? "the heap of other programs with STORMLOG_GATE_HEAP=preload" : null;
  switch (trial.kind) {
    case "attached": {
      const heap = trial.heap?.startsWith("none:") === false ? `heap by ${trial.heap}` : "no heap counters";
      const detail = joined([`loads into Python ${trial.python}`, heap, others]);
      return row("probe", "ok", detail);
    }
    case "no-python":
      return row("probe", others === null ? "limited" : "ok", joined(["python3 not found", others]));
    case "not-attached":
      return row(
        "probe",
        "limited",
        trial.reason,
        "Allocator counters are not read; host memory is still measured from outside.",
      );
    default:
      return trial satisfies never;
  }
}

/** What keeps a measured command from the gate, where that is asked for. */
async function isolationDiagnosis(): Promise<Diagnosis> {
  const { isolation, lower } = await raiseWall("auto", [], process.env);
  lower();
  const { got, reason } = isolation;
  if (got === "user" || got === "sudo") {
    return row("isolation", "ok", `namespaces of the command's own${got === "sudo" ? ", through sudo" : ""}`);
  }
  return row(
    "isolation",
    "limited",
    reason ?? "none",
    "Measure untrusted changes in a job of its own, without secrets.",
  );
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
  const [git, python, torch, trial, isolation] = await Promise.all([
    versionOf(helperPrograms().find("git")?.path ?? "git", ["--version"]),
    versionOf("python3", ["--version"], env),
    versionOf("python3", ["-c", "import importlib.metadata as m; print('torch ' + m.version('torch'))"], env),
    tryProbe(env),
    isolationDiagnosis(),
  ]);
  const findings: readonly Diagnosis[] = [
    row(
      "platform",
      "ok",
      `${process.platform}-${process.arch}, kernel ${release()}, Node ${process.versions.node}, ${availableParallelism()} cores`,
    ),
    samplerDiagnosis(sampler),
    ...sampler.sources.filter(isMachine).map(machineDiagnosis),
    ...deviceDiagnoses(
      sampler,
      sampler.sources.filter((source) => !isMachine(source)),
      here,
    ),
    directoryDiagnosis(directory),
    git === null
      ? row("git", "limited", "not found", "Without git the base commit cannot be re-run before a failing verdict.")
      : row("git", "ok", git),
    probeDiagnosis(trial),
    isolation,
    python === null
      ? row("python", "limited", "python3 not found", "Only needed when the measured command is Python.")
      : row("python", "ok", joined([python, torch])),
  ];
  return { findings, devices: sampler.devices };
}
