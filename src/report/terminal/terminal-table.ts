import { styleText } from "node:util";
import { escapeTerminal } from "../../core/escape.ts";
import type { Verdict } from "../model/gate-report.ts";

const STYLES = ["bold", "dim", "red", "green", "yellow", "cyan", "magenta"] as const;

/** Paints text for a terminal, or leaves it as it is. */
export type Paint = Readonly<Record<(typeof STYLES)[number], (text: string) => string>>;

/** The caller alone decides about colour: on newer Node `styleText` would otherwise inspect stdout. */
export function painter(color: boolean): Paint {
  const styled = STYLES.map((style) => [
    style,
    (text: string) => (color ? styleText(style, text, { validateStream: false }) : text),
  ]);
  return Object.fromEntries(styled) as Paint;
}

export function paintVerdict(paint: Paint, verdict: Verdict, text: string): string {
  const { green: pass, yellow: warn, red: fail, cyan: unjudged, magenta: error } = paint;
  return paint.bold({ pass, warn, fail, unjudged, error }[verdict](text));
}

/** A cell: what is printed, and how wide it is without colours. */
export interface Cell {
  readonly text: string;
  readonly width: number;
}

export function cell(text: string, paint: (text: string) => string = (plain) => plain): Cell {
  return { text: paint(text), width: displayWidth(text) };
}

/** Outside text on one line. */
export function safe(text: string): string {
  return escapeTerminal(text.replace(/[\r\n\t]+/g, " "));
}

/** Columns of a terminal that a report uses: enough for whole words, and few enough for readable lines. */
export function usableWidth(width: number, most: number): number {
  return Math.min(most, Math.max(40, Number.isFinite(width) ? Math.floor(width) : 80));
}

/** Columns a text takes on a terminal: East Asian wide letters and emoji take two, combining marks none. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const letter of text) {
    if (/\p{Mark}/u.test(letter)) continue;
    width +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u.test(
        letter,
      )
        ? 2
        : 1;
  }
  return width;
}

/** Rows with aligned columns, two spaces apart, without trailing spaces. `right` names the columns that align right. */
export function alignRows(rows: readonly (readonly Cell[])[], right: readonly boolean[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, item] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, item.width);
  }
  return rows.map((row) =>
    row
      .map((item, i) => {
        const pad = " ".repeat(widths[i]! - item.width);
        if (right[i]) return pad + item.text;
        return i === row.length - 1 ? item.text : item.text + pad;
      })
      .join("  ")
      .trimEnd(),
  );
}

/** A text cut to `width` columns, with an ellipsis where it was cut. */
export function clip(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let out = "";
  let used = 0;
  for (const letter of text) {
    used += displayWidth(letter);
    if (used > width - 1) break;
    out += letter;
  }
  return `${out}…`;
}

/** A text broken at spaces into lines of at most `width` columns; later lines are indented. */
export function wrapText(text: string, width: number, indent: string): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).filter((part) => part !== "")) {
    const next = line === "" ? word : `${line} ${word}`;
    if (line !== "" && displayWidth(next) > width) {
      lines.push(line);
      line = indent + word;
    } else {
      line = next;
    }
  }
  if (line !== "") lines.push(line);
  return lines;
}

/** Dimmed notes below a table, wrapped and indented. */
export function noteLines(notes: readonly string[], paint: Paint, width: number): string[] {
  return notes
    .flatMap((note) => wrapText(`  ${safe(note)}`, width, "    "))
    .map((line) => paint.dim(`  ${line.trimStart()}`));
}
