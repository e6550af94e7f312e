import { codeOf, GateError, messageOf } from "../core/errors.ts";
import { loadNative, startNative } from "./native.ts";
import type { DeviceReport, Sampler, SamplerOptions, SourceReport } from "./sampler.ts";

/** Forces one of the two samplers, for tests and for a machine where the native one misbehaves. */
const SAMPLER_VARIABLE = "STORMLOG_GATE_SAMPLER";

const FALLBACK_LIMITS =
  "the plain JavaScript sampler is used: its samples are late while the gate itself is busy, and devices and cgroups are not read";

function forced(): "native" | "fallback" | null {
  const value = process.env[SAMPLER_VARIABLE];
  if (value === undefined || value === "") return null;
  if (value === "native" || value === "fallback") return value;
  throw new GateError("SAMPLER_UNKNOWN", `${SAMPLER_VARIABLE} is "${value}"`, {
    kind: "usage",
    hint: 'Set it to "native" or "fallback", or leave it out.',
  });
}

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
    kind: "error",
    where: file,
    hint: "Choose a directory that exists, is writable and has space left.",
    cause,
  });
}

function errnoOf(error: unknown): string | null {
  const code = codeOf(error);
  return code !== undefined && /^E[A-Z0-9]+$/.test(code) ? code : null;
}

async function startFallback(options: SamplerOptions, cause: string): Promise<Sampler> {
  const { FallbackSampler } = await import("./fallback.ts");
  try {
    return new FallbackSampler(options, `${cause}; ${FALLBACK_LIMITS}`);
  } catch (error) {
    throw errnoOf(error) === null ? error : unwritable(options.file, error);
  }
}

/**
 * Samples the tree below `rootPid`, natively where possible, else in JavaScript, whose `reason` lists its limits.
 * @throws GateError RECORD_FILE_UNWRITABLE, SAMPLER_PERIOD_INVALID, SAMPLER_UNKNOWN, SAMPLER_NATIVE_MISSING (forced)
 */
export async function startSampler(options: SamplerOptions): Promise<Sampler> {
  const choice = forced();
  const wanted = checked(options);
  if (choice === "fallback") return startFallback(wanted, `${SAMPLER_VARIABLE} asks for it`);
  const native = loadNative();
  if ("addon" in native) {
    try {
      return startNative(native.addon, wanted);
    } catch (error) {
      if (errnoOf(error) !== null) throw unwritable(wanted.file, error);
      const text = messageOf(error);
      if (choice === "native") throw nativeMissing(text);
      return startFallback(wanted, `the native sampler did not start (${text})`);
    }
  }
  if (choice === "native") throw nativeMissing(native.reason);
  return startFallback(wanted, native.reason);
}

function nativeMissing(reason: string): GateError {
  return new GateError("SAMPLER_NATIVE_MISSING", `the native sampler was asked for, but ${reason}`, {
    kind: "error",
    hint: `Unset ${SAMPLER_VARIABLE}, or build it with "npm run build:native".`,
  });
}

export interface ProbeReport {
  readonly kind: "native" | "fallback";
  readonly reason: string | null;
  readonly sources: readonly SourceReport[];
  readonly devices: readonly DeviceReport[];
}

/** What can be sampled on this machine, without starting anything. */
export async function probeSources(): Promise<ProbeReport> {
  const choice = forced();
  const native = choice === "fallback" ? { reason: `${SAMPLER_VARIABLE} asks for it` } : loadNative();
  if ("addon" in native) return { kind: "native", reason: null, ...native.addon.probe() };
  const { fallbackSources } = await import("./fallback.ts");
  return { kind: "fallback", reason: `${native.reason}; ${FALLBACK_LIMITS}`, sources: fallbackSources(), devices: [] };
}
