import { escapeTerminal } from "../../core/escape.ts";

/**
 * A line for the log that is not a command, whatever stands in it: the runner obeys `::name::` at the start of a line, also behind
 * white space and a lone carriage return, and the older `##[name]` anywhere in one.
 */
export function logLine(text: string): string {
  return escapeTerminal(text.replace(/\r\n?|\n/g, " "))
    .replace(/^(\s*):(?=:)/, "$1\u2236")
    .replace(/##(?=\[)/g, "#\u266f");
}
