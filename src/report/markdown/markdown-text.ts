import { markdownTable } from "markdown-table";
import { escapeMarkdown, replaceHidden } from "../../core/escape.ts";
import { cutText } from "../../core/text.ts";
import type { Section } from "../model/section.ts";

/**
 * Outside text on one line of markdown, at most `most` characters before escaping. Characters that cannot act in their
 * position (a decimal point, a hyphen inside a word) stay unescaped, so that the source is readable too.
 */
export function md(text: string, most = 300): string {
  // Four spaces at the start of a block would make it code.
  const escaped = escapeMarkdown(cutText(text.trim(), most));
  return HARMLESS.reduce((relaxed, [pattern, sign]) => relaxed.replace(pattern, sign), escaped);
}

/** Pairs of an escaped character in a harmless position and the character. */
const HARMLESS: readonly (readonly [RegExp, string])[] = [
  [/&#34;/g, '"'],
  [/&#39;/g, "'"],
  [/&#40;/g, "("],
  [/&#41;/g, ")"],
  [/(?<=\d)&#46;(?=\d)/g, "."],
  // A file name or the end of a sentence, but never "www.", which would become a link.
  [/(?<=[\w)])(?<!www)&#46;(?=[a-z])/gi, "."],
  [/(?<=[A-Za-z)])(?<!www)&#46;(?=\s|$)/gi, "."],
  [/(?<=\w)&#45;(?=\w)/g, "-"],
  [/(?<=\w)&#95;(?=[A-Za-z0-9])/g, "_"],
  // Not before a slash: "https:" stays broken.
  [/(?<=\w)&#58;(?=[\w\s]|$)/g, ":"],
  [/(?<=\w)&#47;(?=\w)/g, "/"],
  [/(?<=\s)&#43;(?=\d)/g, "+"],
  [/(?<=\w)&#61;(?=\w)/g, "="],
];

/** A GFM table of cells that are already escaped. */
export function table(
  head: readonly string[],
  align: readonly ("l" | "r" | "c")[],
  rows: readonly (readonly string[])[],
): string {
  return markdownTable([head, ...rows], { align: [...align], alignDelimiters: false, padding: true });
}

const ANSI = /\u001b\[[0-9;:?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g;

/** Outside text as a code block. Its fence is longer than any run of backticks inside, so the text cannot close it. */
export function codeBlock(text: string): string {
  const clean = replaceHidden(text.replace(/\r\n?/g, "\n").replace(ANSI, ""), () => "\ufffd").replace(/\n+$/, "");
  const longest = Math.max(2, ...[...clean.matchAll(/`+/g)].map((run) => run[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${clean}\n${fence}`;
}

/** At most the last `most` characters of a text, from the start of a line. */
export function tail(text: string, most: number): string {
  const trimmed = text.trimEnd();
  if (trimmed.length <= most) return trimmed;
  const end = trimmed.slice(-most);
  const line = end.indexOf("\n");
  return `…\n${line >= 0 && line < most - 1 ? end.slice(line + 1) : end}`;
}

/** A link target that cannot close its parentheses: an http(s) address or a plain relative path; null otherwise. */
export function linkTarget(url: string | null | undefined): string | null {
  if (!url) return null;
  if (/^[A-Za-z0-9_][A-Za-z0-9_./-]*$/.test(url)) return url;
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return null;
  }
  if (parsed.protocol !== "https:" && parsed.protocol !== "http:") return null;
  return parsed.href.replace(/[()<>\s\\]/g, (c) => `%${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

/** The pages of a workflow run; null = unknown run. */
export interface RunPages {
  readonly repositoryUrl: string;
  readonly runId: number | null;
}

interface EvidenceUrls {
  readonly bundleUrl?: string | null;
  readonly htmlUrl?: string | null;
}

/** Addresses of a section's uploads, made from ids alone; null without an upload or where the run is unknown. */
export function evidenceUrls(
  section: Pick<Section, "bundleArtifact" | "timelineArtifact">,
  { repositoryUrl, runId }: RunPages,
): Required<EvidenceUrls> {
  const page = (id: number | null) =>
    id === null || runId === null ? null : `${repositoryUrl}/actions/runs/${runId}/artifacts/${id}`;
  return { bundleUrl: page(section.bundleArtifact), htmlUrl: page(section.timelineArtifact) };
}

/** Links to the uploaded evidence. */
export function evidenceLinks(
  { htmlUrl, bundleUrl }: EvidenceUrls,
  names: { readonly html: string; readonly bundle: string },
): string[] {
  const link = (name: string, target: string | null) => (target === null ? [] : [`[${name}](${target})`]);
  return [...link(names.html, linkTarget(htmlUrl)), ...link(names.bundle, linkTarget(bundleUrl))];
}
