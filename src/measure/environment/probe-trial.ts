import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import type { Environment } from "../../core/process/environment.ts";
import { readProbeInfos } from "../../telemetry/reading/probe-files.ts";
import { PROBE_FOLDER } from "../../telemetry/recording/run-files.ts";
import { probeEnvironment } from "./probe-environment.ts";

/** Whether the probe works here. */
export type ProbeTrial =
  | { readonly kind: "attached"; readonly python: string; readonly heap: string | null }
  | { readonly kind: "not-attached"; readonly reason: string }
  | { readonly kind: "no-python" };

/** Start a short Python process like a measured command, and check whether the probe attaches. */
export async function tryProbe(env: Environment): Promise<ProbeTrial> {
  const parent = await mkdtemp(path.join(tmpdir(), "stormlog-gate-probe-"));
  try {
    const directory = path.join(parent, PROBE_FOLDER);
    await mkdir(directory);
    const own = Object.fromEntries(
      Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    const probe = probeEnvironment(own, directory, false);
    if (probe.missing !== null) return { kind: "not-attached", reason: probe.missing };
    try {
      // The probe leaves its first file after a fraction of a second.
      await promisify(execFile)("python3", ["-c", "import time; time.sleep(0.4)"], {
        env: probe.env,
        timeout: 10_000,
        killSignal: "SIGKILL",
      });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return { kind: "no-python" };
      return { kind: "not-attached", reason: `python3 does not run here (${String(code ?? error)})` };
    }
    const [info] = readProbeInfos(parent);
    if (info === undefined) return { kind: "not-attached", reason: "python3 does not load it" };
    const { python, heap, error } = info.process;
    if (error !== null) return { kind: "not-attached", reason: error };
    return { kind: "attached", python: python ?? "?", heap };
  } finally {
    await rm(parent, { recursive: true, force: true });
  }
}
