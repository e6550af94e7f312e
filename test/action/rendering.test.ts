import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { picturedTimelines, renderComment } from "../../src/report/markdown/comment-markdown.ts";
import { scenarioReport } from "../../src/report/model/gate-report.ts";
import { BrowserPage, findChromium } from "../../src/report/testing/browser.ts";
import { sampleJudgement, sampleReport, sampleScenario } from "../../src/report/testing/sample-report.ts";
import { renderTimelinePng } from "../../src/report/timeline/timeline-png.ts";
import { commentOptions, SAMPLE_COMMENTS, sampleSection } from "./testing/comment-samples.ts";
import { elementsOf, gfm, hasGfm, tableShapes } from "./testing/gfm.ts";
import { markdownStyle } from "./testing/tools.ts";

/** Elements of the template. */
const OURS = new Set(
  "h2 h3 h4 p strong em code pre table thead tbody tr th td ul li a img br sub details summary blockquote".split(" "),
);

const HOSTILE = [
  '<script>alert(1)</script><img src="https://evil.example/x.png">',
  "[click](https://evil.example) ![x](https://evil.example/y.png) https://evil.example www.evil.example",
  "| a | b |\n|---|---|\n```mermaid\nflowchart\n```\n</details><!-- stormlog-gate:default -->",
  "@octo/team #12 octo/model#3 deadbeefdeadbeef \u202egnp.exe \u200b",
].join("\n");

function hostileSection() {
  const judgement = sampleJudgement("fail", { reason: HOSTILE });
  const scenario = sampleScenario("fail", { scenario: HOSTILE, judgement, difference: "`<b>x</b>`" });
  return sampleSection("fail", {
    report: sampleReport("fail", {
      scenarios: [
        scenarioReport({
          ...scenario,
          error: { code: HOSTILE, message: HOSTILE, hint: HOSTILE, output_tail: HOSTILE },
        }),
      ],
      warnings: [HOSTILE],
      policy_changes: [{ path: HOSTILE, base: HOSTILE, head: HOSTILE }],
      commit: HOSTILE,
    }),
  });
}

const ALL = Object.entries({ ...SAMPLE_COMMENTS, hostile: [hostileSection()] });

describe.skipIf(!hasGfm)("the comment as GitHub's own renderer reads it", () => {
  it.each(ALL)("the comment %s has the template's elements only, and complete tables", (_name, sections) => {
    const html = gfm(renderComment(sections, commentOptions({ notes: [HOSTILE] })));
    const foreign = elementsOf(html).filter(({ name }) => !OURS.has(name));
    expect(foreign).toEqual([]);
    expect(html).not.toContain("<!--");
    const links = elementsOf(html).filter(({ name }) => name === "a" || name === "img");
    for (const { attributes } of links) {
      expect(attributes).toMatch(
        /^ (href|src)="https:\/\/github\.com\/octo\/model\/(actions\/runs\/77\/artifacts\/\d+|pull\/12#issuecomment-4711|blob\/[0-9a-f]{40}\/[\w./-]+#L\d+)"/,
      );
    }
    for (const rows of tableShapes(html)) {
      expect(rows.length).toBeGreaterThan(1);
      expect(new Set(rows).size).toBe(1);
    }
  });

  it("the comment shows outside text without anything that acts", () => {
    const html = gfm(renderComment([hostileSection()], commentOptions()));
    // GitHub makes neither links nor mentions in code.
    const plain = html
      .replace(/<pre>[\s\S]*?<\/pre>/g, "")
      .replace(/<[^>]*>/g, "")
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">");
    expect(plain).toContain("<script>alert(1)</script>");
    // A zero-width space keeps GitHub from finding a name or a number.
    expect(plain).not.toMatch(/@octo|#12|#3\b/);
    expect(html).not.toContain("\u202e");
    expect(html.match(/<details>/g)).toHaveLength(html.match(/<\/details>/g)?.length ?? 0);
  });

  it("the comment of a pass folds everything but its verdict, one sentence and its links", () => {
    const html = gfm(renderComment(SAMPLE_COMMENTS.pass ?? [], commentOptions()));
    const open = html.replace(/<details>[\s\S]*?<\/details>/g, "");
    expect(elementsOf(open).map(({ name }) => name)).toEqual(["h3", "code", "p", "strong", "p", "sub", "a", "a"]);
  });
});

const chromium = findChromium();
const style = markdownStyle();
const PICTURES = path.join(packageRoot(), "build/comment-pictures");

/** The page of a comment, about as wide as GitHub shows it. */
function pageOf(html: string, theme: "light" | "dark", directory: string): string {
  const colors = theme === "dark" ? "background:#0d1117" : "background:#ffffff";
  const css = style === null ? "" : readFileSync(style, "utf8");
  const file = path.join(directory, `${theme}.html`);
  writeFileSync(
    file,
    `<!doctype html><meta charset="utf-8"><style>${css}</style><style>body{margin:0;${colors}}
    .markdown-body{box-sizing:border-box;width:860px;padding:16px}</style>
    <article class="markdown-body">${html}</article>`,
  );
  return file;
}

describe.skipIf(!hasGfm || chromium === null)("the comment in a browser", () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(path.join(tmpdir(), "stormlog-comment-"));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it.each(["light", "dark"] as const)(
    "the comment shows its pictures and fits its column, %s",
    async (theme) => {
      const page = await BrowserPage.open(chromium as string, path.join(directory, theme), await writePage("fail"));
      try {
        const features = [{ name: "prefers-color-scheme", value: theme }];
        await page.send("Emulation.setEmulatedMedia", { features });
        for (const [name, sections] of ALL) {
          await page.send("Page.navigate", { url: `file://${await writePage(name, sections)}` });
          await page.until('document.readyState === "complete"', 30_000);
          const broken = "[...document.images].filter(({ naturalWidth }) => naturalWidth === 0).length";
          expect([name, await page.evaluate(broken)]).toEqual([name, 0]);
          expect(await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")).toBe(theme === "dark");
          expect(
            await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"),
          ).toBe(true);
          if (process.env.STORMLOG_TEST_PICTURES === "1") await shoot(page, `${name}-${theme}`.replaceAll(" ", "-"));
        }
        expect(page.complaints).toEqual([]);
      } finally {
        await page.close();
      }

      async function writePage(name: string, sections = SAMPLE_COMMENTS[name] ?? []): Promise<string> {
        // Two comments have a picture, as in a repository that can show it.
        const images = new Map<(typeof sections)[number], Map<string, string>>();
        if (name === "fail" || name === "matrix of six") {
          for (const [at, { section, scenario, timeline }] of picturedTimelines(sections).entries()) {
            writeFileSync(path.join(directory, `${at}.png`), await renderTimelinePng(timeline));
            const addresses = images.get(section) ?? new Map<string, string>();
            images.set(section, addresses.set(scenario, `https://pictures.example/${at}.png`));
          }
        }
        const html = gfm(renderComment(sections, commentOptions({ images })));
        return pageOf(html.replaceAll("https://pictures.example/", `file://${directory}/`), theme, directory);
      }
    },
    120_000,
  );
});

async function shoot(page: BrowserPage, name: string): Promise<void> {
  const height = Math.ceil(
    Number(await page.evaluate("document.querySelector('article').getBoundingClientRect().height")),
  );
  await page.send("Emulation.setDeviceMetricsOverride", { width: 860, height, deviceScaleFactor: 1, mobile: false });
  const { data } = await page.send("Page.captureScreenshot", { format: "png" });
  await page.send("Emulation.clearDeviceMetricsOverride");
  mkdirSync(PICTURES, { recursive: true });
  writeFileSync(path.join(PICTURES, `${name}.png`), Buffer.from(String(data), "base64"));
}
