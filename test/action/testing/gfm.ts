import { spawnSync } from "node:child_process";

const EXTENSIONS = ["table", "strikethrough", "autolink", "tagfilter", "tasklist"].flatMap((name) => ["-e", name]);

/** Whether GitHub's own renderer of its markdown is on this machine. */
export const hasGfm = spawnSync("cmark-gfm", ["--version"]).status === 0;

/** Markdown as HTML by cmark-gfm, GitHub's own renderer; raw HTML passes, as on GitHub before its sanitizer. */
export function gfm(markdown: string): string {
  const { status, stdout, stderr } = spawnSync("cmark-gfm", ["--unsafe", ...EXTENSIONS], {
    input: markdown,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`cmark-gfm: ${stderr}`);
  return stdout;
}

export interface HtmlElement {
  readonly name: string;
  readonly attributes: string;
}

/** The opening tags of a document, in order. */
export function elementsOf(html: string): readonly HtmlElement[] {
  return [...html.matchAll(/<([A-Za-z][A-Za-z0-9-]*)((?:[^>"]|"[^"]*")*)>/g)].map(([, name = "", attributes = ""]) => ({
    name: name.toLowerCase(),
    attributes,
  }));
}

/** Bins per row of each table. */
export function tableShapes(html: string): readonly (readonly number[])[] {
  return [...html.matchAll(/<table>([\s\S]*?)<\/table>/g)].map(([, body = ""]) =>
    [...body.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([, row = ""]) => row.match(/<t[hd][ >]/g)?.length ?? 0),
  );
}
