import { closeSync, existsSync, openSync, readSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "../core/package-root.ts";

/** Enough of an ELF file to hold its interpreter's path, which linkers put right behind the program headers. */
const ELF_HEAD_BYTES = 8192;

/** Whether this Node itself runs on musl: then code built for glibc cannot be loaded into it. */
function runsOnMusl(): boolean {
  if (process.platform !== "linux") return false;
  const head = Buffer.alloc(ELF_HEAD_BYTES);
  try {
    const fd = openSync(process.execPath, "r");
    try {
      readSync(fd, head, 0, head.length, 0);
    } finally {
      closeSync(fd);
    }
  } catch {
    return false;
  }
  return head.includes("/ld-musl-");
}

export interface Prebuild {
  /** Addon for `require`, by absolute path. */
  readonly addon: string;
  /** Executable that starts the measured command and ends its tree when the gate dies. */
  readonly launcher: string;
  /** Library to preload into programs whose heap is to be told; Linux only, and then beside the others. */
  readonly heapLibrary: string;
}

/** Directory with native files of one's own build, for tests of sources that are not shipped yet. */
const OWN_BUILD_VARIABLE = "STORMLOG_TEST_PREBUILDS";

/** The native files shipped for this platform, or why there are none. */
export function findPrebuild(): Prebuild | { readonly reason: string } {
  const platform = `${process.platform}-${process.arch}`;
  if (runsOnMusl()) return { reason: `there is no native build for ${platform} with musl` };
  const directory = process.env[OWN_BUILD_VARIABLE] || path.join(packageRoot(), "dist", "prebuilds", platform);
  const addon = path.join(directory, "sampler.node");
  if (!existsSync(addon)) return { reason: `there is no native build for ${platform}` };
  return {
    addon,
    launcher: path.join(directory, "launcher"),
    heapLibrary: path.join(directory, "libstormlog_heap.so"),
  };
}
