/** A line at the very start of which a command may stand, with the reason why it does not count; null = it counts. */
export interface OwnLine {
  readonly text: string;
  readonly rejection: string | null;
}

const MAX_TEXT_CHARS = 262_144;

const IN_PARAGRAPH = "it continues a quotation, a list or markup; put an empty line before it";
const AFTER_MARKUP = "it stands below HTML or an indented code block; put it above, or into a comment of its own";

const FENCE = /^( {0,3})(`{3,}|~{3,})(.*)$/s;
/** A fence that is indented or in a quotation or list, whose end depends on what surrounds it. */
const NESTED_FENCE = /^(?:[ \t]|>|[-*+][ \t]|\d{1,9}[.)][ \t])[ \t>*+\d.)-]*(?:`{3,}|~{3,})/;
/** An indented line may belong to a list item that began above an empty line. */
const CONTAINER = /^(?:[ \t>]|[-*+](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$))/;
/** An element without content, complete on one line; its quotes are balanced and hide nothing. */
const VOID_ELEMENT = /<(?:img|br|hr)(?:[ \t]+[\w:-]+(?:=(?:"[^"<>]*"|'[^'<>]*'|[^ \t"'=<>`]+))?)*[ \t]*\/?>/gi;
const AUTOLINK = /<[a-z][a-z0-9+.-]{1,31}:[^\s<>]*>/gi;
const BLANK = /^[ \t]*$/;
const MARKUP = /<[a-z/!?]/i;
const LINK = /!?\[[^[\]]*\]\([^()\s<"']*\)/g;
/** What can go on in the next line and change how that is rendered. */
const CAN_GO_ON = /[`[\]$|~]/;

/** The line without its code spans, where they are certain: single ticks, in pairs, none of them escaped. */
function withoutCode(line: string): string {
  const isCertain = !/``|\\`/.test(line) && (line.split("`").length - 1) % 2 === 0;
  return isCertain ? line.replace(/`[^`]*`/g, "") : line;
}

/** Ends a comment for a browser, and not for markdown. */
const EARLY_END = "--!>";

/** The line without its HTML comments, as far as markdown and a browser agree where each ends. */
function withoutComments(line: string): string {
  let kept = "";
  let from = 0;
  for (;;) {
    const start = line.indexOf("<!--", from);
    const end = start < 0 ? -1 : line.indexOf("-->", start + 4);
    if (end < 0 || /^-?>/.test(line.slice(start + 4, start + 6)) || line.slice(start, end + 3).includes(EARLY_END)) {
      return kept + line.slice(from);
    }
    kept += line.slice(from, start);
    from = end + 3;
  }
}

/**
 * The lines of a text that its author wrote at the margin, outside of code blocks and HTML comments. Where a renderer
 * might hide a line or show it as quoted or as code, the line has a doubt: below HTML, and in a paragraph with a
 * quotation, a list, or markup that can go on in the next line. This is stricter than GitHub's markdown.
 */
export function* ownLines(text: string): Generator<OwnLine> {
  let fence: string | null = null;
  let inComment = false;
  let below: string | null = null;
  let paragraph: string | null = null;
  let hadElement = false;
  for (const line of text.slice(0, MAX_TEXT_CHARS).split(/\r\n|\r|\n/)) {
    if (inComment) {
      const end = line.indexOf("-->");
      if (line.includes(EARLY_END)) below ??= AFTER_MARKUP;
      inComment = end < 0;
      if (end >= 0 && MARKUP.test(line.slice(end + 3))) below ??= AFTER_MARKUP;
      continue;
    }
    const mark = FENCE.exec(line);
    if (fence !== null) {
      if (mark?.[2]?.startsWith(fence) && BLANK.test(mark[3] ?? "")) fence = null;
      continue;
    }
    // In the HTML that an element can begin it is text.
    if (mark !== null && hadElement) below ??= AFTER_MARKUP;
    if (mark !== null && mark[1] === "" && (mark[2]?.startsWith("~") || !mark[3]?.includes("`"))) {
      fence = mark[2] ?? null;
      paragraph = null;
      continue;
    }
    if (BLANK.test(line)) {
      paragraph = null;
      hadElement = false;
      continue;
    }
    if (line.startsWith("<!--") && !line.includes("-->") && !hadElement) {
      inComment = true;
      if (line.includes(EARLY_END)) below ??= AFTER_MARKUP;
      paragraph = null;
      continue;
    }
    if (/^\S/.test(line)) yield { text: line.trimEnd(), rejection: below ?? paragraph };
    if (NESTED_FENCE.test(line)) below ??= AFTER_MARKUP;
    const plain = withoutComments(withoutCode(line)).replace(VOID_ELEMENT, "").replace(AUTOLINK, "");
    if (MARKUP.test(plain)) below ??= AFTER_MARKUP;
    hadElement ||= /<(?:img|br|hr)\b/i.test(line);
    if (CONTAINER.test(line) || CAN_GO_ON.test(plain.replace(LINK, ""))) paragraph ??= IN_PARAGRAPH;
  }
}
