import { isDifference } from "../../verdict/difference.ts";

/** A line that accepts a difference, or tries to. */
interface AcceptanceLine {
  readonly difference: string;
  readonly reason: string;
  /** Commit the line is for (at least 7 hex digits); null = none named. */
  readonly headSha: string | null;
}

/** A line that means to accept, read or not. */
export type ReadLine =
  | { readonly kind: "acceptance"; readonly line: AcceptanceLine }
  | { readonly kind: "malformed"; readonly difference: string; readonly why: string };

/** More lines than this in one text are not looked at. */
const MAX_LINES = 50;

/** A letter or digit that is drawn: not a Hangul filler, nor a blank hieroglyph. */
const VISIBLE = /(?![\p{Default_Ignorable_Code_Point}\u{13441}\u{13442}])[\p{L}\p{N}]/u;

const COMMAND = /^\/stormlog[ \t]+accept(?:[ \t]+(.*))?$/;
const TRAILER = /^stormlog-accept:[ \t]*(.*)$/i;

/** Differences are shown in code spans, and people copy the ticks along. */
function withoutTicks(word: string): string {
  return word.replace(/^`+|`+$/g, "");
}

function readWords(text: string): ReadLine {
  const words = text.trim().split(/\s+/);
  const difference = withoutTicks(words[0] ?? "");
  if (difference === "") return { kind: "malformed", difference: "", why: "it names no difference" };
  if (!isDifference(difference)) {
    const named = difference.slice(0, 80);
    return { kind: "malformed", difference: named, why: "that is not a difference; copy it from the gate's report" };
  }
  const commit = /^@([0-9a-f]{7,64})$/i.exec(withoutTicks(words[1] ?? ""))?.[1]?.toLowerCase() ?? null;
  const reason = words
    .slice(commit === null ? 1 : 2)
    .join(" ")
    // Longer reasons are cut; a page of text is not a reason.
    .slice(0, 500);
  if (!VISIBLE.test(reason)) return { kind: "malformed", difference, why: "it gives no reason" };
  return { kind: "acceptance", line: { difference, reason, headSha: commit } };
}

function readLines(text: string, pattern: RegExp): readonly ReadLine[] {
  const found: ReadLine[] = [];
  for (const { text: line, rejection } of ownLines(text)) {
    const match = pattern.exec(line);
    if (match === null) continue;
    const read = readWords(match[1] ?? "");
    const difference = read.kind === "acceptance" ? read.line.difference : read.difference;
    found.push(rejection === null ? read : { kind: "malformed", difference, why: rejection });
    if (found.length === MAX_LINES) break;
  }
  return found;
}

/** `/stormlog accept <difference> [@commit] <reason>` in a comment, each on a separate line. */
export function commandsOf(comment: string): readonly ReadLine[] {
  return readLines(comment, COMMAND);
}

/** `stormlog-accept: <difference> <reason>` in the description of a pull request. */
export function descriptionLinesOf(description: string): readonly ReadLine[] {
  return readLines(description, TRAILER);
}

/** `Stormlog-Accept: <difference> <reason>` in the last paragraph, as `git interpret-trailers` reads trailers. */
export function trailersOf(message: string): readonly ReadLine[] {
  const paragraphs = message
    .replace(/\r\n?/g, "\n")
    .trimEnd()
    .split(/\n[ \t]*\n/);
  if (paragraphs.length < 2) return [];
  const lines = (paragraphs.at(-1) ?? "").split("\n");
  if (!lines.every((line) => /^[A-Za-z0-9-]+[ \t]*:/.test(line) || /^[ \t]+\S/.test(line))) return [];
  const unfolded = lines
    .join("\n")
    .replace(/\n[ \t]+/g, " ")
    .split("\n");
  return unfolded.slice(0, MAX_LINES).flatMap((line) => {
    const match = TRAILER.exec(line.replace(/[ \t]+:/, ":"));
    return match === null ? [] : [readWords(match[1] ?? "")];
  });
}

/** A line at the very start of which a command may stand, with the reason why it does not count; null = it counts. */
interface OwnLine {
  readonly text: string;
  readonly rejection: string | null;
}

const AFTER_MARKUP = "it stands below HTML or an indented code block; put it above, or into a comment of its own";

const FENCE = /^( {0,3})(`{3,}|~{3,})(.*)$/s;
/** A fence that is indented or in a quotation or list, whose end depends on what surrounds it. */
const NESTED_FENCE = /^(?:[ \t]|>|[-*+][ \t]|\d{1,9}[.)][ \t])[ \t>*+\d.)-]*(?:`{3,}|~{3,})/;
/** An indented line may belong to a list item that began above an empty line. */
const CONTAINER = /^(?:[ \t>]|[-*+](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$))/;
/** An element without content, complete on one line; its quotes are balanced and hide nothing. */
const VOID_ELEMENT = /<(?:img|br|hr)(?:[ \t]+[\w:-]+(?:=(?:"[^"<>]*"|'[^'<>]*'|[^ \t"'=<>`]+))?)*[ \t]*\/?>/gi;
const BLANK = /^[ \t]*$/;
const MARKUP = /<[a-z/!?]/i;

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
function* ownLines(text: string): Generator<OwnLine> {
  let fence: string | null = null;
  let inComment = false;
  let below: string | null = null;
  let paragraph: string | null = null;
  let hadElement = false;
  for (const line of text.slice(0, 262_144).split(/\r\n|\r|\n/)) {
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
    const plain = withoutComments(withoutCode(line))
      .replace(VOID_ELEMENT, "")
      .replace(/<[a-z][a-z0-9+.-]{1,31}:[^\s<>]*>/gi, "");
    if (MARKUP.test(plain)) below ??= AFTER_MARKUP;
    hadElement ||= /<(?:img|br|hr)\b/i.test(line);
    // What can go on in the next line and change how that is rendered.
    if (CONTAINER.test(line) || /[`[\]$|~]/.test(plain.replace(/!?\[[^[\]]*\]\([^()\s<"']*\)/g, "")))
      paragraph ??= "it continues a quotation, a list or markup; put an empty line before it";
  }
}
