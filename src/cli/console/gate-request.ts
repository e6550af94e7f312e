import { existsSync } from "node:fs";
import path from "node:path";
import type { GateRequest, UnjudgedMode } from "../../config/gate-request.ts";
import { loadConfig } from "../../config/load.ts";
import { gateRequest } from "../../config/options.ts";
import type { ConfigFile } from "../../config/schema.ts";
import type { Command } from "../../core/process/command.ts";
import type { Invocation } from "./command.ts";

export const CONFIG_FILE = "stormlog-gate.yml";

/** The named config file, else `stormlog-gate.yml` where it lies in the working directory and is wanted. */
export function configOf(invocation: Invocation, wanted: boolean): ConfigFile | null {
  const named = invocation.text.config;
  if (named !== undefined) return loadConfig(named);
  return wanted && existsSync(CONFIG_FILE) ? loadConfig(CONFIG_FILE) : null;
}

/** Base of this invocation's relative paths: at a named config file, unless a command replaces its scenarios. */
export function rootOf({ text, rest }: Pick<Invocation, "text" | "rest">): string {
  return text.config !== undefined && rest === null ? path.dirname(path.resolve(text.config)) : process.cwd();
}

export interface RequestDefaults {
  readonly baselines: readonly string[];
  readonly unjudged: UnjudgedMode;
}

const fromHere = (directory: string | undefined): string | undefined =>
  directory?.trim() ? path.resolve(directory) : directory;

/** Build the gate's request from a parsed command line. @throws GateError as `gateRequest` and `loadConfig` */
export function requestOf(invocation: Invocation, defaults: RequestDefaults): GateRequest {
  const { text, lists, rest } = invocation;
  const command: Command | null = rest === null ? null : { kind: "argv", argv: rest };
  const config = configOf(invocation, command === null);
  return gateRequest({
    options: {
      ...text,
      ...lists,
      // A bundle is found from where the user is, not from the config file.
      bundle: fromHere(text.bundle),
      stream: fromHere(text.stream),
    },
    command,
    config,
    configFile: config === null ? undefined : path.resolve(text.config ?? CONFIG_FILE),
    root: rootOf(invocation),
    defaultBaselines: defaults.baselines,
    defaultUnjudged: defaults.unjudged,
    argv: invocation.argv,
    env: process.env,
    debug: invocation.flags.debug === true,
  });
}
