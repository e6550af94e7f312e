import { oneLine } from "./text.ts";

/** Outside text is escaped where it is printed, with one function per edge; each is total and never throws. */

/**
 * Characters that act without being seen: controls but tab and newline, marks of direction, letters and spaces without
 * width, tag letters, halves of a character. With the flag `u` whole characters are matched.
 */
export const HIDDEN_CHARACTERS =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}\p{Cs}]/gu;

/** For a terminal: control characters (ANSI sequences, bidi overrides) become visible `\xNN`, newlines stay. */
export function escapeTerminal(text: string): string {
  return text.replace(HIDDEN_CHARACTERS, (c) => `\\x${c.codePointAt(0)!.toString(16).padStart(2, "0")}`);
}

/** For HTML and SVG text and attribute values. */
export function escapeHtml(text: string): string {
  return text.replace(HIDDEN_CHARACTERS, "\ufffd").replace(/[&<>"'`]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** For one line of GitHub markdown or a table cell: no markup, mention, link or HTML. Newlines become spaces. */
export function escapeMarkdown(text: string): string {
  return (
    oneLine(text)
      .replace(HIDDEN_CHARACTERS, "\ufffd")
      .replace(/[\\`*_{}[\]()<>#+\-.!|~&@:$"'^=/]/g, (c) => `&#${c.charCodeAt(0)};`)
      // GitHub looks for mentions and issue numbers in the rendered text, where the entity is a letter again: a
      // zero-width space after it keeps "@name" and "#12" from becoming links.
      .replace(/&#(?:35|64);/g, "$&&#8203;")
      // "GH-12" is a reference too.
      .replace(/(GH&#45;)(?=\d)/gi, "$1&#8203;")
  );
}

/** For text inside a mermaid double-quoted string. */
export function escapeMermaid(text: string): string {
  return oneLine(text)
    .replace(HIDDEN_CHARACTERS, "\ufffd")
    .replace(/["`;%#\\{}<>&[\]]/g, "'");
}
