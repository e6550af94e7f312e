/**
 * Outside text (scenario names, branches, paths, GPU names, child output) is escaped at the edge where it is printed.
 * One function per edge; each is total and never throws.
 */

const CONTROL_AND_BIDI = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** For a terminal: control characters (ANSI sequences, bidi overrides) become visible `\xNN`, newlines stay. */
export function escapeTerminal(text: string): string {
  return text.replace(CONTROL_AND_BIDI, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

/** For HTML and SVG text and attribute values. */
export function escapeHtml(text: string): string {
  return text.replace(CONTROL_AND_BIDI, "\ufffd").replace(/[&<>"'`]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/**
 * For one line of GitHub-flavoured markdown, table cells included: no markup, mention, issue reference, link, HTML or
 * comment survives. Newlines become spaces.
 */
export function escapeMarkdown(text: string): string {
  return (
    text
      .replace(/[\r\n]+/g, " ")
      .replace(CONTROL_AND_BIDI, "\ufffd")
      .replace(/[\\`*_{}[\]()<>#+\-.!|~&@:$"'^=/]/g, (c) => `&#${c.charCodeAt(0)};`)
      // GitHub looks for mentions and issue numbers in the rendered text, where the entity is a letter again: a zero-width
      // space after it keeps "@name" and "#12" from becoming links.
      .replace(/&#(?:35|64);/g, "$&&#8203;")
  );
}

/** For text inside a mermaid double-quoted string. */
export function escapeMermaid(text: string): string {
  return text
    .replace(/[\r\n]+/g, " ")
    .replace(CONTROL_AND_BIDI, "\ufffd")
    .replace(/["`;%#\\{}<>&[\]]/g, "'");
}
