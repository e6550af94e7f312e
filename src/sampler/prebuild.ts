import { existsSync } from "node:fs";
import path from "node:path";
import { nativeDirectory, nativePlatform } from "../core/package-root.ts";

export interface Prebuild {
  /** Addon for `require`, by absolute path. */
  readonly addon: string;
  /** Executable that starts the measured command and ends its tree when the gate dies. */
  readonly launcher: string;
  /** Library to preload into programs in order to record their heap; glibc only. */
  readonly heapLibrary: string;
  /** Library to preload in order to sample the stacks of the C heap's allocations; glibc only. */
  readonly stacksLibrary: string;
}

/** The native files for this platform, or the reason without them. */
export function findPrebuild(): Prebuild | { readonly reason: string } {
  const directory = nativeDirectory();
  const addon = path.join(directory, "sampler.node");
  if (!existsSync(addon)) return { reason: `no native build for ${nativePlatform()}` };
  return {
    addon,
    launcher: path.join(directory, "launcher"),
    heapLibrary: path.join(directory, "libstormlog_heap.so"),
    stacksLibrary: path.join(directory, "libstormlog_stacks.so"),
  };
}
