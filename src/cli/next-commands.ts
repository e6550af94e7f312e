import path from "node:path";
import { DEFAULTS } from "../config/options.ts";
import type { Invocation } from "./command.ts";
import { shownPath } from "./shown-path.ts";

/** Commands longer than this are not repeated. */
const LONGEST_COMMAND = 100;

/** A word as a shell takes it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function commandText(rest: readonly string[]): string {
  const text = rest.map(quoted).join(" ");
  return text.length > LONGEST_COMMAND || /[\r\n]/.test(text) ? "<your command>" : text;
}

/** The commands a report proposes, with the bundle, the store and the measured command of this invocation. */
export function nextCommands(
  { text, lists, rest }: Pick<Invocation, "text" | "lists" | "rest">,
  bundleDir: string,
): { readonly accept: string; readonly refresh: string } {
  const store = lists.baseline?.find((spec) => /^(file|ref):./.test(spec));
  const options = [
    ...(text.config === undefined ? [] : ["--config", quoted(text.config)]),
    ...(store === undefined ? [] : ["--baseline", quoted(store)]),
  ];
  const scenario = text.scenario === undefined ? [] : ["--scenario", quoted(text.scenario)];
  const bundle = bundleDir === path.resolve(DEFAULTS.bundle) ? [] : [quoted(shownPath(bundleDir))];
  const command = rest === null ? [] : ["--", commandText(rest)];
  return {
    accept: ["stormlog-gate baseline accept", ...bundle, ...options].join(" "),
    refresh: ["stormlog-gate baseline refresh", ...options, ...scenario, ...command].join(" "),
  };
}
