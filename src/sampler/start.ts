import { codeOf, GateError, messageOf } from "../core/errors.ts";
import { loadNative, startNative } from "./native.ts";
import type { DeviceReport, Sampler, SamplerOptions, SourceReport } from "./sampler.ts";

/** Without native files only macOS is measured, by `ps`. */
const usesPs = process.platform === "darwin";

export const NATIVE_PLATFORMS =
  "Memory is sampled on Linux x64 and arm64 (glibc 2.17 or newer, or musl 1.2) and, by ps, on macOS.";

const PERIOD_MIN_NS = 500_000;
const PERIOD_MAX_NS = 1_000_000_000;

function checked(options: SamplerOptions): SamplerOptions {
  for (const [name, value] of [
    ["host", options.hostPeriodNs],
    ["device", options.devicePeriodNs],
  ] as const) {
    if (!(value >= PERIOD_MIN_NS && value <= PERIOD_MAX_NS)) {
      throw new GateError("SAMPLER_PERIOD_INVALID", `a ${name} period of ${value / 1e6} ms cannot be sampled`, {
        kind: "usage",
        hint: "Choose from 0.5 ms (2 kHz) to 1000 ms (1 Hz).",
      });
    }
  }
  return {
    ...options,
    hostPeriodNs: Math.round(options.hostPeriodNs),
    devicePeriodNs: Math.round(options.devicePeriodNs),
  };
}

function unwritable(file: string, cause: unknown): GateError {
  const code = errnoOf(cause) ?? "unknown error";
  return new GateError("RECORD_FILE_UNWRITABLE", `the record file cannot be created (${code})`, {
    where: file,
    hint: "Choose a directory that exists, is writable and has space left.",
    cause,
  });
}

function errnoOf(error: unknown): string | null {
  const code = codeOf(error);
  return code !== undefined && /^E[A-Z0-9]+$/.test(code) ? code : null;
}

function nativeMissing(reason: string): GateError {
  return new GateError("SAMPLER_NATIVE_MISSING", `memory cannot be sampled on this machine: ${reason}`, {
    hint: `${NATIVE_PLATFORMS} Run the measurement on one of them; reports, merges and comments need no sampler.`,
  });
}

/**
 * Refuses a machine on which nothing can be sampled, before anything is started.
 * @throws GateError SAMPLER_NATIVE_MISSING
 */
export function requireSampler(): void {
  const native = loadNative();
  if ("reason" in native && !usesPs) throw nativeMissing(native.reason);
}

/**
 * Samples the tree below `rootPid`, natively where possible; on macOS otherwise by `ps`.
 * @throws GateError RECORD_FILE_UNWRITABLE, SAMPLER_PERIOD_INVALID, SAMPLER_NATIVE_MISSING
 */
export async function startSampler(options: SamplerOptions): Promise<Sampler> {
  const wanted = checked(options);
  const native = loadNative();
  try {
    if ("addon" in native) return startNative(native.addon, wanted);
    if (!usesPs) throw nativeMissing(native.reason);
    const { PS_LIMITS, PsSampler } = await import("./ps-sampler.ts");
    return new PsSampler(
      wanted,
      `${native.reason}; ${PS_LIMITS}${wanted.ignore === undefined ? "" : "; what is to be ignored counts, too"}`,
    );
  } catch (error) {
    if (errnoOf(error) !== null) throw unwritable(wanted.file, error);
    throw error instanceof GateError ? error : nativeMissing(`the native sampler did not start (${messageOf(error)})`);
  }
}

/** What can be sampled on this machine. "missing": nothing, so that every measurement is refused. */
export type SamplerSupport = {
  readonly sources: readonly SourceReport[];
  readonly devices: readonly DeviceReport[];
} & ({ readonly kind: "native" } | { readonly kind: "fallback" | "missing"; readonly reason: string });

/** Detects it without starting anything. */
export async function detectSampler(): Promise<SamplerSupport> {
  const native = loadNative();
  if ("addon" in native) return { kind: "native", ...native.addon.probe() };
  if (!usesPs) return { kind: "missing", reason: native.reason, sources: [], devices: [] };
  const { PS_LIMITS, PS_SOURCES } = await import("./ps-sampler.ts");
  return { kind: "fallback", reason: `${native.reason}; ${PS_LIMITS}`, sources: PS_SOURCES, devices: [] };
}
