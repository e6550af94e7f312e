import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GIB, MIB } from "../../core/units.ts";
import type { Metric } from "../../telemetry/recording/metrics.ts";
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

/** A run of 100 MiB: 40 MiB are shared, and 40 MiB in a heap that is unknown in the first half. */
function accountReport(verdict: "fail" | "pass", { metric = "host" as Metric, steps = false } = {}) {
  const host = sampleSeries({ device: "host", metric, level: 100 * MIB, swing: 0, growth: 0 });
  const time_s = Array.from({ length: 41 }, (_, second) => second);
  const isKnown = (second: number) => second > 20;
  const account = {
    rank: 0,
    time_s,
    ...(steps ? { steps: time_s.map((second) => (second < 10 ? null : 10 * second)) } : {}),
    in_use: time_s.map((second) => (isKnown(second) ? 40 * MIB : null)),
    shared: time_s.map(() => 40 * MIB),
    rest: time_s.map((second) => (isKnown(second) ? 20 * MIB : 60 * MIB)),
  };
  const series = [steps ? { ...host, steps: host.time_s.map((second) => 10 * second) } : host];
  const timeline = sampleTimeline({
    verdict,
    series,
    envelope: null,
    budget_bytes: null,
    threshold_bytes: null,
    account,
  });
  return sampleReport(verdict, { scenarios: [sampleScenario(verdict, { timeline })] });
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

  it("the page opens what host memory consists of where host memory decided, and folds it otherwise", () => {
    const fold = (report: ReturnType<typeof accountReport>) =>
      /<details( open)?><summary>What host memory consists of/.exec(renderTimelineHtml(report));
    expect(fold(accountReport("fail"))?.[1]).toBe(" open");
    expect(fold(accountReport("pass"))?.[0]).not.toContain("open");
    expect(fold(accountReport("fail", { metric: "allocated" }))).toBeNull();
    expect(fold(sampleReport("fail"))).toBeNull();
  });

  it("the page has the parts of host memory on the axis of its series, without times outside steps", () => {
    const report = accountReport("fail", { steps: true });
    const data = JSON.parse(/id="data">(.*?)<\/script>/.exec(renderTimelineHtml(report))![1]!);
    const [host, account] = data.scenarios[0].panels;
    expect([account.unit, account.from, account.to]).toEqual(["step", host.from, host.to]);
    const line = account.lines.find(({ label }: { label: string }) => label === "in use");
    expect(Buffer.from(line.x, "base64")).toHaveLength(31 * Float32Array.BYTES_PER_ELEMENT);
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

  it("the parts of host memory stand one upon the other, and an unknown one is not drawn", async () => {
    const shown = await open(renderTimelineHtml(accountReport("fail")));
    await shown.until('document.documentElement.dataset.panels === "2"');
    /** Pixels of each part in two columns of the chart, as shares of all parts. */
    const read = `(() => {
      const canvas = document.querySelectorAll('.chart canvas')[1];
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const colors = { '0,114,178': 'in use', '0,158,115': 'shared', '208,215,222': 'rest' };
      return [0.3, 0.8].map((across) => {
        const at = (y) => 4 * (y * canvas.width + Math.round(canvas.width * across));
        return [...Array(canvas.height).keys()].map((y) => colors[data.slice(at(y), at(y) + 3).join()] ?? '');
      });
    })()`;
    const columns = ((await shown.evaluate(read)) as string[][]).map((pixels) => pixels.filter((part) => part !== ""));
    const [before, after] = columns.map((parts) =>
      [...new Set(parts)].map((name) => [name, parts.filter((part) => part === name).length / parts.length]),
    );
    const close = (share: number) => expect.closeTo(share, 1);
    expect(before).toEqual([
      ["rest", close(0.6)],
      ["shared", close(0.4)],
    ]);
    expect(after).toEqual([
      ["rest", close(0.2)],
      ["shared", close(0.4)],
      ["in use", close(0.4)],
    ]);
    const legend = "[...document.querySelectorAll('.u-legend')][1].textContent";
    expect(await shown.evaluate(legend)).toMatch(/rest:?\s*60\.0 MiB.*shared:?\s*40\.0 MiB.*in use:?\s*40\.0 MiB/);
    const box = (await shown.evaluate(
      "(({x, y, width, height}) => ({x, y, width, height}))((document.querySelectorAll('.chart')[1].scrollIntoView(), document.querySelectorAll('.u-over')[1].getBoundingClientRect()))",
    )) as { x: number; y: number; width: number; height: number };
    // What is under the pointer is the part alone, not its upper edge.
    await shown.mouse("mouseMoved", box.x + box.width * 0.8, box.y + box.height / 2);
    await shown.until(`${legend}.includes('20.0 MiB')`);
    expect(await shown.evaluate(legend)).toMatch(/rest:?\s*20\.0 MiB.*shared:?\s*40\.0 MiB.*in use:?\s*40\.0 MiB/);
    await shown.mouse("mouseMoved", box.x + box.width * 0.3, box.y + box.height / 2);
    await shown.until(`${legend}.includes('60.0 MiB')`);
    for (const width of [390, 768]) {
      const mobile = width < 600;
      await shown.send("Emulation.setDeviceMetricsOverride", { width, height: 800, deviceScaleFactor: 1, mobile });
      await shown.until(`innerWidth === ${width}`);
      expect(await shown.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
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
