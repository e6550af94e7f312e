import { type BigIntStats, fstatSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { messageOf } from "../core/errors.ts";
import { findPrebuild } from "./prebuild.ts";
import type { DeviceReport, LiveView, Sampler, SamplerOptions, SamplerStats, SourceReport } from "./sampler.ts";

/** Identifies a running native sampler. */
type Handle = unknown;

/** Exports of `sampler.node`; `native/binding.cc` is the other side. */
export interface NativeAddon {
  start(options: SamplerOptions): Handle;
  /** timeNs, rss, host, peakHost, processes, deviceUsed, ticks, missed; NaN where unknown. */
  live(handle: Handle): Float64Array;
  stop(handle: Handle): SamplerStats;
  readRecords(handle: Handle, into: Uint8Array): number;
  checkRecords(handle: Handle): { readonly intact: boolean; readonly written: number; readonly descriptor: number };
  closeRecords(handle: Handle): void;
  info(handle: Handle): {
    readonly monotonicStartNs: bigint;
    readonly epochNs: bigint;
    readonly sources: readonly SourceReport[];
    readonly devices: readonly DeviceReport[];
  };
  /** Waits for drivers at most `timeoutMs` in all (5 s). */
  probe(options?: { readonly timeoutMs?: number }): {
    readonly sources: readonly SourceReport[];
    readonly devices: readonly DeviceReport[];
  };
  /** `prctl(PR_SET_DUMPABLE)` of this process. */
  setDumpable(dumpable: boolean): void;
  /** Opens the vendors' libraries for good, from the system's directories alone. */
  openLibraries(): void;
  /** `prctl(PR_SET_CHILD_SUBREAPER)` of this process. Returns whether it is one now. */
  adoptOrphans(): boolean;
  /** Takes the exit status of a child that has ended; false when it has not, or is not a child. */
  reap(pid: number): boolean;
}

type Loaded = { readonly addon: NativeAddon } | { readonly reason: string };
let loaded: Loaded | undefined;

/** The native addon, loaded once, or the reason in one line. */
export function loadNative(): Loaded {
  loaded ??= load();
  return loaded;
}

function load(): Loaded {
  const prebuild = findPrebuild();
  if ("reason" in prebuild) return prebuild;
  try {
    return { addon: createRequire(import.meta.url)(prebuild.addon) };
  } catch (error) {
    const [line] = messageOf(error).split("\n");
    return { reason: `the native sampler does not load (${line})` };
  }
}

/**
 * Forbids this user's other processes to read this process's memory and environment, which contain a CI job's tokens.
 * Without effect for root's processes and without the native addon. Returns null, or the reason why it has none.
 */
export function denyInspection(): string | null {
  const native = loadNative();
  if (!("addon" in native)) return native.reason;
  native.addon.setDumpable(false);
  if (process.getuid?.() === 0) return "the job runs as root";
  return mayTrace() ? "the job's processes have CAP_SYS_PTRACE" : null;
}

/**
 * Closes the process of a step before any code of the change runs: against inspection, and against libraries that this
 * code writes later. Returns null, or why others can inspect the process all the same.
 */
export function closeProcess(): string | null {
  const open = denyInspection();
  const native = loadNative();
  if ("addon" in native) native.addon.openLibraries();
  return open;
}

const CAP_SYS_PTRACE = 1n << 19n;

/** Whether this process may trace others, so that its children may as well. */
function mayTrace(): boolean {
  try {
    const sets = readFileSync("/proc/self/status", "latin1").matchAll(/^Cap(?:Inh|Prm|Eff|Amb):\s*([0-9a-f]+)$/gm);
    return [...sets].some(([, bits = "0"]) => (BigInt(`0x${bits}`) & CAP_SYS_PTRACE) !== 0n);
  } catch {
    return false;
  }
}

/** Start the native sampler. Throws the addon's Error, with the errno name as `code` when the file cannot be made. */
export function startNative(addon: NativeAddon, options: SamplerOptions): Sampler {
  const handle = addon.start(options);
  const info = addon.info(handle);
  let stats: SamplerStats | undefined;
  let last: LiveView | undefined;
  const known = (value: number | undefined): number | null =>
    value === undefined || Number.isNaN(value) ? null : value;
  const view = (): LiveView => {
    const values = addon.live(handle);
    return {
      timeNs: known(values[0]) ?? 0,
      rssBytes: known(values[1]),
      hostBytes: known(values[2]),
      peakHostBytes: known(values[3]),
      processes: known(values[4]) ?? 0,
      deviceUsedBytes: known(values[5]),
    };
  };
  return {
    kind: "native",
    reason: null,
    monotonicStartNs: info.monotonicStartNs,
    epochNs: info.epochNs,
    get sources() {
      return addon.info(handle).sources;
    },
    get devices() {
      return addon.info(handle).devices;
    },
    live: () => last ?? view(),
    stop() {
      if (stats === undefined) {
        last = view();
        stats = addon.stop(handle);
      }
      return stats;
    },
    readRecords: (into) => addon.readRecords(handle, into),
    checkRecords() {
      const { descriptor, ...check } = addon.checkRecords(handle);
      return { ...check, file: statOf(descriptor) };
    },
    closeRecords: () => addon.closeRecords(handle),
  };
}

/** The state of an open file; null where it cannot be read. */
function statOf(descriptor: number): BigIntStats | null {
  try {
    return fstatSync(descriptor, { bigint: true });
  } catch {
    return null;
  }
}
