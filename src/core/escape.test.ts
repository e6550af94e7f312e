import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeHtml, escapeMarkdown, escapeTerminal } from "./escape.ts";

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

  const EDGES = { escapeHtml, escapeMarkdown, escapeTerminal };
  const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\p{Cs}]|(?![\t\n])\p{Cc}/u;

  it("every edge shows each code point that a renderer ignores, obeys or cannot draw", () => {
    const passed = Object.entries(EDGES).flatMap(([name, shown]) =>
      Array.from({ length: 0x110000 }, (_, point) => String.fromCodePoint(point))
        .filter((character) => invisible.test(character) && shown(`a${character}b`).includes(character))
        .filter((character) => !/[\r\u200b]/.test(character) || shown === escapeTerminal)
        .map((character) => `${name} ${character.codePointAt(0)?.toString(16)}`),
    );
    expect(passed).toEqual([]);
  });

  it("joiners and selectors stay only where a script or an emoji needs them", () => {
    const kept = ["می\u200cخواهم", "क्\u200dष", "⚠\ufe0f", "👩🏽\u200d🚀", "❤\ufe0f\u200d🔥"];
    for (const text of kept)
      expect([escapeTerminal(text), escapeHtml(text), escapeMarkdown(text)]).toEqual([text, text, text]);
    const removed = [
      "a\u200cb",
      "م\u200c",
      "\u200dم",
      "a\u200dم",
      "⚠\ufe0f\ufe0f",
      "1\ufe0f",
      "👩\u200da",
      "م\u0600\u200dم",
      "\u17b4\u200d\u17b4",
    ];
    for (const text of removed) expect(escapeTerminal(text)).not.toBe(text);
    expect(escapeTerminal("⚠\ufe0f\ufe0f")).toBe("⚠\ufe0f\\xfe0f");
  });
});
