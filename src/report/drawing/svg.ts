import { escapeHtml } from "../../core/escape.ts";

/** Width and margin of pictures: letters of 18 px stay readable where a page shows one 600 px wide. */
export const WIDTH = 1200;
export const MARGIN = 28;
export const MIDDLE = ' text-anchor="middle"';
export const END = ' text-anchor="end"';

/** A picture as an SVG document in the font "DejaVu Sans", on paper of one colour; parts may be "". */
export function svgDocument(width: number, height: number, paper: string, parts: readonly string[]): string {
  const start = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="DejaVu Sans, sans-serif">`;
  const background = `<rect width="${width}" height="${height}" fill="${paper}"/>`;
  return [start, background, ...parts.filter((part) => part !== ""), "</svg>"].join("\n");
}

/** A text, escaped, with its base line at `y`; nothing for "". @param more attributes: `MIDDLE`, `END` */
export function svgText(content: string, x: number, y: number, size: number, color: string, more = ""): string {
  if (content === "") return "";
  return `<text x="${tenth(x)}" y="${tenth(y)}" font-size="${size}" fill="${color}"${more}>${escapeHtml(content)}</text>`;
}

/** The square of a legend. */
export const svgSwatch = (x: number, y: number, color: string): string =>
  `<rect x="${tenth(x)}" y="${y}" width="16" height="16" rx="3" fill="${color}"/>`;

const tenth = (pixels: number): number => Math.round(10 * pixels) / 10;
