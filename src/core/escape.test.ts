import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeHtml, escapeMarkdown, escapeMermaid, escapeTerminal } from "./escape.ts";

describe("escaping at the edges", () => {
  it("shows a terminal's control sequences instead of obeying them", () => {
    expect(escapeTerminal("a\u001b[31mred\u0007\u202e")).toBe("a\\x1b[31mred\\x07\\x202e");
    expect(escapeTerminal("two\nlines\tkept")).toBe("two\nlines\tkept");
  });

  it("leaves no tag, attribute quote or entity in HTML", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(escapeHtml(text)).not.toMatch(/[<>"'`]|&(?!#\d+;)/);
      }),
    );
  });

  it("leaves no markup, mention, link or comment in markdown, and one line", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(escapeMarkdown(text).replace(/&#\d+;/g, "")).not.toMatch(/[\\`*_{}[\]()<>#|@!~\n\r&]/);
      }),
    );
    expect(escapeMarkdown("<!-- stormlog-gate:x -->")).not.toContain("<!--");
  });

  it("keeps a mermaid string inside its quotes", () => {
    expect(escapeMermaid('a"]\n%%{init}')).not.toMatch(/["\n%{}\]]/);
  });
});
