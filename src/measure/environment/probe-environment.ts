import { existsSync } from "node:fs";
import path from "node:path";
import { probeDirectory } from "../../core/probe-directory.ts";
import { findPrebuild } from "../../sampler/prebuild.ts";
import { PUT_ASIDE_PRELOAD } from "../guard/environment.ts";

/** Set by the user in the scenario's environment: `preload` loads the heap library into every program. */
const HEAP_VARIABLE = "STORMLOG_GATE_HEAP";

const DEFAULT_POLL_MS = "20";

/** In the probe's directory: any program may write its current step into it. */
export const STEP_FILE = "step";

export interface ProbeEnvironment {
  readonly env: Readonly<Record<string, string>>;
  /** What could not be set up, with the reasons. */
  readonly lost: readonly string[];
  /** Why no Python process can load the probe; null when it can. */
  readonly missing: string | null;
}

/** The library that records the heap of any glibc program, or why it cannot be preloaded. */
function heapLibrary(): { readonly file: string } | { readonly reason: string } {
  const prebuild = findPrebuild();
  if ("reason" in prebuild) return prebuild;
  if (!existsSync(prebuild.heapLibrary)) return { reason: "it is not built for this platform" };
  // The loader treats both as separators and has no quoting.
  if (/[\s:]/.test(prebuild.heapLibrary)) return { reason: `its path has a blank or a colon: ${prebuild.heapLibrary}` };
  return { file: prebuild.heapLibrary };
}

/**
 * The environment in which the measured command loads the probe: its directory before the user's PYTHONPATH, the
 * directory for its files, and where it was asked for the heap library. Nothing else of the user's is touched.
 * @param env environment of the command  @param directory where probes leave their files, absolute
 */
export function probeEnvironment(
  env: Readonly<Record<string, string>>,
  directory: string,
  debug: boolean,
): ProbeEnvironment {
  const inject = path.join(probeDirectory(), "inject");
  const missing = whyNot(inject);
  const added: Record<string, string> = {
    STORMLOG_GATE_PROBE_DIR: directory,
    STORMLOG_GATE_PROBE_MS: env.STORMLOG_GATE_PROBE_MS ?? DEFAULT_POLL_MS,
    STORMLOG_GATE_STEP_FILE: path.join(directory, STEP_FILE),
  };
  // An empty entry would add the working directory to the path.
  if (missing === null) added.PYTHONPATH = env.PYTHONPATH ? `${inject}${path.delimiter}${env.PYTHONPATH}` : inject;
  if (debug) added.STORMLOG_GATE_DEBUG = "1";
  const lost: string[] = [];
  if (env[HEAP_VARIABLE] === "preload") {
    const library = heapLibrary();
    if ("reason" in library) lost.push(`the heap library is not preloaded: ${library.reason}`);
    // Stored under another name: it is for the command, not for its launcher.
    else added[PUT_ASIDE_PRELOAD] = env.LD_PRELOAD ? `${library.file}:${env.LD_PRELOAD}` : library.file;
  }
  return { env: { ...env, ...added }, lost, missing };
}

/** Why Python could not load the probe from this directory; null when it can. */
function whyNot(inject: string): string | null {
  if (!existsSync(path.join(inject, "sitecustomize.py"))) return "the probe is not installed beside this program";
  return inject.includes(path.delimiter) ? `the probe cannot be named in PYTHONPATH: ${inject}` : null;
}
