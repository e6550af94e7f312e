import type { Environment } from "../../core/environment.ts";

/** Variables of a GitHub step that hold secrets or let a process act as the step; a plain `run:` step has none of the first three families. */
const DROPPED_PREFIXES = ["ACTIONS_", "INPUT_", "STATE_"];
const DROPPED_NAMES = new Set([
  "GITHUB_TOKEN",
  "GH_TOKEN",
  "GITHUB_ENTERPRISE_TOKEN",
  "GH_ENTERPRISE_TOKEN",
  // File commands: whoever can write these files sets outputs, variables, PATH and the summary of the step.
  "GITHUB_ENV",
  "GITHUB_OUTPUT",
  "GITHUB_PATH",
  "GITHUB_STATE",
  "GITHUB_STEP_SUMMARY",
]);

/** Every process of a measured tree carries this variable; its value is one run's. */
export const MARKER_VARIABLE = "STORMLOG_GATE_RUN";

export interface ScrubbedEnvironment {
  readonly env: Record<string, string>;
  /** Names that were dropped, sorted. */
  readonly dropped: readonly string[];
}

function isDropped(name: string): boolean {
  const upper = name.toUpperCase();
  return DROPPED_NAMES.has(upper) || DROPPED_PREFIXES.some((prefix) => upper.startsWith(prefix));
}

/** Shorter values are no tokens of GitHub, and could be part of anything. */
const MIN_TOKEN = 16;

/** The step's tokens themselves: a job may hand the same one on under a name of its own. */
function tokensOf(caller: Environment): readonly string[] {
  return Object.entries(caller)
    .filter(([name]) => isDropped(name) && /TOKEN/i.test(name))
    .map(([, value]) => value?.trim() ?? "")
    .filter((value) => value.length >= MIN_TOKEN);
}

/**
 * The environment of the measured command: the caller's without what belongs to the step alone, by name and, for its tokens, by
 * value; plus what the scenario
 * sets (which may bring a dropped name back, since it was asked for by name), plus the marker. `RUNNER_TRACKING_ID` stays:
 * by it the runner ends whatever a crashed gate left behind.
 */
export function scrubEnvironment(
  caller: Environment,
  extra: Readonly<Record<string, string>>,
  marker: string,
): ScrubbedEnvironment {
  const env: Record<string, string> = {};
  const dropped: string[] = [];
  const tokens = tokensOf(caller);
  for (const [name, value] of Object.entries(caller)) {
    if (value === undefined) continue;
    if (isDropped(name) || tokens.some((token) => value.includes(token))) dropped.push(name);
    else env[name] = value;
  }
  Object.assign(env, extra, { [MARKER_VARIABLE]: marker });
  return { env, dropped: dropped.sort() };
}
