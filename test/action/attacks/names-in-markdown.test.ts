import { beforeAll, describe, expect, it } from "vitest";
import { FIELDS, hostileSection } from "./full-report.ts";
import { HAS_CMARK, prerender, renderedProblems, skeleton, sourceProblems } from "./oracle.ts";
import { COMBINED, PAYLOADS } from "./payloads.ts";
import { comments, singleComment } from "./rendered-comments.ts";

/**
 * Every untrusted text of a section as markdown. The sections have passed the reader, and the renderers are those
 * of the product.
 */
const harmless = comments(hostileSection("x"), "x");

describe("a name in markdown that", () => {
  const written = PAYLOADS.map(([title, text]) => ({ title, text, texts: comments(hostileSection(text), text) }));

  it.each(written)("a name that $title stays text in the source of the markdown", ({ texts }) => {
    for (const markdown of texts) {
      expect(sourceProblems(markdown)).toEqual([]);
    }
  });

  it.skipIf(!HAS_CMARK).each(written)(
    "a name that $title stays text as GitHub renders it (cmark-gfm)",
    ({ text, texts }) => {
      prerender(texts);
      for (const [at, markdown] of texts.entries()) {
        expect(renderedProblems(markdown)).toEqual([]);
        // Without a text, and with too much text, some parts are left out.
        if (text.trim() !== "" && text.length < 1000) expect(skeleton(markdown)).toBe(skeleton(harmless[at]!));
      }
    },
  );
});

describe("in the field", () => {
  it.each([...FIELDS.keys()])("text in the field %s stays text in the comment", (field) => {
    const texts = COMBINED.map((text) => singleComment(hostileSection(text, [field]), ""));
    if (HAS_CMARK) prerender(texts);
    for (const markdown of texts) {
      expect(sourceProblems(markdown)).toEqual([]);
      if (HAS_CMARK) expect(renderedProblems(markdown)).toEqual([]);
    }
  });
});

describe("a key of a record", () => {
  it.each(COMBINED)("the key %j of a record stays text", (key) => {
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

describe("the oracle", () => {
  let plain: readonly string[] = [];
  beforeAll(() => {
    plain = PAYLOADS.map(([, text]) => text);
  });

  it("the source oracle finds most of these texts unescaped", () => {
    const found = plain.filter((text) => sourceProblems(`a ${text} b`).length > 0);
    expect(found.length).toBeGreaterThan(30);
  });

  it.skipIf(!HAS_CMARK)("the rendering oracle finds most of these texts unescaped", () => {
    const found = plain.filter((text) => renderedProblems(`a ${text} b`).length > 0);
    expect(found.length).toBeGreaterThan(20);
  });

  it("the attacks cover at least 65 fields", () => {
    expect(FIELDS.size).toBeGreaterThanOrEqual(65);
  });
});
