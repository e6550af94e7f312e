// The toolkit's functions are imported by name everywhere: the toolkit as a whole starts its HTTP client, which is
// twenty times the size of everything else that a step starts with.
import { info } from "@actions/core";
import { escapeTerminal } from "../core/escape.ts";
import { oneLine } from "../core/text.ts";

/**
 * A line for the log that the runner does not take for a command: it obeys `::name::` at the start of a line, also
 * behind white space and a lone carriage return, and the older `##[name]` anywhere in one.
 */
export function logLine(text: string): string {
  return escapeTerminal(oneLine(text))
    .replace(/^(\s*):(?=:)/, "$1\u2236")
    .replace(/##(?=\[)/g, "#\u266f");
}

export function log(text: string): void {
  info(logLine(text));
}
