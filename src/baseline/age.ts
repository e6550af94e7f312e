import { usageError } from "../core/errors.ts";
import type { Environment } from "../core/process/environment.ts";

const DAY_MS = 86_400_000;

/**
 * Maximum age of the newest comparable run, days. Drivers, images and data change under a baseline that is not
 * refreshed, and each change alone stays below every limit. Half a year is longer than any release train that still
 * measures.
 */
export const MAX_AGE_DAYS = 180;

/** A nightly job writes a ref, so a newest run older than this means that the job has stopped. Only a warning, days. */
export const QUIET_DAYS = 30;

const VARIABLE = "STORMLOG_GATE_BASELINE_MAX_DAYS";

/**
 * Maximum age of a baseline in days, from the environment; null = any age.
 * @throws GateError OPTION_INVALID (usage)
 */
export function maxAgeDays(env: Environment): number | null {
  const text = env[VARIABLE];
  if (text === undefined || text === "") return MAX_AGE_DAYS;
  if (text === "off") return null;
  const days = Number(text);
  if (!Number.isFinite(days) || days <= 0) {
    throw usageError("OPTION_INVALID", `${VARIABLE} is "${text}"`, 'Set a number of days above 0, or "off".');
  }
  return days;
}

/** Days between the newest of some times (ISO 8601) and now; null when none of them can be parsed. */
export function ageDays(times: readonly string[], now: Date): number | null {
  const read = times.map((time) => Date.parse(time)).filter((ms) => !Number.isNaN(ms));
  return read.length === 0 ? null : (now.getTime() - Math.max(...read)) / DAY_MS;
}
