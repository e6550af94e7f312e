import { usageError } from "./errors.ts";

/** A day, ISO 8601. */
export const DAY = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;

export const KIB = 1024;
export const MIB = 1024 ** 2;
export const GIB = 1024 ** 3;

export const BINARY_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** Bytes in the largest unit of which they are at least one, or in the next from `limit` of it on. */
function inUnits(bytes: number, limit: number, decimals: (value: number) => number): string {
  let unit = 0;
  let value = Math.abs(bytes);
  while (value >= limit && unit < BINARY_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const text = unit === 0 ? String(Math.round(value)) : value.toFixed(decimals(value));
  return `${bytes < 0 && Number(text) !== 0 ? "-" : ""}${text} ${BINARY_UNITS[unit]}`;
}

/** Bytes as binary units with at most three significant decimals ("1.50 GiB", "512 B", "-3.00 MiB"). */
export function formatBytes(bytes: number): string {
  // 1023.995 would print as "1024.00": move on to the next unit as soon as two decimals would round up to 1024.
  return inUnits(bytes, 1023.995, () => 2);
}

/** Bytes in three significant digits, for screens ("1.50 GiB", "36.9 MiB", "281 KiB", "512 B", "0"). */
export function formatShort(bytes: number): string {
  // 999.5 and more would need a fourth digit.
  return bytes === 0 ? "0" : inUnits(bytes, 999.5, (value) => (value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2));
}

/** A signed size, for differences ("+12.00 MiB"). */
export function formatBytesDelta(bytes: number): string {
  return bytes > 0 ? `+${formatBytes(bytes)}` : formatBytes(bytes);
}

/** Seconds as a person writes them ("850 ms", "12.3 s", "2 min 05 s", "3 h 20 min"). */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, "0")} min`;
}

const SIZE_UNITS: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  k: KIB,
  kb: 1e3,
  kib: KIB,
  m: MIB,
  mb: 1e6,
  mib: MIB,
  g: GIB,
  gb: 1e9,
  gib: GIB,
  t: 1024 ** 4,
  tb: 1e12,
  tib: 1024 ** 4,
  p: 1024 ** 5,
  pb: 1e15,
  pib: 1024 ** 5,
};

/**
 * Parse "512MiB", "1.5 GB", "4096" into bytes (rounded down). KB/MB/GB are decimal, KiB/MiB/GiB and the bare letters
 * binary.
 * @throws GateError SIZE_INVALID (usage)
 */
export function parseSize(text: string): number {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*$/.exec(text);
  const factor = match ? SIZE_UNITS[(match[2] ?? "").toLowerCase()] : undefined;
  const bytes = match && factor !== undefined ? Math.floor(Number(match[1]) * factor) : Number.NaN;
  if (!Number.isSafeInteger(bytes)) {
    throw usageError(
      "SIZE_INVALID",
      `"${text}" is not a size`,
      'Write a number with a unit, for example "512MiB" or "1.5GiB".',
    );
  }
  return bytes;
}

const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|min|h)$/;
const SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, min: 60, h: 3600 };

/** Seconds of "90s", "5m" or "1.5h"; null for any other text. */
export function parseDuration(text: string): number | null {
  const [, value, unit = ""] = DURATION.exec(text.trim()) ?? [];
  const factor = SECONDS[unit];
  return value === undefined || factor === undefined ? null : Number(value) * factor;
}

/** Production length at which growth is judged: 1.3 kB a step is negligible in 400 steps and 1.3 GB in a million. */
export type Horizon =
  | { readonly kind: "steps"; readonly steps: number }
  | { readonly kind: "seconds"; readonly seconds: number };
