import { oneLine } from "./text.ts";

/** Outside text is escaped where it is printed, with one function per edge; each is total and never throws. */

const FORMAT = String.raw`\p{Cf}\p{Default_Ignorable_Code_Point}`;
/** Scripts in which a joiner between two letters changes the shape of both. */
const JOINING = [
  "Arab",
  "Syrc",
  "Deva",
  "Beng",
  "Guru",
  "Gujr",
  "Orya",
  "Taml",
  "Telu",
  "Knda",
  "Mlym",
  "Sinh",
  "Khmr",
];
const JOINED = `[${JOINING.map((script) => `\\p{sc=${script}}`).join("")}](?<![${FORMAT}])`;
const PICTURE = String.raw`\p{Extended_Pictographic}`;

/** Most text has none of them; the expression for all takes a millisecond to make. */
const PLAIN = /^[\t\n -~]*$/;
let hidden: RegExp | undefined;

/** With the flag `u` whole characters are matched. */
function hiddenCharacters(): RegExp {
  hidden ??= new RegExp(
    String.raw`[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\p{Cs}${FORMAT}]` +
      `(?<!${JOINED}[\u200c\u200d](?=${JOINED})|${PICTURE}[\ufe0e\ufe0f]|${PICTURE}[\ufe0f\u{1f3fb}-\u{1f3ff}]?\u200d(?=${PICTURE}))`,
    "gu",
  );
  return hidden;
}

/**
 * Replaces characters that act without being seen: controls but tab and newline, format characters, everything that
 * Unicode lets a renderer ignore, halves of a character. Left are a joiner between two letters of a script that needs
 * it, a joiner between two emoji, and the one selector after an emoji.
 */
export function replaceHidden(text: string, by: (character: string) => string): string {
  return PLAIN.test(text) ? text : text.replace(hiddenCharacters(), by);
}

const unknown = (): string => "\ufffd";

/** For a terminal: control characters (ANSI sequences, bidi overrides) become visible `\xNN`, newlines stay. */
export function escapeTerminal(text: string): string {
  return replaceHidden(text, (c) => `\\x${c.codePointAt(0)!.toString(16).padStart(2, "0")}`);
}

/** For HTML and SVG text and attribute values. */
export function escapeHtml(text: string): string {
  return replaceHidden(text, unknown).replace(/[&<>"'`]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** For one line of GitHub markdown or a table cell: no markup, mention, link or HTML. Newlines become spaces. */
export function escapeMarkdown(text: string): string {
  return (
    replaceHidden(oneLine(text), unknown)
      .replace(/[\\`*_{}[\]()<>#+\-.!|~&@:$"'^=/]/g, (c) => `&#${c.charCodeAt(0)};`)
      // GitHub looks for mentions and issue numbers in the rendered text, where the entity is a letter again: a
      // zero-width space after it keeps "@name" and "#12" from becoming links.
      .replace(/&#(?:35|64);/g, "$&&#8203;")
      // "GH-12" is a reference too.
      .replace(/(GH&#45;)(?=\d)/gi, "$1&#8203;")
  );
}

const ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", "'": "\\'" };

/** A word as a shell reads it: unchanged where it has no special characters, else in single quotes and on one line. */
export function shellWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (!/[\r\n]/.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  return `$'${word.replace(/[\n\r\t\\']/g, (character) => ESCAPES[character] ?? "")}'`;
}
