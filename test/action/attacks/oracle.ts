import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/**
 * What the templates may print. Everything else came from outside. Two oracles: one reads the markdown's source and
 * always runs. The other is GitHub's parser (cmark-gfm), whose HTML is compared with that of the same template with a
 * harmless text.
 */

const HERE = "https://github.com/octo/model";

/** Control characters, marks of direction, letters without width: never in a text with untrusted parts. */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\p{Cf}\p{Default_Ignorable_Code_Point}\p{Surrogate}](?<!\p{Extended_Pictographic}\ufe0f)/u;

const OUR_TAGS = /<\/?(?:details|summary|sub)>|<br ?\/?>/g;

interface Block {
  readonly info: string;
  readonly lines: string[];
}

/** Blocks of code between fences, and the text around them. */
function withStopCommands(markdown: string): { readonly blocks: readonly Block[]; readonly text: string } {
  const blocks: Block[] = [];
  const around: string[] = [];
  let open: { readonly fence: number; readonly block: Block } | null = null;
  for (const line of markdown.split("\n")) {
    const fence = /^(`{3,})([^`]*)$/.exec(line);
    if (open !== null) {
      if (fence !== null && fence[1]!.length >= open.fence && fence[2]!.trim() === "") open = null;
      else open.block.lines.push(line);
    } else if (fence !== null) {
      const block = { info: fence[2]!.trim(), lines: [] };
      blocks.push(block);
      open = { fence: fence[1]!.length, block };
    } else around.push(line);
  }
  return { blocks, text: around.join("\n") };
}

/** Nothing in spans and blocks of code acts on GitHub; what closes them too early does. */
function withoutCode(markdown: string): string {
  return withStopCommands(markdown).text.replace(/(`+)(?!`)[^\n]*?[^`]\1(?!`)/g, "");
}

/** What acts in markdown from untrusted text, by its source. */
export function sourceProblems(markdown: string): readonly string[] {
  const problems: string[] = [];
  const add = (what: string, found: RegExpExecArray | null): void => {
    if (found !== null) problems.push(`${what}: ${JSON.stringify(found[0])}`);
  };
  // The templates put a zero-width space after "@" and "#", written as an entity.
  add("a hidden character", HIDDEN.exec(markdown));
  const text = withoutCode(markdown).replace(OUR_TAGS, "");
  add("HTML", /<[a-z!/?]/i.exec(text));
  for (const link of text.matchAll(/\]\(([^)]*)\)/g)) {
    if (!link[1]?.startsWith(`${HERE}/`)) problems.push(`a link to ${link[1]}`);
  }
  const bare = text.replaceAll(/\]\([^)]*\)/g, "]()");
  add("an address", /https?:\/\/|\bwww\.|[\w.+-]+@[\w-]+\.\w/i.exec(bare));
  add("a mention", /(?:^|[^\w&])@[a-z0-9]/i.exec(bare));
  add("a reference", /(?:^|[^\w&])#\d|\bGH-\d|[\w.-]+\/[\w.-]+#\d/i.exec(bare));
  add("a definition", /^ {0,3}\[[^\]]+\]:/m.exec(text));
  const drawn = withStopCommands(markdown).blocks.find(({ info }) => info !== "" && info !== "text");
  if (drawn !== undefined) problems.push(`a block of ${drawn.info}`);
  return problems;
}

const CMARK = ["-e", "table", "-e", "strikethrough", "-e", "autolink", "-e", "tasklist", "-e", "footnotes", "--unsafe"];

const rendered = new Map<string, string>();

/**
 * Render several texts, each by a separate process, for the functions below. A shell starts the processes, because
 * starting one from Node takes longer than rendering.
 */
export function prerender(markdowns: readonly string[]): void {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-cmark-"));
  try {
    for (const [at, markdown] of markdowns.entries()) writeFileSync(path.join(directory, `${at}.md`), markdown);
    const script = 'for file in *.md; do cmark-gfm "$@" "$file" > "$file.html" || exit 1; done';
    execFileSync("sh", ["-c", script, "sh", ...CMARK], { cwd: directory });
    for (const [at, markdown] of markdowns.entries())
      rendered.set(markdown, readFileSync(path.join(directory, `${at}.md.html`), "utf8"));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function cmark(markdown: string): string {
  if (!rendered.has(markdown)) prerender([markdown]);
  return rendered.get(markdown) ?? "";
}

/** Whether GitHub's parser is installed. */
export const HAS_CMARK = (() => {
  try {
    return cmark("x").includes("<p>");
  } catch {
    return false;
  }
})();

const decode = (html: string): string =>
  html
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, "&");

/** What acts in the HTML that GitHub's parser makes of a text, its own filters for mentions and references included. */
export function renderedProblems(markdown: string): readonly string[] {
  const html = cmark(markdown);
  const problems: string[] = [];
  for (const [tag, name = ""] of html.matchAll(/<\/?([a-z][a-z0-9]*)\b[^>]*>/gi)) {
    const plain =
      /^<\/?(?:h[1-6]|p|strong|em|table|thead|tbody|tr|ul|ol|li|blockquote|sub|details|summary|pre|br ?\/?)>$/.test(
        tag,
      );
    const cell = /^<\/?t[hd](?: align="(?:left|right|center)")?>$/.test(tag);
    const code = /^<\/?code(?: class="language-text")?>$/.test(tag);
    const link = tag === "</a>" || tag.startsWith(`<a href="${HERE}/`);
    const image = tag.startsWith(`<img src="${HERE}/`);
    if (!plain && !cell && !code && !link && !image) problems.push(`the element ${tag || name}`);
  }
  if (/<!--|<!\[|<\?/.test(html)) problems.push("a comment or an instruction");
  const text = decode(html.replace(/<(pre|code|a)\b[\s\S]*?<\/\1>/g, "").replace(/<[^>]*>/g, "\n"));
  // As GitHub finds them, in the displayed text.
  const mention = /(?:^|[^\w`])@(?=[a-z0-9])/i.exec(text);
  if (mention !== null) problems.push(`a mention: ${JSON.stringify(text.slice(mention.index, mention.index + 20))}`);
  const reference = /(?:^|[^\w&])#\d+|\bGH-\d+|[\w.-]+\/[\w.-]+#\d+|@[0-9a-f]{7,40}\b/i.exec(text);
  if (reference !== null) problems.push(`a reference: ${reference[0]}`);
  return problems;
}

/**
 * The elements of a rendered text in their order: the same for a hostile text as for a harmless one. Only emphasis
 * and spans of code may come and go: signs between "**" are not always bold, and empty code is not a span.
 */
export function skeleton(markdown: string): string {
  const tags = [...cmark(markdown).matchAll(/<\/?[a-z][^>]*>/gi)].map(([tag]) => tag.replace(/ alt="[^"]*"/, ""));
  return tags.filter((tag) => !/^<\/?(?:strong|em|code)>$/.test(tag)).join("\n");
}

/** What a reader of a terminal, a log or a plain file must not meet. */
export function plainProblems(text: string): readonly string[] {
  const found = HIDDEN.exec(text);
  return found === null ? [] : [`a hidden character: ${JSON.stringify(found[0])}`];
}

/**
 * Problems of each XML document: not well-formed by an independent parser (Python's), or with elements or attributes
 * that are not allowed. One process parses all of them.
 */
export function xmlProblems(documents: readonly string[], elements: readonly string[]): readonly (readonly string[])[] {
  const script = `import sys,json,xml.etree.ElementTree as E
def one(text):
    try: root=E.fromstring(text.encode())
    except Exception as error: return str(error)
    return [[e.tag.split('}')[-1],[a.split('}')[-1] for a in e.attrib]] for e in root.iter()]
print(json.dumps([one(text) for text in json.load(sys.stdin)]))`;
  const input = JSON.stringify(documents);
  const parsed = JSON.parse(
    execFileSync("python3", ["-c", script], { input, encoding: "utf8", maxBuffer: 256 << 20 }),
  ) as readonly (string | readonly (readonly [string, readonly string[]])[])[];
  return parsed.map((found) => {
    if (typeof found === "string") return [found];
    return found.flatMap(([tag, names]) => [
      ...(elements.includes(tag) ? [] : [`the element ${tag}`]),
      ...names.filter((name) => /^on|^href$|^src$/i.test(name)).map((name) => `the attribute ${name} of ${tag}`),
    ]);
  });
}
