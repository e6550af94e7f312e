import type { Environment } from "../../core/process/environment.ts";

const DROPPED_NAMES = new Set([
  "GITHUB_TOKEN",
  "GH_TOKEN",
  "GITHUB_ENTERPRISE_TOKEN",
  "GH_ENTERPRISE_TOKEN",
  // File commands: a process that can write these files sets outputs, variables, PATH and the summary of the step.
  "GITHUB_ENV",
  "GITHUB_OUTPUT",
  "GITHUB_PATH",
  "GITHUB_STATE",
  "GITHUB_STEP_SUMMARY",
]);

/** Every process of a measured tree carries this variable; its value is one run's. */
export const MARKER_VARIABLE = "STORMLOG_GATE_RUN";

/** Becomes the command's LD_PRELOAD: the launcher is not measured. */
export const PUT_ASIDE_PRELOAD = "STORMLOG_GATE_LD_PRELOAD";

interface ScrubbedEnvironment {
  readonly env: Record<string, string>;
  /** Names that were dropped, sorted. */
  readonly dropped: readonly string[];
}

function isDropped(name: string): boolean {
  const upper = name.toUpperCase();
  // Variables of a GitHub step that hold secrets or give its rights; a plain `run:` step has none of these prefixes.
  return DROPPED_NAMES.has(upper) || ["ACTIONS_", "INPUT_", "STATE_"].some((prefix) => upper.startsWith(prefix));
}

/** The values of the step's tokens: a job may pass one on under another name. */
function tokensOf(caller: Environment): readonly string[] {
  return (
    Object.entries(caller)
      .filter(([name]) => isDropped(name) && /TOKEN/i.test(name))
      .map(([, value]) => value?.trim() ?? "")
      // GitHub's tokens are longer; a shorter value could be part of any other value.
      .filter((value) => value.length >= 16)
  );
}

/** The characters that a token has in the base64 of any text that contains it: they depend on where it begins there. */
function base64Forms(token: string): readonly string[] {
  return [0, 1, 2].map((before) => {
    const bytes = Buffer.from("\0".repeat(before) + token);
    return bytes.toString("base64").slice(before && before + 1, Math.floor((8 * bytes.length) / 6));
  });
}

/** Base64 in one line of the usual alphabet: git and the `base64` tool wrap it, and URLs have other characters. */
const plainBase64 = (value: string): string => value.replace(/\s/g, "").replace(/-/g, "+").replace(/_/g, "/");

/**
 * The environment of the measured command: the caller's without the variables of the step (by name, and for tokens by
 * value, also in base64 as in an authorization header), with those of the scenario (which may set a dropped name again)
 * and the marker. `RUNNER_TRACKING_ID` stays, because the runner uses it to end processes that a crashed gate left.
 */
export function scrubEnvironment(
  caller: Environment,
  extra: Readonly<Record<string, string>>,
  marker: string,
): ScrubbedEnvironment {
  const env: Record<string, string> = {};
  const dropped: string[] = [];
  const tokens = tokensOf(caller);
  const encoded = tokens.flatMap(base64Forms);
  const hasToken = (value: string): boolean =>
    tokens.some((token) => value.includes(token)) || encoded.some((form) => plainBase64(value).includes(form));
  for (const [name, value] of Object.entries(caller)) {
    if (value === undefined) continue;
    if (isDropped(name) || hasToken(value)) dropped.push(name);
    else env[name] = value;
  }
  Object.assign(env, extra, { [MARKER_VARIABLE]: marker });
  return { env, dropped: dropped.sort() };
}
