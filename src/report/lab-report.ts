import { escapeHtml } from "../core/escape.ts";
import { type ComparisonRow, compareRounds } from "./lab-comparison.ts";
import type { LabDocument } from "./lab-document.ts";
import {
  accuracyText,
  CATALOGUE_COLUMNS,
  catalogueMarkdown,
  catalogueRow,
  outcomeText,
  ratioText,
  roundTitle,
  sizeText,
  slopeOf,
} from "./lab-table.ts";
import { md, table } from "./markdown-text.ts";
import { INK } from "./palette.ts";

interface Column {
  readonly name: string;
  readonly align: "l" | "r";
  readonly text: (row: ComparisonRow) => string;
}

const UNKNOWN = "–";

function backendName(document: LabDocument, index: number): string {
  return `${index + 1}: ${document.backend ?? "unknown"}`;
}

/** Columns of the cross-backend table: what each round says, then how the first compares with each other one. */
function comparisonColumns(rounds: readonly LabDocument[]): readonly Column[] {
  const each = rounds.flatMap((document, index): Column[] => {
    const name = backendName(document, index);
    const cell = (row: ComparisonRow) => row.cells[index] ?? null;
    return [
      { name: `${name} leaky`, align: "r", text: (row) => sizeText(cell(row)?.pattern.leaky?.peak_bytes) },
      { name: "fixed", align: "r", text: (row) => sizeText(cell(row)?.pattern.fixed?.peak_bytes) },
      { name: "ratio", align: "r", text: (row) => ratioText(cell(row)?.pattern.ratio ?? null) },
      {
        name: "shown",
        align: "r",
        text: (row) => {
          const part = cell(row)?.shown ?? null;
          return part === null ? UNKNOWN : `${Math.round(100 * part)} %`;
        },
      },
      { name: "outcome", align: "l", text: (row) => (cell(row) === null ? "not run" : outcomeOnly(row, index)) },
    ];
  });
  const against = rounds.slice(1).map((_, index): Column => {
    const other = index + 1;
    return {
      name: `ratio 1 over ${other + 1}`,
      align: "r",
      text: (row) => ratioText(row.ratioOfRatios[other] ?? null),
    };
  });
  const quietest: Column = {
    name: "quietest on",
    align: "l",
    text: ({ dampened }) => {
      const document = dampened === null ? undefined : rounds[dampened];
      return document === undefined || dampened === null ? UNKNOWN : backendName(document, dampened);
    },
  };
  return [
    { name: "pattern", align: "l", text: ({ name }) => name },
    ...each,
    ...against,
    ...(rounds.length > 1 ? [quietest] : []),
  ];
}

/** The outcome without its figures, which have columns of their own. */
function outcomeOnly(row: ComparisonRow, index: number): string {
  const pattern = row.cells[index]?.pattern;
  return pattern === undefined ? "not run" : (outcomeText(pattern).split(":")[0] ?? UNKNOWN);
}

/** Which backend dampens, and how strongly, as one sentence for each pair with the first; empty for one round. */
export function dampening(rounds: readonly LabDocument[]): readonly string[] {
  const rows = compareRounds(rounds);
  return rounds.slice(1).flatMap((document, at) => {
    const known = rows.flatMap(({ name, ratioOfRatios }) => {
      const factor = ratioOfRatios[at + 1] ?? null;
      return factor === null ? [] : [{ name, factor }];
    });
    if (known.length === 0) return [];
    const sorted = [...known].sort((a, b) => a.factor - b.factor);
    const [low, high] = [sorted[0], sorted.at(-1)];
    if (low === undefined || high === undefined) return [];
    const quieter = known.filter(({ factor }) => factor > 1).length;
    return [
      `On ${backendName(document, at + 1)}, ${quieter} of ${known.length} leaks raise the peak less than on ${backendName(rounds[0] as LabDocument, 0)}: by ${ratioText(high.factor)} at most (${high.name}), ${ratioText(low.factor)} at least (${low.name}).`,
    ];
  });
}

/** A report of one or more rounds as markdown: across backends first, then each round's catalogue. */
export function labMarkdown(rounds: readonly LabDocument[]): string {
  const parts = ["# The leak lab"];
  if (rounds.length > 1) {
    const columns = comparisonColumns(rounds);
    const rows = compareRounds(rounds).map((row) => columns.map(({ text }) => md(text(row), 120)));
    parts.push(
      "## Across backends",
      rounds.map((document, index) => `${index + 1}. ${md(roundTitle(document))}`).join("\n"),
      table(
        columns.map(({ name }) => md(name)),
        columns.map(({ align }) => align),
        rows,
      ),
      dampening(rounds)
        .map((sentence) => md(sentence, 400))
        .join("\n\n"),
    );
  }
  for (const document of rounds)
    parts.push(`## ${md(document.backend ?? "Nothing measured")}`, catalogueMarkdown(document));
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;color:${INK.text};background:${INK.paper};margin:2rem auto;max-width:110rem;padding:0 1rem}
table{border-collapse:collapse;display:block;overflow-x:auto;margin:0 0 1.4rem}th,td{padding:.3rem .7rem;border-bottom:1px solid ${INK.grid};white-space:nowrap;text-align:left}
.r{text-align:right;font-variant-numeric:tabular-nums}p,li{color:${INK.soft}}td svg{vertical-align:middle}
figure{margin:1.2rem 0 0}figure img{width:min(48%,34rem);margin-right:1%}`;

function htmlTable(columns: readonly (readonly [string, "l" | "r"])[], rows: readonly (readonly string[])[]): string {
  const side = (index: number): string => (columns[index]?.[1] === "r" ? ' class="r"' : "");
  const head = columns.map(([name], index) => `<th${side(index)} scope="col">${escapeHtml(name)}</th>`).join("");
  const body = rows
    .map((row) => `<tr>${row.map((text, index) => `<td${side(index)}>${escapeHtml(text)}</td>`).join("")}</tr>`)
    .join("\n");
  return `<table><thead><tr>${head}</tr></thead><tbody>\n${body}\n</tbody></table>`;
}

/** The widest bar, pixels. */
const BAR = 220;

/** Peaks of all patterns, leaky over fixed, one small chart a round; all of a round in one scale. */
function peakBars(document: LabDocument): string {
  const measured = document.patterns.filter(({ leaky, fixed }) => leaky?.peak_bytes && fixed?.peak_bytes);
  const most = Math.max(
    1,
    ...measured.map(({ leaky, fixed }) => Math.max(leaky?.peak_bytes ?? 0, fixed?.peak_bytes ?? 0)),
  );
  const rows = measured.map((pattern) => {
    const bar = (bytes: number | null | undefined, top: number, color: string): string =>
      `<rect x="0" y="${top}" width="${Math.max(1, ((bytes ?? 0) / most) * BAR).toFixed(1)}" height="8" fill="${color}"/>`;
    const label = `${pattern.name}: leaky ${sizeText(pattern.leaky?.peak_bytes)}, fixed ${sizeText(pattern.fixed?.peak_bytes)}`;
    const svg = `<svg width="${BAR}" height="20" role="img" aria-label="${escapeHtml(label)}">${bar(pattern.leaky?.peak_bytes, 1, "#d55e00")}${bar(pattern.fixed?.peak_bytes, 11, "#0072b2")}</svg>`;
    return `<tr><td>${escapeHtml(pattern.name)}</td><td>${svg}</td><td class="r">${escapeHtml(ratioText(pattern.ratio))}</td><td>${escapeHtml(slopeOf(pattern.leaky))}</td><td>${escapeHtml(accuracyText(pattern))}</td></tr>`;
  });
  if (rows.length === 0) return "";
  const head =
    '<th scope="col">pattern</th><th scope="col">peak: leaky over fixed</th><th class="r" scope="col">ratio</th><th scope="col">slope</th><th scope="col">accuracy fixed → leaky</th>';
  return `<table><thead><tr>${head}</tr></thead><tbody>\n${rows.join("\n")}\n</tbody></table>`;
}

/** A state's timeline as PNG in base64; null where the bundle has none. */
export type LabPicture = (round: number, pattern: string, state: "leaky" | "fixed") => string | null;

/** Timelines of a round, leaky beside fixed, pattern under pattern. */
function smallMultiples(document: LabDocument, index: number, picture: LabPicture): string {
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

/** The same report as one self-contained page, without a script. */
export function labHtml(rounds: readonly LabDocument[], picture: LabPicture = () => null): string {
  const parts: string[] = ["<h1>The leak lab</h1>"];
  if (rounds.length > 1) {
    const columns = comparisonColumns(rounds);
    parts.push(
      "<h2>Across backends</h2>",
      `<ol>${rounds.map((document) => `<li>${escapeHtml(roundTitle(document))}</li>`).join("")}</ol>`,
      htmlTable(
        columns.map(({ name, align }) => [name, align] as const),
        compareRounds(rounds).map((row) => columns.map(({ text }) => text(row))),
      ),
      ...dampening(rounds).map((sentence) => `<p>${escapeHtml(sentence)}</p>`),
    );
  }
  for (const [index, document] of rounds.entries()) {
    parts.push(
      `<h2>${escapeHtml(roundTitle(document))}</h2>`,
      peakBars(document),
      htmlTable(CATALOGUE_COLUMNS, document.patterns.map(catalogueRow)),
      smallMultiples(document, index, picture),
    );
  }
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>The leak lab</title>
<style>${STYLE}</style></head><body>
${parts.filter((part) => part !== "").join("\n")}
</body></html>
`;
}
