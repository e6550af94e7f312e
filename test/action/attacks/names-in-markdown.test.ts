import { beforeAll, describe, expect, it } from "vitest";
import { FIELDS, hostileSection } from "./full-report.ts";
import { HAS_CMARK, mermaidProblems, prerender, renderedProblems, skeleton, sourceProblems } from "./oracle.ts";
import { COMBINED, PAYLOADS } from "./payloads.ts";
import { comments, singleComment } from "./rendered-comments.ts";

/**
 * Every text that a stranger can write into a section, as markdown. The sections have passed the reader, and the renderers are those
 * of the product.
 */
const harmless = comments(hostileSection("x"), "x");

describe("a name in markdown that", () => {
  const written = PAYLOADS.map(([title, text]) => ({ title, text, texts: comments(hostileSection(text), text) }));

  it.each(written)("$title stays text, by the source", ({ texts }) => {
    for (const markdown of texts) {
      expect(sourceProblems(markdown)).toEqual([]);
      expect(mermaidProblems(markdown)).toEqual([]);
    }
  });

  it.skipIf(!HAS_CMARK).each(written)("$title stays text, as GitHub renders it (cmark-gfm)", ({ text, texts }) => {
    prerender(texts);
    for (const [at, markdown] of texts.entries()) {
      expect(renderedProblems(markdown)).toEqual([]);
      // Without a text some of its parts are left out, and of too much text as well.
      if (text.trim() !== "" && text.length < 1000) expect(skeleton(markdown)).toBe(skeleton(harmless[at]!));
    }
  });
});

describe("in the field", () => {
  it.each([...FIELDS.keys()])("%s no text acts in the comment", (field) => {
    const texts = COMBINED.map((text) => singleComment(hostileSection(text, [field]), ""));
    if (HAS_CMARK) prerender(texts);
    for (const markdown of texts) {
      expect(sourceProblems(markdown)).toEqual([]);
      expect(mermaidProblems(markdown)).toEqual([]);
      if (HAS_CMARK) expect(renderedProblems(markdown)).toEqual([]);
    }
  });
});

describe("a key of a record", () => {
  it.each(COMBINED)("%j stays text", (key) => {
    const section = hostileSection("x");
    const scenarios = section.report.scenarios.map((scenario) => ({
      ...scenario,
      fingerprint: { ...scenario.fingerprint, [key]: "value" },
    }));
    for (const markdown of comments({ ...section, report: { ...section.report, scenarios } }, "")) {
      expect(sourceProblems(markdown)).toEqual([]);
      if (HAS_CMARK) expect(renderedProblems(markdown)).toEqual([]);
    }
  });
});

describe("the oracle itself", () => {
  let plain: readonly string[] = [];
  beforeAll(() => {
    plain = PAYLOADS.map(([, text]) => text);
  });

  it("finds fault with most of these texts where nobody escapes them", () => {
    const found = plain.filter((text) => sourceProblems(`a ${text} b`).length > 0);
    expect(found.length).toBeGreaterThan(30);
  });

  it.skipIf(!HAS_CMARK)("does so in the rendered text too", () => {
    const found = plain.filter((text) => renderedProblems(`a ${text} b`).length > 0);
    expect(found.length).toBeGreaterThan(20);
  });

  it("has a few dozen fields to look at, and loses none unseen", () => {
    expect(FIELDS.size).toBeGreaterThanOrEqual(65);
  });
});
