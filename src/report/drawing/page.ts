import { createHash } from "node:crypto";
import { escapeHtml } from "../../core/escape.ts";
import { readAsset } from "./assets.ts";

interface PageParts {
  /** Not escaped. */
  readonly title: string;
  /** Content of `main`, escaped. */
  readonly body: string;
  /** Styles besides that of all pages, and scripts. */
  readonly styles?: readonly string[];
  readonly scripts?: readonly string[];
  /** What the scripts read, as JSON. */
  readonly data?: unknown;
}

/**
 * A self-contained page. It loads nothing: its content security policy allows only its own scripts and styles, by their
 * digests.
 */
export function htmlPage({ title, body, styles = [], scripts = [], data }: PageParts): string {
  const allStyles = [...styles, readAsset("timeline-page.css").toString("utf8")];
  const policy = [
    "default-src 'none'",
    `script-src ${scripts.length === 0 ? "'none'" : scripts.map(digest).join(" ")}`,
    `style-src ${allStyles.map(digest).join(" ")}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const json = data === undefined ? [] : [JSON.stringify(data).replaceAll("<", "\\u003c")];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(title)}</title>
${allStyles.map((style) => `<style>${style}</style>`).join("\n")}
</head>
<body>
<main>
${body}
</main>
${json.map((text) => `<script type="application/json" id="data">${text}</script>\n`).join("")}${scripts.map((script) => `<script>${script}</script>\n`).join("")}</body>
</html>
`;
}

function digest(text: string): string {
  return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}
