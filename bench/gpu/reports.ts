import { readFileSync } from "node:fs";
import path from "node:path";
import type { Json, JsonObject } from "./evidence.ts";

/** Follows keys into an unvalidated document; undefined where a key is missing. */
export function at(document: unknown, ...keys: readonly (string | number)[]): unknown {
  let here = document;
  for (const key of keys) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Record<string | number, unknown>)[key];
  }
  return here;
}

export function list(document: unknown, ...keys: readonly (string | number)[]): readonly unknown[] {
  const found = at(document, ...keys);
  return Array.isArray(found) ? found : [];
}

const plain = (value: unknown): Json =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null;

function pick(document: unknown, keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.map((key) => [key, plain(at(document, key))]));
}

/** Results of the driver and the allocator for each device of a run, from its `recording.json`. */
function deviceFacts(recording: unknown): JsonObject[] {
  return list(recording, "devices").map((device) => ({
    ...pick(device, [
      "name",
      "attribution",
      "attribution_reason",
      "baseline_used_bytes",
      "job_peak_bytes",
      "job_peak_kind",
    ]),
    ...pick(device, ["others_peak_bytes", "rate_hz", "process_lists", "reason"]),
    gap: (at(device, "gap") ?? null) as Json,
  }));
}

/** A report's summary: what was judged and how, the worst series, the line named first. */
export function reportFacts(report: unknown): JsonObject {
  const scenario = at(report, "payload", "scenarios", 0);
  const runs = list(scenario, "runs");
  const candidate = runs.find((one) => at(one, "role") === "candidate");
  const lines = list(scenario, "findings").filter((one) => at(one, "classification") === "leak_line");
  return {
    verdict: plain(at(report, "payload", "verdict")),
    confirmed: plain(at(report, "payload", "confirmed")),
    error: plain(at(scenario, "error", "message") ?? at(scenario, "error")),
    runs: runs.length,
    checks: list(scenario, "judgement", "checks").map((one) =>
      pick(one, [
        "rank",
        "device",
        "metric",
        "aspect",
        "gating",
        "verdict",
        "candidate_bytes",
        "baseline_bytes",
        "threshold_bytes",
        "mde_bytes",
        "reason",
      ]),
    ),
    series: list(candidate, "analysis", "series").map((one) =>
      pick(one, [
        "device",
        "metric",
        "samples",
        "steps",
        "peak_bytes",
        "peak_kind",
        "slope_bytes_per_step",
        "growth_bytes",
        "class",
        "mde_bytes",
      ]),
    ),
    findings: [...new Set(list(scenario, "findings").map((one) => String(at(one, "classification"))))],
    first_line: lines.length === 0 ? null : plain(at(lines[0], "evidence", "line")),
    first_line_share: lines.length === 0 ? null : plain(at(lines[0], "evidence", "share")),
    first_line_source_pattern: lines.length === 0 ? null : plain(at(lines[0], "evidence", "pattern")),
    run_seconds: plain(at(candidate, "info", "clock", "duration_s")),
    device_rate_hz: plain(at(candidate, "info", "sampler", "device_rate_hz")),
    devices: deviceFacts(at(candidate, "info")),
  };
}

/** Whether `file:line` is between the marks of the leak in that file. */
export function insideLeak(file: string, named: string): boolean {
  const colon = named.lastIndexOf(":");
  if (path.basename(named.slice(0, colon)) !== path.basename(file)) return false;
  const line = Number(named.slice(colon + 1));
  const source = readFileSync(file, "utf8").split("\n");
  const begins = source.findIndex((text) => text.includes("# leak begins")) + 1;
  const ends = source.findIndex((text) => text.includes("# leak ends")) + 1;
  return begins > 0 && begins < line && line < ends;
}
