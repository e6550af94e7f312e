import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { ScaleDocumentSchema } from "../../src/lab/report/scale-document.ts";
import { scalePicture } from "../../src/lab/report/scale-picture.ts";
import { answerText } from "../../src/lab/report/scale-table.ts";
import { svgToPng } from "../../src/report/timeline/timeline-png.ts";

const DOCS = path.join(packageRoot(), "docs");
const EVIDENCE = path.join(packageRoot(), "test", "lab", "fixtures", "scale");
const page = readFileSync(path.join(DOCS, "evidence/leak-lab.md"), "utf8");
/** The documents that real searches left, by pattern. */
const names = readdirSync(EVIDENCE).map((file) => path.basename(file, ".json"));
const documentOf = (name: string) =>
  v.parse(ScaleDocumentSchema, JSON.parse(readFileSync(path.join(EVIDENCE, `${name}.json`), "utf8")));

describe("docs/evidence/leak-lab.md", () => {
  it("shows a visible leak and the one that is not", () => {
    expect(names.length).toBeGreaterThanOrEqual(2);
    expect(names).toContain("scaler_accumulation");
  });

  it.each(names)("states for %s what its search found, in the command's format", (name) => {
    expect(page.replace(/\s+/g, " ")).toContain(answerText(documentOf(name)));
  });

  it.each(names)("the page has the current picture of %s, small and with an alternative text", async (name) => {
    const [, words = ""] = new RegExp(`!\\[([^\\]]*)\\]\\(../images/lab-scale-${name}\\.png\\)`).exec(page) ?? [];
    expect(words.length).toBeGreaterThan(60);
    const committed = readFileSync(path.join(DOCS, "images", `lab-scale-${name}.png`));
    expect(committed.length).toBeLessThanOrEqual(100_000);
    expect(committed.equals(await svgToPng(scalePicture(documentOf(name))))).toBe(true);
  });
});
