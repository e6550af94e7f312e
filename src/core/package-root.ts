import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { readHead } from "./files.ts";

/** The Action's code in memory, as its loader passes it to every chunk of it. */
export interface PackedCode {
  /** Address of the file that Node started. */
  readonly url: string;
  /** The Action's `dist` directory. */
  readonly dist: string;
  /** The pack: the code of all steps. */
  readonly bytes: Buffer;
  /** SHA-256 of the other files of `dist`, by their path in it; without the entries and the native files. */
  readonly files: Readonly<Record<string, string>>;
}

declare const stormlogCode: PackedCode | undefined;

/** Null in the command line and in sources, which a module loader reads file by file. */
export function packedCode(): PackedCode | null {
  return typeof stormlogCode === "undefined" ? null : stormlogCode;
}

/** The files of this package as they were before anything was measured. A step of the Action holds them. */
export interface HeldFiles {
  /** Bytes of a file of `dist`; null when it had none. @throws GateError ASSET_MISSING when the build had other ones */
  read(name: string): Buffer | null;
  /** Directory with copies of what a run starts: `probe/` and, in `native/`, this platform's files. */
  readonly copies: string;
  /** Whether there are native files for this platform. */
  readonly native: boolean;
  /** Replace the copies: a measured program may have changed those of the run before. */
  renewCopies(): void;
}

let held: HeldFiles | null = null;

export function holdFiles(files: HeldFiles): void {
  held = files;
}

/** Null where files are used in place: in the command line, in sources, and before a step measures. */
export function heldFiles(): HeldFiles | null {
  return held;
}

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
