import { execFile } from "node:child_process";
import { accessSync, constants, statfsSync } from "node:fs";
import { availableParallelism, release } from "node:os";
import { promisify } from "node:util";
import { formatBytes, GIB, MIB } from "../core/units.ts";
import { type ProbeReport, probeSources } from "../sampler/start.ts";

const execFileAsync = promisify(execFile);

/** One thing that was looked at. `limited` works with less; `missing` does not work at all. */
export interface Diagnosis {
  readonly name: string;
  readonly status: "ok" | "limited" | "missing";
  readonly detail: string;
  /** What to do about it; null when there is nothing to do. */
  readonly hint: string | null;
}

async function versionOf(program: string, args: readonly string[]): Promise<string | null> {
  try {
    const { stdout, stderr } = await execFileAsync(program, args, { timeout: 10_000 });
    return (stdout || stderr).trim().split("\n")[0] ?? null;
  } catch {
    return null;
  }
}

function samplerDiagnosis(probe: ProbeReport): Diagnosis {
  return probe.kind === "native"
    ? { name: "sampler", status: "ok", detail: "native", hint: null }
    : {
        name: "sampler",
        status: "limited",
        detail: probe.reason ?? "plain TypeScript",
        hint: "Host memory is measured all the same; device memory is not.",
      };
}

/** A source that a machine may rightly lack is `limited`, the host source is not. */
function sourceDiagnoses(probe: ProbeReport): Diagnosis[] {
  const sources = probe.sources.map(({ name, available, reason, capabilities }): Diagnosis => {
    const detail = available ? capabilities.join(", ") || "readable" : (reason ?? "not readable");
    const hint =
      available || name !== "nvml"
        ? null
        : "Fine on a machine without an NVIDIA GPU; else install the driver, or pass the GPU into the container.";
    return { name, status: available ? "ok" : name === "host" ? "missing" : "limited", detail, hint };
  });
  const devices = probe.devices.map(({ name, model, total_bytes, uuid }): Diagnosis => {
    const size = total_bytes === null ? "size unknown" : formatBytes(total_bytes);
    return {
      name,
      status: "ok",
      detail: [model ?? "model unknown", size, uuid].filter((part) => part !== null).join(", "),
      hint: null,
    };
  });
  return [...sources, ...devices];
}

function folderDiagnosis(folder: string): Diagnosis {
  try {
    accessSync(folder, constants.W_OK);
  } catch {
    return {
      name: "working directory",
      status: "missing",
      detail: "not writable",
      hint: "Bundles go here unless --bundle names another place.",
    };
  }
  const disk = statfsSync(folder);
  const free = disk.bavail * disk.bsize;
  return {
    name: "working directory",
    status: free < 256 * MIB ? "limited" : "ok",
    detail: `writable, ${formatBytes(free)} free`,
    hint: free < GIB ? "An hour of one process at 200 Hz needs about 40 MiB." : null,
  };
}

/** Look at everything that decides what can be measured on this machine; nothing is changed. */
export async function diagnose(folder: string): Promise<readonly Diagnosis[]> {
  const probe = probeSources();
  const [git, python, torch] = await Promise.all([
    versionOf("git", ["--version"]),
    versionOf("python3", ["--version"]),
    versionOf("python3", ["-c", "import importlib.metadata as m; print('torch ' + m.version('torch'))"]),
  ]);
  return [
    {
      name: "platform",
      status: "ok",
      detail: `${process.platform}-${process.arch}, kernel ${release()}, Node ${process.versions.node}, ${availableParallelism()} cores`,
      hint: null,
    },
    samplerDiagnosis(probe),
    ...sourceDiagnoses(probe),
    folderDiagnosis(folder),
    git === null
      ? {
          name: "git",
          status: "limited",
          detail: "not found",
          hint: "Without git no base commit can be run before a red verdict.",
        }
      : { name: "git", status: "ok", detail: git, hint: null },
    {
      name: "probe",
      status: "limited",
      detail: "this version measures from outside the process",
      hint: "Allocator counters are not read; on a CPU run host memory gates instead.",
    },
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
}
