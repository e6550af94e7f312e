import { closeSync, existsSync, openSync, readSync } from "node:fs";
import path from "node:path";
import { heldFiles, nativeDirectory } from "../core/package-root.ts";

/** Enough of an ELF file for its interpreter's path, which linkers put right after the program headers. */
const ELF_HEAD_BYTES = 8192;

/** Whether this Node runs on musl, which cannot load code built for glibc. */
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
  /** Library to preload into programs in order to record their heap; Linux only. */
  readonly heapLibrary: string;
  /** Library to preload in order to sample the stacks of the C heap's allocations; Linux only. */
  readonly stacksLibrary: string;
}

/** The native files for this platform, or the reason without them. */
export function findPrebuild(): Prebuild | { readonly reason: string } {
  const platform = `${process.platform}-${process.arch}`;
  if (runsOnMusl()) return { reason: `no native build for ${platform} with musl` };
  const directory = nativeDirectory();
  const addon = path.join(directory, "sampler.node");
  const held = heldFiles();
  if (!(held?.native ?? existsSync(addon))) return { reason: `no native build for ${platform}` };
  // The addon is loaded once, before anything is measured; the others are started in every run.
  const started = held === null ? directory : path.join(held.copies, "native");
  const file = (name: string): string => path.join(started, name);
  return {
    addon,
    launcher: file("launcher"),
    heapLibrary: file("libstormlog_heap.so"),
    stacksLibrary: file("libstormlog_stacks.so"),
  };
}
