import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { ScaleDocumentSchema } from "../../src/lab/report/scale-document.ts";
import { answerText } from "../../src/lab/report/scale-text.ts";

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
});
