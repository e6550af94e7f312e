import { createRequire } from "node:module";
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
    return { addon: createRequire(import.meta.url)(prebuild.addon) as NativeAddon };
  } catch (error) {
    const [line] = (error instanceof Error ? error.message : String(error)).split("\n");
    return { reason: `the native sampler does not load (${line})` };
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
  };
}
