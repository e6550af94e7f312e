import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { probeDirectory, withPreload } from "../../core/probe-directory.ts";
import { type Command, commandLine } from "../../core/process/command.ts";
import { findPrebuild } from "../../sampler/prebuild.ts";
import { PUT_ASIDE_PRELOAD } from "./scrub-environment.ts";

/** Set in a run that looks for a line ("1", or "peak"): the library that samples the C heap's stacks is preloaded. */
const STACKS_VARIABLE = "STORMLOG_GATE_STACKS";

const ASAN_PRELOADS = "verify_asan_link_order=0";

/** Under Node's permission model a file that the program may not read would end it. */
const PERMISSIONS = /--(?:experimental-)?permission\b/;

/** Begins the reason why native memory has no line. */
export const NATIVE_UNSEEN = "stacks of native memory are not sampled";

/** In the probe's directory: any program may write its current step into it. */
export const STEP_FILE = "step";

export interface ProbeEnvironment {
  readonly env: Readonly<Record<string, string>>;
  /** What could not be set up, with the reasons. */
  readonly lost: readonly string[];
  /** Why no Python process can load the probe; null when it can. */
  readonly missing: string | null;
}

/** A library for any glibc program, or why it cannot be preloaded. */
function preloadable(kind: "heapLibrary" | "stacksLibrary"): { readonly file: string } | { readonly reason: string } {
  const prebuild = findPrebuild();
  if ("reason" in prebuild) return prebuild;
  const file = prebuild[kind];
  if (!existsSync(file)) return { reason: "it is not built for this platform" };
  // The loader treats both as separators and has no quoting.
  return /[\s:]/.test(file) ? { reason: `its path has a blank or a colon: ${file}` } : { file };
}

/** What is measured, as far as it decides what may be loaded into it. */
interface Measured {
  readonly command: Command;
  readonly cwd: string;
}

/**
 * Whether Node's permission model may be on, from the command line, Node's own variable and the scripts of
 * `package.json`.
 */
export function usesPermissions({ command, cwd }: Measured, nodeOptions: string): boolean {
  if (PERMISSIONS.test(`${nodeOptions} ${commandLine(command)}`)) return true;
  try {
    return PERMISSIONS.test(readFileSync(path.join(cwd, "package.json"), "utf8"));
  } catch {
    return false;
  }
}

/**
 * The environment in which the measured command loads the probe: its directory before the user's PYTHONPATH, a script
 * after the user's NODE_OPTIONS, the directory for its files, and the libraries to preload that were asked for. Nothing
 * else of the user's is touched.
 * @param env environment of the command  @param directory where probes leave their files, absolute
 */
export function probeEnvironment(
  env: Readonly<Record<string, string>>,
  directory: string,
  debug: boolean,
  measured: Measured | null = null,
): ProbeEnvironment {
  const inject = path.join(probeDirectory(), "inject");
  const missing = whyNot(inject);
  const added: Record<string, string> = {
    STORMLOG_GATE_PROBE_DIR: directory,
    STORMLOG_GATE_PROBE_MS: env.STORMLOG_GATE_PROBE_MS ?? "20",
    STORMLOG_GATE_STEP_FILE: path.join(directory, STEP_FILE),
  };
  // An empty entry would add the working directory to the path.
  if (missing === null) added.PYTHONPATH = env.PYTHONPATH ? `${inject}${path.delimiter}${env.PYTHONPATH}` : inject;
  const preload = path.join(probeDirectory(), "node", "preload.cjs");
  // A file that Node does not find would end the program.
  if (measured !== null && existsSync(preload) && !usesPermissions(measured, env.NODE_OPTIONS ?? ""))
    added.NODE_OPTIONS = withPreload(env.NODE_OPTIONS, preload);
  if (debug) added.STORMLOG_GATE_DEBUG = "1";
  const lost: string[] = [];
  const preloaded: string[] = [];
  // Set by the user in the scenario's environment: `preload` loads the heap library into every program.
  if (env.STORMLOG_GATE_HEAP === "preload") {
    const library = preloadable("heapLibrary");
    if ("reason" in library) lost.push(`the heap library is not preloaded: ${library.reason}`);
    else preloaded.push(library.file);
  }
  if (env[STACKS_VARIABLE] === "1" || env[STACKS_VARIABLE] === "peak") {
    // Another library may replace the allocator, or expect to be the only one that does.
    const library = env.LD_PRELOAD ? { reason: "LD_PRELOAD is set" } : preloadable("stacksLibrary");
    if ("reason" in library) {
      lost.push(`${NATIVE_UNSEEN}: ${library.reason}`);
      added[STACKS_VARIABLE] = "0";
    } else preloaded.push(library.file);
  }
  // Stored under another name: they are for the command, not for its launcher.
  if (preloaded.length > 0) {
    added[PUT_ASIDE_PRELOAD] = [...preloaded, ...(env.LD_PRELOAD ? [env.LD_PRELOAD] : [])].join(":");
    added.ASAN_OPTIONS = withPreloads(env.ASAN_OPTIONS ?? "");
  }
  return { env: { ...env, ...added }, lost, missing };
}

/** AddressSanitizer's options: its programs refuse to start behind a preloaded library. The user's own setting wins. */
function withPreloads(options: string): string {
  if (/(?:^|[\s,:])verify_asan_link_order=/.test(options)) return options;
  return options === "" ? ASAN_PRELOADS : `${options}:${ASAN_PRELOADS}`;
}

/** Why Python could not load the probe from this directory; null when it can. */
function whyNot(inject: string): string | null {
  if (!existsSync(path.join(inject, "sitecustomize.py"))) return "the probe is not installed beside this program";
  return inject.includes(path.delimiter) ? `the probe cannot be named in PYTHONPATH: ${inject}` : null;
}
