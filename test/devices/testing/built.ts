import { type ExecFileSyncOptions, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "../../../src/core/package-root.ts";

const NATIVE = path.join(packageRoot(), "native");
const BUILD = path.join(packageRoot(), "build");
const BUILD_TIMEOUT_MS = 280_000;

export function has(program: string): boolean {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore", timeout: 20_000 });
    return true;
  } catch {
    return false;
  }
}

/** When the newest file below a directory was written. */
function newest(directory: string): number {
  let time = 0;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const file = path.join(directory, entry.name);
    time = Math.max(time, entry.isDirectory() ? newest(file) : statSync(file).mtimeMs);
  }
  return time;
}

const sleep = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Run a function in one test process at a time: a directory can be made only once. */
function alone<T>(name: string, work: () => T): T {
  mkdirSync(BUILD, { recursive: true });
  const lock = path.join(BUILD, `${name}.lock`);
  const giveUp = Date.now() + BUILD_TIMEOUT_MS;
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch {
      // The process that made it was killed.
      if (Date.now() > giveUp) break;
      sleep(100);
    }
  }
  try {
    return work();
  } finally {
    try {
      rmdirSync(lock);
    } catch {
      // Another process took this one for dead.
    }
  }
}

/**
 * The fake NVIDIA library of `native/fake-nvml`, compiled when its sources are newer; without some of its symbols, as
 * older drivers lack them. Null without a C compiler.
 */
export function fakeNvmlLibrary(without: readonly string[] = []): string | null {
  const compiler = process.env.CC ?? "gcc";
  if (!has(compiler)) return null;
  const sources = path.join(NATIVE, "fake-nvml");
  const directory = path.join(BUILD, "fake-nvml");
  const library = path.join(directory, "libnvidia-ml.so.1");
  return alone("fake-nvml", () => {
    mkdirSync(directory, { recursive: true });
    if (!existsSync(library) || statSync(library).mtimeMs < newest(sources)) {
      execFileSync(path.join(sources, "build.sh"), [`${library}.new`], { stdio: ["ignore", "ignore", "inherit"] });
      renameSync(`${library}.new`, library);
    }
    if (without.length === 0) return library;
    const names = [...without].sort().join(" ");
    const variant = path.join(directory, createHash("sha256").update(names).digest("hex").slice(0, 16));
    const copy = path.join(variant, "libnvidia-ml.so.1");
    if (!existsSync(copy) || statSync(copy).mtimeMs < statSync(library).mtimeMs) {
      mkdirSync(variant, { recursive: true });
      execFileSync(path.join(sources, "without.sh"), [library, `${copy}.new`, ...without]);
      renameSync(`${copy}.new`, copy);
    }
    return copy;
  });
}

const ADDON_SOURCES = ["sources", "support", "launcher", "preload"];

/**
 * Directory with the addon and the launcher, built from the sources of this tree: what is shipped may be older. A
 * directory that was built before is named by STORMLOG_TEST_PREBUILDS. Null where cmake or a C++ compiler is missing:
 * then the shipped ones serve.
 */
export function nativeBuild(): string | null {
  const given = process.env.STORMLOG_TEST_PREBUILDS;
  if (given) return given;
  if (process.platform !== "linux" || !has("cmake") || !has(process.env.CXX ?? "g++")) return null;
  const directory = path.join(BUILD, "test-devices-native");
  const done = path.join(directory, "sampler.node");
  return alone("test-devices-native", () => {
    const changed = Math.max(
      ...ADDON_SOURCES.map((each) => newest(path.join(NATIVE, each))),
      ...readdirSync(NATIVE, { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => statSync(path.join(NATIVE, name)).mtimeMs),
    );
    if (existsSync(done) && statSync(done).mtimeMs >= changed) return directory;
    const options: ExecFileSyncOptions = { stdio: ["ignore", "ignore", "inherit"], timeout: BUILD_TIMEOUT_MS };
    execFileSync("cmake", ["-S", NATIVE, "-B", directory], options);
    // Always linked again, so that its time is later than that of the sources.
    rmSync(done, { force: true });
    execFileSync("cmake", ["--build", directory], options);
    return directory;
  });
}
