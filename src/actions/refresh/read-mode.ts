import { ExitCode } from "../../core/exit-codes.ts";
import { withDeadline } from "../../github/api/deadline.ts";
import { degradedWarning } from "../../github/api/degrade.ts";
import type { GitData } from "../../github/repository/git-data-client.ts";
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
  try {
    const state = await withDeadline({ ms: 20_000, interrupt: action.signal }, () =>
      loadNightlyState(gitData, ref, settings.key),
    );
    if (state.nights.length > 0) mode = state.promotion.mode;
  } catch (error) {
    const attempt = {
      what: "read the gate's mode",
      permission: "contents: read",
      instead: `The mode "${mode}" is used.`,
    };
    action.warn(degradedWarning(attempt, error));
  }
  action.setOutput("mode", mode);
  action.setOutput("fail-on", failOn(mode));
  action.log(`Stormlog Gate: ${mode}`);
  return ExitCode.pass;
}
