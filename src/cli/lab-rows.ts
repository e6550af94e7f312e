import { escapeTerminal } from "../core/escape.ts";
import { alignRows, cell } from "../report/terminal-table.ts";
import type { Console } from "./console.ts";

/** Print a table of outside text, each column as wide as it needs. */
export function printRows(
  console: Console,
  head: readonly string[],
  right: readonly boolean[],
  rows: readonly (readonly string[])[],
): void {
  const cells = [head, ...rows].map((row) => row.map((text) => cell(escapeTerminal(text))));
  for (const line of alignRows(cells, right)) console.print(line);
}
