import { GateError } from "../core/errors.ts";
import { runChild } from "../core/process/child.ts";

/** How a helper of the user's ended. */
export type ToolResult =
  | { readonly ok: true; readonly output: string }
  | { readonly ok: false; readonly reason: string; readonly output: string };

export interface ToolOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly interrupt: AbortSignal;
}

const NO_NETWORK =
  /NewConnectionError|name resolution|Network is unreachable|\bE(?:NOTFOUND|AI_AGAIN|TIMEDOUT|NETUNREACH|CONNREFUSED)\b|dns error|Could not resolve host/;

/**
 * Run a build or an installation to its end, without a terminal.
 * @throws GateError SEARCH_ENVIRONMENT_FAILED when it cannot be started
 */
export async function runTool(
  what: string,
  file: string,
  args: readonly string[],
  { cwd, env, interrupt }: ToolOptions,
): Promise<ToolResult> {
  // Maximum duration of a build or installation, milliseconds.
  const { end, stdout, stderr } = await runChild(file, args, {
    env,
    cwd,
    timeoutMs: 2 * 3600 * 1000,
    signal: interrupt,
  });
  const output = `${stdout}\n${stderr}`;
  const last = (text: string): string => {
    const lines = text.split("\n").filter((line) => line.trim() !== "" && !/A complete log of this run/.test(line));
    return lines.at(-1)?.trim().slice(0, 300) ?? "";
  };
  const printed = last(stderr) || last(stdout);
  switch (end.kind) {
    case "exit": {
      if (end.code === 0) return { ok: true, output };
      // These fail every state alike: they must not look like a build that is broken.
      if (/\bENOSPC\b|No space left on device/.test(output)) throw failed(`${what}: no space is left on the disk`);
      if (NO_NETWORK.test(output)) throw failed(`${what}: the network cannot be reached`);
      return { ok: false, reason: `${what} ended with status ${end.code}${printed && `: ${printed}`}`, output };
    }
    case "killed":
      return { ok: false, reason: `${what} was ended (${end.cause})`, output };
    case "not-started":
      throw failed(`${what} cannot be started: ${end.reason}`);
  }
}

/** The error of an environment that fails whatever the state. */
export function failed(message: string): GateError {
  return new GateError("SEARCH_ENVIRONMENT_FAILED", message, {
    hint: "Nothing was decided from this state. Repair the cause, then add --resume.",
  });
}
