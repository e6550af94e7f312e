import { ExitCode } from "../../core/exit-codes.ts";
import type { GitData } from "../../github/repository/git-data-client.ts";
import { attempted } from "../attempted.ts";
import type { SubAction } from "../sub-action.ts";
import { loadNightlyState } from "./session-files.ts";
import type { RefreshSettings } from "./settings.ts";

/** What a gate's `fail-on` is to be in a mode. */
export function failOn(mode: "advisory" | "blocking"): "never" | "regression" {
  return mode === "advisory" ? "never" : "regression";
}

/**
 * Set the outputs that decide whether a gate's job blocks: read-only, allowed for every event. Where the state cannot
 * be read, the workflow's own `mode` counts without promotion, so that no failure of the network loosens or tightens
 * the gate silently.
 */
export async function readMode(
  action: SubAction,
  settings: RefreshSettings,
  gitData: GitData,
  ref: string,
): Promise<number> {
  let mode = settings.promotion.mode;
  const attempt = {
    what: "read the gate's mode",
    permission: "contents: read",
    instead: `The mode "${mode}" is used.`,
  };
  const state = await attempted(action, 20_000, attempt, () => loadNightlyState(gitData, ref, settings.key));
  if (state !== null && state.nights.length > 0) mode = state.promotion.mode;
  action.setOutput("mode", mode);
  action.setOutput("fail-on", failOn(mode));
  action.log(`Stormlog Gate: ${mode}`);
  return ExitCode.pass;
}
