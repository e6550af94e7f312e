// Makes the small font that timeline pictures are drawn with, and the table of its letter widths.
//
//   node scripts/make-font.mjs
//
// Writes src/report/timeline/assets/dejavu-sans-subset.ttf and src/report/drawing/font-metrics.ts. Both are committed:
// a build needs neither this script nor the full font. Run it again after changing SYMBOLS.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import subsetFont from "subset-font";

const SYMBOLS = "\u00a0±²·×÷–—…‘’“”•→↑↓≤≥≈−∞✓✗⚠█▁▂▃▄▅▆▇µσΔ\ufffd";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = createRequire(import.meta.url).resolve("dejavu-fonts-ttf/ttf/DejaVuSans.ttf");
const ascii = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join("");
const font = readFileSync(source);
const subset = await subsetFont(font, ascii + SYMBOLS, { targetFormat: "sfnt" });
writeFileSync(`${root}src/report/timeline/assets/dejavu-sans-subset.ttf`, subset);

const tables = new Map();
for (let i = 0; i < subset.readUInt16BE(4); i++) {
  const at = 12 + 16 * i;
  tables.set(subset.toString("latin1", at, at + 4), subset.readUInt32BE(at + 8));
}
const unitsPerEm = subset.readUInt16BE(tables.get("head") + 18);
const longMetrics = subset.readUInt16BE(tables.get("hhea") + 34);
const advance = (glyph) => subset.readUInt16BE(tables.get("hmtx") + 4 * Math.min(glyph, longMetrics - 1));

const widths = {};
const missing = [];
for (const letter of ascii + SYMBOLS) {
  const glyph = glyphOf(letter.codePointAt(0));
  if (glyph === 0) missing.push(letter);
  widths[letter] = Math.round((advance(glyph) / unitsPerEm) * 1000);
}
if (missing.length > 0) throw new Error(`the font has no glyph for ${missing.join(" ")}`);

const lettersOf = {};
for (const [letter, width] of Object.entries(widths)) lettersOf[width] = letter + (lettersOf[width] ?? "");
const entries = Object.entries(lettersOf).map(([width, letters]) => `${width}: ${JSON.stringify(letters)}`);
writeFileSync(
  `${root}src/report/drawing/font-metrics.ts`,
  `// Made by scripts/make-font.mjs; do not edit.

/** The letters of the shipped font by their advance width in thousandths of the font size. */
const LETTERS: Readonly<Record<number, string>> = {
  ${entries.join(",\n  ")},
};
export const LETTER_WIDTHS: ReadonlyMap<string, number> = new Map(
  Object.entries(LETTERS).flatMap(([width, letters]) => [...letters].map((letter) => [letter, Number(width)] as const)),
);
`,
);
console.log(`${subset.length} bytes, ${Object.keys(widths).length} letters`);

/** Glyph number by the font's character map (the Unicode BMP subtable, format 4). */
function glyphOf(code) {
  const cmap = tables.get("cmap");
  for (let i = 0; i < subset.readUInt16BE(cmap + 2); i++) {
    const table = cmap + subset.readUInt32BE(cmap + 8 + 8 * i);
    if (subset.readUInt16BE(table) !== 4) continue;
    const segments = subset.readUInt16BE(table + 6) / 2;
    for (let s = 0; s < segments; s++) {
      const end = subset.readUInt16BE(table + 14 + 2 * s);
      if (code > end) continue;
      const startAt = table + 16 + 2 * segments + 2 * s;
      const start = subset.readUInt16BE(startAt);
      if (code < start) return 0;
      const delta = subset.readUInt16BE(startAt + 2 * segments);
      const rangeAt = startAt + 4 * segments;
      const range = subset.readUInt16BE(rangeAt);
      if (range === 0) return (code + delta) & 0xffff;
      const glyph = subset.readUInt16BE(rangeAt + range + 2 * (code - start));
      return glyph === 0 ? 0 : (glyph + delta) & 0xffff;
    }
    return 0;
  }
  throw new Error("the font has no format 4 character map");
}
