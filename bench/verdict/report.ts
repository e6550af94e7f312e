import type { Table } from "./parts/part.ts";

/** Markdown of some tables, cells padded for a terminal. */
export function markdown(tables: readonly Table[], level = 2): string {
  return tables
    .map(({ title, note, rows }) => {
      const columns = rows[0]?.length ?? 0;
      const widths = Array.from({ length: columns }, (_, c) =>
        Math.max(3, ...rows.map((row) => (row[c] ?? "").length)),
      );
      const line = (row: readonly string[]) =>
        `| ${widths.map((width, c) => (row[c] ?? "").padEnd(width)).join(" | ")} |`;
      const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
      const [head = [], ...body] = rows;
      return [`${"#".repeat(level)} ${title}`, "", note, "", line(head), rule, ...body.map(line), ""].join("\n");
    })
    .join("\n");
}
