// Draws docs/images/comment.png: the comment of a bundle, rendered by GitHub's markdown parser in Chromium.
//
//   npx tsx scripts/make-readme-picture.ts [BUNDLE]     default: stormlog-demo/leaky, which `npm run demo` leaves
//
// Needs cmark-gfm and chromium on the PATH.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { packageRoot } from "../src/core/package-root.ts";
import { readBundle } from "../src/report/bundle/read-bundle.ts";
import { renderSummary } from "../src/report/markdown/summary-markdown.ts";
import { BrowserPage } from "../src/report/testing/browser.ts";

const MAX_BYTES = 150_000;
const WIDTH = 800;
const STYLE = `
  body { margin: 0; padding: 16px; font: 14px/1.5 "Liberation Sans", Arial, sans-serif; color: #1f2328; background: #fff }
  .comment { border: 1px solid #d1d9e0; border-radius: 6px }
  .author { padding: 8px 16px; background: #f6f8fa; border-bottom: 1px solid #d1d9e0; border-radius: 6px 6px 0 0; color: #59636e }
  .author b { color: #1f2328 }
  .body { padding: 4px 16px 8px }
  h2 { font-size: 21px; padding-bottom: 5px; border-bottom: 1px solid #d1d9e0; margin: 12px 0 }
  h3 { font-size: 17px; margin: 16px 0 8px }
  p, table, pre, ul { margin: 0 0 12px }
  table { border-collapse: collapse; font-size: 13px }
  th, td { border: 1px solid #d1d9e0; padding: 4px 10px }
  tr:nth-child(2n) td { background: #f6f8fa }
  code { font: 12px/1.45 "Liberation Mono", monospace; background: #eff1f3; border-radius: 4px; padding: 2px 4px }
  pre { background: #f6f8fa; border-radius: 6px; padding: 10px; overflow: hidden } pre code { background: none; padding: 0 }
  img { max-width: 100% } a { color: #0969da; text-decoration: none } ul { padding-left: 24px }
  blockquote { margin: 0 0 12px; padding: 0 12px; border-left: 4px solid #d1d9e0; color: #59636e }
  details { margin-bottom: 8px }`;

/** Emoji that a machine without their font can show, and GitHub's boxes. */
const REPLACED: readonly (readonly [RegExp, string])[] = [
  [/❌|🔴/gu, '<span style="color:#d1242f">●</span>'],
  [/🟡|🟠|\u26a0\ufe0f?/gu, '<span style="color:#bf8700">●</span>'],
  [/✅|🟢/gu, '<span style="color:#1a7f37">●</span>'],
  [/\[!(?:NOTE|WARNING|IMPORTANT|TIP|CAUTION)\]/g, ""],
];

const bundle = path.resolve(process.argv[2] ?? "stormlog-demo/leaky");
const { report } = await readBundle(bundle);
const markdown = renderSummary(report, {
  pictures: new Map(report.scenarios.map(({ scenario }) => [scenario, "https://timeline.invalid/timeline.png"])),
  bundleUrl: "https://github.com/",
  htmlUrl: "https://github.com/",
});
const body = execFileSync("cmark-gfm", ["--unsafe", "-e", "table", "-e", "autolink"], {
  input: markdown,
  encoding: "utf8",
});
const shown = REPLACED.reduce((text, [emoji, replaced]) => text.replace(emoji, replaced), body).replaceAll(
  "https://timeline.invalid/timeline.png",
  `data:image/png;base64,${readFileSync(path.join(bundle, "timeline.png")).toString("base64")}`,
);
const directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-picture-"));
try {
  const html = path.join(directory, "comment.html");
  writeFileSync(
    html,
    `<!doctype html><meta charset="utf-8"><style>${STYLE}</style><div class="comment"><div class="author"><b>github-actions</b> commented</div><div class="body">${shown}</div></div>`,
  );
  const page = await BrowserPage.open("chromium", directory, html);
  const device = { width: WIDTH, height: 900, deviceScaleFactor: 1, mobile: false };
  await page.send("Emulation.setDeviceMetricsOverride", device);
  await page.until('document.readyState === "complete"');
  const height = Number(await page.evaluate("Math.ceil(document.documentElement.getBoundingClientRect().height)"));
  const clip = { x: 0, y: 0, width: WIDTH, height, scale: 1 };
  const { data } = await page.send("Page.captureScreenshot", { clip, captureBeyondViewport: true });
  const png = Buffer.from(String(data), "base64");
  await page.close();
  if (png.length > MAX_BYTES) throw new Error(`the picture has ${png.length} bytes, more than ${MAX_BYTES}`);
  writeFileSync(path.join(packageRoot(), "docs/images/comment.png"), png);
  console.log(`docs/images/comment.png ${WIDTH} x ${height}, ${png.length} bytes`);
} finally {
  rmSync(directory, { recursive: true });
}
