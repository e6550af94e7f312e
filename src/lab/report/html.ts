import { escapeHtml } from "../../core/escape.ts";
import { THEMES } from "../../report/drawing/palette.ts";
import { comparisonTable } from "./comparison.ts";
import type { LabDocument } from "./document.ts";
import { CATALOGUE_COLUMNS, catalogueRow, roundTitle } from "./table.ts";

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;color:${THEMES.light.text};background:${THEMES.light.paper};margin:2rem auto;max-width:110rem;padding:0 1rem}
table{border-collapse:collapse;display:block;overflow-x:auto;margin:0 0 1.4rem}th,td{padding:.3rem .7rem;border-bottom:1px solid ${THEMES.light.grid};white-space:nowrap;text-align:left;vertical-align:top}
.r{text-align:right;font-variant-numeric:tabular-nums}li{color:${THEMES.light.soft}}
figure{margin:1.2rem 0 0}figure img{width:min(48%,34rem);margin-right:1%}`;

function htmlTable(columns: readonly (readonly [string, "l" | "r"])[], rows: readonly (readonly string[])[]): string {
  const kind = (index: number): string => (columns[index]?.[1] === "r" ? ' class="r"' : "");
  const head = columns.map(([name], index) => `<th${kind(index)} scope="col">${escapeHtml(name)}</th>`).join("");
  const body = rows
    .map((row) => `<tr>${row.map((text, index) => `<td${kind(index)}>${escapeHtml(text)}</td>`).join("")}</tr>`)
    .join("\n");
  return `<table><thead><tr>${head}</tr></thead><tbody>\n${body}\n</tbody></table>`;
}

/** A state's timeline as PNG in base64; null where there is none. */
export type LabPicture = (round: number, pattern: string, state: "leaky" | "fixed") => string | null;

/** Timelines of a round from its bundles, leaky beside fixed. */
function timelines(document: LabDocument, index: number, picture: LabPicture): string {
  const rows = document.patterns.flatMap(({ name }) => {
    const cells = (["leaky", "fixed"] as const).map((state) => {
      const png = picture(index, name, state);
      const alt = escapeHtml(`${name}, ${state}: memory over time`);
      return png === null ? "" : `<img alt="${alt}" src="data:image/png;base64,${png}" loading="lazy">`;
    });
    if (cells.every((cell) => cell === "")) return [];
    return [`<figure><figcaption>${escapeHtml(name)}: leaky, then fixed</figcaption>${cells.join("")}</figure>`];
  });
  return rows.join("\n");
}

/** The section across backends; empty for one round. */
function acrossBackends(rounds: readonly LabDocument[]): readonly string[] {
  if (rounds.length < 2) return [];
  const { columns, rows } = comparisonTable(rounds);
  return [
    "<h2>Across backends</h2>",
    `<ol>${rounds.map((document) => `<li>${escapeHtml(roundTitle(document))}</li>`).join("")}</ol>`,
    htmlTable(columns, rows),
  ];
}

/** The same report as one page without a script. */
export function labHtml(rounds: readonly LabDocument[], picture: LabPicture = () => null): string {
  const parts = [
    "<h1>The leak lab</h1>",
    ...acrossBackends(rounds),
    ...rounds.flatMap((document, index) => [
      `<h2>${escapeHtml(roundTitle(document))}</h2>`,
      htmlTable(CATALOGUE_COLUMNS, document.patterns.map(catalogueRow)),
      timelines(document, index, picture),
    ]),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>The leak lab</title>
<style>${STYLE}</style></head><body>
${parts.filter((part) => part !== "").join("\n")}
</body></html>
`;
}
