import { closeSync, openSync, readSync } from "node:fs";

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

let platform: string | undefined;

/** The directory of `dist/prebuilds` for this machine: "linux-x64", "linux-x64-musl", "darwin-arm64", … */
export function nativePlatform(): string {
  platform ??= `${process.platform}-${process.arch}${runsOnMusl() ? "-musl" : ""}`;
  return platform;
}
