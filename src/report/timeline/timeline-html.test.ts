import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GIB } from "../../core/units.ts";
import { BrowserPage, findChromium } from "../testing/browser.ts";
import { sampleReport, sampleScenario, sampleSeries, sampleTimeline } from "../testing/sample-report.ts";
import { renderTimelineHtml } from "./timeline-html.ts";

const HOSTILE = `</script><script>document.title="hacked"</script><img src=x onerror=alert(1)>"'\u202e`;

function hostileReport() {
  const timeline = sampleTimeline({
    scenario: HOSTILE,
    subtitle: HOSTILE,
    series: [sampleSeries({ device: HOSTILE }), sampleSeries({ device: "cuda:1", rank: 1 })],
  });
  return sampleReport("fail", {
    warnings: [HOSTILE],
    scenarios: [
      sampleScenario("fail", { scenario: HOSTILE, timeline }),
      sampleScenario("pass", { scenario: "serve" }),
      sampleScenario("error", { scenario: "nothing", timeline: null }),
    ],
  });
}

const chromium = findChromium();

describe("renderTimelineHtml", () => {
  it("allows by digest exactly the scripts and styles it contains, and loads nothing", () => {
    const page = renderTimelineHtml(sampleReport("fail"));
    const policy = /Content-Security-Policy" content="([^"]*)"/.exec(page)![1]!;
    const digests = (tag: string) =>
      [...page.matchAll(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`, "g"))].map(
        (match) => `'sha256-${createHash("sha256").update(match[1]!).digest("base64")}'`,
      );
    expect(policy).toContain(`script-src ${digests("script").join(" ")};`);
    expect(policy).toContain(`style-src ${digests("style").join(" ")};`);
    expect(policy.startsWith("default-src 'none';")).toBe(true);
    expect(/\ssrc=|href=|\son[a-z]+=|url\(/.exec(page.replace(/<script>[\s\S]*?<\/script>/g, ""))).toBeNull();
  });

  it("prints the accept command of the invocation where it is known", () => {
    const command = "stormlog-gate baseline accept out/fast --baseline file:b";
    expect(renderTimelineHtml(sampleReport("fail"), () => command)).toContain(
      `<code>${command.replace("&", "&amp;")}<`,
    );
    expect(renderTimelineHtml(sampleReport("fail"))).toContain("<code>stormlog-gate baseline accept<");
  });

  it("explains why a breach only warns", () => {
    const known = { package: "hoard", version: "1.2.3", at: HOSTILE, until: "2027-01-31", reason: "1.2.4 is not out" };
    const scenario = { ...sampleScenario("fail"), verdict: "warn" as const, known_leaks: [known] };
    const page = renderTimelineHtml(sampleReport("warn", { scenarios: [scenario] }));
    expect(page).toMatch(/<p>Known leak of hoard 1\.2\.3 at .* until 2027-01-31: 1\.2\.4 is not out<\/p>/);
    expect(page).not.toContain("<img src=x");
  });

  it("lets no outside text become markup", () => {
    const page = renderTimelineHtml(hostileReport());
    expect(page.split("<script").length).toBe(4);
    expect(page.includes("<img")).toBe(false);
    expect(page.includes("\u202e")).toBe(false);
  });

  it("stays small for two million samples, and keeps the highest of them", () => {
    const count = 2_000_000;
    const time_s = Float64Array.from({ length: count }, (_, i) => i / 200);
    const bytes = Float64Array.from({ length: count }, (_, i) => GIB + (i % 1000) * 512);
    bytes[1_234_567] = 7 * GIB;
    const series = [{ ...sampleSeries(), time_s, bytes }];
    const page = renderTimelineHtml(
      sampleReport("fail", { scenarios: [sampleScenario("fail", { timeline: sampleTimeline({ series }) })] }),
    );
    expect(page.length).toBeLessThan(600_000);
    const data = JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/.exec(page)![1]!);
    const line = data.scenarios[0].panels[0].lines.find((one: { role: string }) => one.role === "series");
    const raw = Buffer.from(line.bytes, "base64");
    const values = new Float64Array(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length));
    expect(values.reduce((a, b) => Math.max(a, b))).toBe(7 * GIB);
  });
});

describe.skipIf(chromium === null)("the page in a browser", () => {
  let directory: string;
  let page: BrowserPage | undefined;
  beforeEach(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), "timeline-page-"));
  });
  afterEach(async () => {
    await page?.close();
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  });

  async function open(text: string): Promise<BrowserPage> {
    const file = path.join(directory, "page.html");
    await writeFile(file, text);
    page = await BrowserPage.open(chromium!, directory, file);
    return page;
  }

  it("draws every line without violating its content security policy, hostile names included", async () => {
    const shown = await open(renderTimelineHtml(hostileReport()));
    await shown.until('document.documentElement.dataset.ready === "true"');
    // The deciding series alone: three lines of the baseline, limit and budget.
    expect(await shown.evaluate("document.documentElement.dataset.series")).toBe("6");
    expect(await shown.evaluate("document.querySelectorAll('canvas, img, script').length")).toBe(4);
    await shown.evaluate("document.querySelector('details:has(.chart)').open = true");
    await shown.until('document.documentElement.dataset.panels === "2"');
    expect(await shown.evaluate("document.querySelectorAll('.chart canvas').length")).toBe(2);
    expect(await shown.evaluate("document.title")).not.toBe("hacked");
    expect(shown.complaints).toEqual([]);
  });

  it("shows sentence, picture, line and what failed on the first screen, and cuts nothing at any width", async () => {
    const cause = { location: "deeply/nested/module/train.py:6", code: "history.append(x)", share: 0.98 };
    const timeline = sampleTimeline({ cause });
    const report = sampleReport("fail", { scenarios: [sampleScenario("fail", { timeline })], warnings: ["a note"] });
    const shown = await open(renderTimelineHtml(report));
    for (const width of [390, 768, 1280]) {
      const mobile = width < 600;
      await shown.send("Emulation.setDeviceMetricsOverride", { width, height: 800, deviceScaleFactor: 1, mobile });
      await shown.until(`innerWidth === ${width} && document.documentElement.dataset.ready === "true"`);
      const first = "['.reason', '.chart canvas', '.cause', '.decided tbody tr']";
      const ends = `${first}.map((one) => document.querySelector(one).getBoundingClientRect().bottom)`;
      const [sentence, picture, line, failed] = (await shown.evaluate(ends)) as number[];
      expect(sentence).toBeLessThan(picture!);
      expect(picture).toBeLessThan(line!);
      expect(line).toBeLessThan(failed!);
      expect(failed).toBeLessThanOrEqual(800);
      await shown.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })");
      await shown.until('document.documentElement.dataset.panels === "2"');
      expect(await shown.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
      const cut =
        "[...document.querySelectorAll('main *')].filter((one) => one.checkVisibility() && (one.getBoundingClientRect().right > innerWidth + 1 || one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === 'hidden')).map((one) => one.outerHTML.slice(0, 80))";
      expect(await shown.evaluate(cut)).toEqual([]);
      const emptyRows = "[...document.querySelectorAll('tr')].filter((one) => one.textContent.trim() === '').length";
      expect(await shown.evaluate(emptyRows)).toBe(0);
      await shown.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = false })");
      await shown.until('document.documentElement.dataset.panels === "1"');
    }
    expect(shown.complaints).toEqual([]);
  });

  it("blocks an injected script by its content security policy and reports it", async () => {
    const shown = await open(
      renderTimelineHtml(sampleReport("pass")).replace("</main>", "<script>window.slipped = 1</script></main>"),
    );
    await shown.until('document.documentElement.dataset.ready === "true"');
    expect(await shown.evaluate("window.slipped")).toBeUndefined();
    expect(shown.complaints.join()).toContain("Content Security Policy");
  });

  it("shows values under the pointer, zooms by dragging, resets on a double click, hides a line on a click", async () => {
    const shown = await open(renderTimelineHtml(sampleReport("fail")));
    await shown.until('document.documentElement.dataset.ready === "true"');
    await shown.evaluate("document.querySelector('.chart').scrollIntoView()");
    const box = (await shown.evaluate(
      "(({x, y, width, height}) => ({x, y, width, height}))(document.querySelector('.u-over').getBoundingClientRect())",
    )) as { x: number; y: number; width: number; height: number };
    const middle = box.y + box.height / 2;
    const seconds = async (share: number) => {
      await shown.mouse("mouseMoved", box.x + box.width * share, middle);
      const text = String(await shown.evaluate("document.querySelector('.u-legend .u-value').textContent"));
      return Number.parseFloat(text);
    };
    await seconds(0.4);
    await shown.until("document.querySelector('.u-legend').textContent.includes('s')");
    expect(await seconds(0.5)).toBeCloseTo(21, 0);
    const values = await shown.evaluate(
      "[...document.querySelectorAll('.u-legend .u-value')].map((cell) => cell.textContent)",
    );
    expect(values).toContain("2.00 GiB");
    expect((values as string[]).every((value) => /(B| s)$/.test(value))).toBe(true);

    await shown.mouse("mouseMoved", box.x + box.width * 0.25, middle);
    await shown.mouse("mousePressed", box.x + box.width * 0.25, middle);
    await shown.mouse("mouseMoved", box.x + box.width * 0.5, middle);
    await shown.mouse("mouseReleased", box.x + box.width * 0.5, middle);
    expect(await seconds(0.99)).toBeCloseTo(21, 0);
    for (const clicks of [1, 2]) {
      await shown.mouse("mousePressed", box.x + box.width * 0.6, middle, clicks);
      await shown.mouse("mouseReleased", box.x + box.width * 0.6, middle, clicks);
    }
    expect(await seconds(0.99)).toBeCloseTo(41.6, 0);

    await shown.evaluate("document.querySelectorAll('.u-legend .u-series')[1].querySelector('th').click()");
    expect(await shown.evaluate("document.querySelectorAll('.u-legend .u-off').length")).toBe(1);
    expect(shown.complaints).toEqual([]);
  });

  it("switches between scenarios, and shows a message where one has no samples", async () => {
    const shown = await open(renderTimelineHtml(hostileReport()));
    await shown.until('document.documentElement.dataset.ready === "true"');
    const visible = "[...document.querySelectorAll('section')].filter((one) => one.checkVisibility()).length";
    expect(await shown.evaluate(visible)).toBe(1);
    await shown.evaluate("document.querySelectorAll('nav button')[1].click()");
    expect(await shown.evaluate(visible)).toBe(1);
    expect(await shown.evaluate("document.querySelector('section:not([hidden])').textContent")).toContain(
      "No memory samples were recorded.",
    );
    await shown.evaluate("document.querySelectorAll('nav button')[2].click()");
    expect(await shown.evaluate("document.querySelector('section:not([hidden]) canvas') !== null")).toBe(true);
    expect(shown.complaints).toEqual([]);
  });
});
