import { isDifference } from "../../verdict/difference.ts";
import { ownLines } from "./own-lines.ts";

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

/** Longer reasons are cut; a page of text is not a reason. */
const MAX_REASON_CHARS = 500;
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
    .slice(0, MAX_REASON_CHARS);
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
