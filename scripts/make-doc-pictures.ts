/**
 * Draws the pictures of docs/how-verdicts-are-made.md: seeded series, analysed and judged by the real code.
 * Fails when a result differs from the page. Usage: npx tsx scripts/make-doc-pictures.ts
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { svgToPng } from "../src/report/timeline/timeline-png.ts";
import { breachPicture } from "./doc-pictures/breach-picture.ts";
import { powerPicture } from "./doc-pictures/power-picture.ts";
import { PAIRS } from "./doc-pictures/series.ts";
import { seriesPicture } from "./doc-pictures/series-picture.ts";

const MAX_BYTES = 100_000;
const directory = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../docs/images");
mkdirSync(directory, { recursive: true });

const pictures: Readonly<Record<string, () => string>> = {
  ...Object.fromEntries(Object.entries(PAIRS).map(([name, pair]) => [name, () => seriesPicture(pair)])),
  breach: breachPicture,
  "blind-spot": powerPicture,
};

for (const [name, draw] of Object.entries(pictures)) {
  const png = await svgToPng(draw());
  if (png.length > MAX_BYTES) throw new Error(`${name}.png has ${png.length} bytes, more than ${MAX_BYTES}`);
  writeFileSync(path.join(directory, `${name}.png`), png);
  console.log(`docs/images/${name}.png ${png.length} bytes`);
}
