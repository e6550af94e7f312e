import path from "node:path";
import { DEFAULTS } from "../config/options.ts";
import { shellWord } from "../core/shell-word.ts";
import type { Invocation } from "./command.ts";
import { shownPath } from "./shown-path.ts";

/** Commands longer than this are not repeated. */
const MAX_COMMAND = 100;

function commandText(rest: readonly string[]): string {
  const text = rest.map(shellWord).join(" ");
  return text.length > MAX_COMMAND || /[\r\n]/.test(text) ? "<your command>" : text;
}

/** The commands a report proposes, with the bundle, the store and the measured command of this invocation. */
export function nextCommands(
  { text, lists, rest }: Pick<Invocation, "text" | "lists" | "rest">,
  bundleDir: string,
): { readonly accept: string; readonly refresh: string } {
  const store = lists.baseline?.find((spec) => /^(file|ref):./.test(spec));
  const options = [
    ...(text.config === undefined ? [] : ["--config", shellWord(text.config)]),
    ...(store === undefined ? [] : ["--baseline", shellWord(store)]),
  ];
  const scenario = text.scenario === undefined ? [] : ["--scenario", shellWord(text.scenario)];
  const bundle = bundleDir === path.resolve(DEFAULTS.bundle) ? [] : [shellWord(shownPath(bundleDir))];
  const command = rest === null ? [] : ["--", commandText(rest)];
  return {
    accept: ["stormlog-gate baseline accept", ...bundle, ...options].join(" "),
    refresh: ["stormlog-gate baseline refresh", ...options, ...scenario, ...command].join(" "),
  };
}
