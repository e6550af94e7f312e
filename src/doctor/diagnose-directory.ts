import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { arch, hostname, platform, release } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { GateError, messageOf } from "../core/errors.ts";
import { makeDirectories } from "../core/files.ts";
import { packageVersion } from "../core/package-root.ts";
import type { DeviceReport } from "../sampler/sampler.ts";
import type { Diagnosis } from "./doctor-devices.ts";

/** `stormlog-diagnose-YYYYMMDD-HHMMSS[-n]` (UTC) below an existing directory, else the directory itself. */
function targetDirectory(output: string, now: Date): string {
  if (!existsSync(output)) return output;
  const stamp = now.toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
  const base = path.join(output, `stormlog-diagnose-${stamp}`);
  for (let n = 0; ; n += 1) {
    const candidate = n === 0 ? base : `${base}-${n}`;
    if (!existsSync(candidate)) return candidate;
  }
}

/**
 * Write a directory in the layout of Stormlog's `diagnose`: environment, a one-second timeline of this process, a
 * summary and a manifest. On a CPU machine fields of an allocator and of a device are null rather than 0.
 * @throws GateError WRITE_FAILED
 */
export async function writeDiagnoseDirectory(
  output: string,
  argv: readonly string[],
  diagnoses: readonly Diagnosis[],
  devices: readonly DeviceReport[],
): Promise<string> {
  const started = new Date();
  const directory = targetDirectory(output, started);
  const timestamps: number[] = [];
  const resident: number[] = [];
  for (let sample = 0; sample < 10; sample += 1) {
    timestamps.push(Date.now() / 1000);
    resident.push(process.memoryUsage.rss());
    await delay(100);
  }
  const risk = diagnoses.some(({ status }) => status === "missing");
  const files: Record<string, unknown> = {
    "environment.json": {
      system: {
        platform: platform(),
        arch: arch(),
        release: release(),
        host: hostname(),
        node: process.versions.node,
        stormlog_gate: packageVersion(),
      },
      gpu: devices,
      fragmentation: null,
      checks: diagnoses,
    },
    "telemetry_timeline.json": { timestamps, allocated: resident, reserved: resident },
    "diagnostic_summary.json": {
      backend: "cpu",
      allocated_bytes: resident.at(-1) ?? null,
      reserved_bytes: resident.at(-1) ?? null,
      peak_bytes: Math.max(...resident),
      total_bytes: null,
      utilization_ratio: null,
      fragmentation_ratio: null,
      num_ooms: 0,
      risk_flags: { oom_occurred: false, high_utilization: false, fragmentation_warning: false },
      suggestions: diagnoses.flatMap(({ name, hint }) => hint?.split("\n").map((line) => `${name}: ${line}`) ?? []),
    },
  };
  const manifest = {
    version: 1,
    created_iso: started.toISOString(),
    command_line: argv.join(" "),
    files: [...Object.keys(files), "manifest.json"],
    exit_code: 0,
    risk_detected: risk,
  };
  try {
    makeDirectories(directory);
    for (const [name, content] of Object.entries({ ...files, "manifest.json": manifest })) {
      await writeFile(path.join(directory, name), `${JSON.stringify(content, null, 2)}\n`);
    }
  } catch (error) {
    throw new GateError("WRITE_FAILED", `${directory} cannot be written: ${messageOf(error)}`, { where: directory });
  }
  return directory;
}
