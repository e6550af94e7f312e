import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { readHead } from "./files.ts";

interface Installation {
  readonly root: string;
  readonly version: string;
}

let cached: Installation | undefined;

function findPackage(): Installation {
  let directory = path.dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const manifest = path.join(directory, "package.json");
    if (existsSync(manifest)) {
      const { name, version } = JSON.parse(readFileSync(manifest, "utf8"));
      if (name === "stormlog-gate") return { root: directory, version };
    }
    const parent = path.dirname(directory);
    if (parent === directory)
      throw new Error("the stormlog-gate package directory cannot be found from its own module");
    directory = parent;
  }
}

/** The package's directory, found upwards from here: `dist/…` and `src/…` share prebuilds, fonts and the leak lab. */
export function packageRoot(): string {
  cached ??= findPackage();
  return cached.root;
}

/** Version of this package, from its manifest, which is read once. */
export function packageVersion(): string {
  cached ??= findPackage();
  return cached.version;
}

/** The native files of a platform. The variable names a directory with another build of them, for tests. */
export function nativeDirectory(): string {
  return process.env.STORMLOG_TEST_PREBUILDS || path.join(packageRoot(), "dist", "prebuilds", nativePlatform());
}

/** Whether this Node runs on musl, which cannot load code built for glibc. */
function runsOnMusl(): boolean {
  if (process.platform !== "linux") return false;
  // Enough of an ELF file for its interpreter's path, which linkers put right after the program headers.
  try {
    return readHead(process.execPath, 8192).includes("/ld-musl-");
  } catch {
    return false;
  }
}

let platform: string | undefined;

/** The directory of `dist/prebuilds` for this machine: "linux-x64", "linux-x64-musl", "darwin-arm64", … */
export function nativePlatform(): string {
  platform ??= `${process.platform}-${process.arch}${runsOnMusl() ? "-musl" : ""}`;
  return platform;
}
