import { outsideRows } from "../../lab/report/terminal.ts";
import type { Console } from "../console/console.ts";

/** Print a table of outside text, each column as wide as it needs. */
export function printRows(
  console: Console,
  head: readonly string[],
  right: readonly boolean[],
  rows: readonly (readonly string[])[],
): void {
  for (const line of outsideRows([head, ...rows], right)) console.print(line);
}
