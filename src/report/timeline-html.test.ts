import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GIB } from "../core/units.ts";
import { sampleReport, sampleScenario, sampleSeries, sampleTimeline } from "./testing/sample-report.ts";
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

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--enable-logging=stderr",
  "--virtual-time-budget=3000",
];

const chromium = ["chromium", "chromium-browser", "google-chrome"].find((name) => {
  try {
    execFileSync(name, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
});

describe("renderTimelineHtml", () => {
  it("allows by digest exactly the scripts and styles it holds, and loads nothing", () => {
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
    const line = data.scenarios[0].lines.find((one: { role: string }) => one.role === "series");
    const raw = Buffer.from(line.bytes, "base64");
    const values = new Float64Array(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length));
    expect(values.reduce((a, b) => Math.max(a, b))).toBe(7 * GIB);
  });
});

describe.skipIf(chromium === undefined)("the page in a browser", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), "timeline-page-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

  async function open(page: string): Promise<{ dom: string; log: string }> {
    const file = path.join(folder, "page.html");
    await writeFile(file, page);
    const args = [...FLAGS, `--user-data-dir=${path.join(folder, "profile")}`, "--dump-dom", `file://${file}`];
    return new Promise((resolve, reject) => {
      const child = spawn(chromium!, args, { stdio: ["ignore", "pipe", "pipe"] });
      let dom = "";
      let log = "";
      child.stdout.on("data", (chunk) => {
        dom += chunk;
      });
      child.stderr.on("data", (chunk) => {
        log += chunk;
      });
      child.on("error", reject);
      child.on("close", () => resolve({ dom, log }));
    });
  }

  it("draws every line without breaking its own policy, hostile names included", async () => {
    const { dom, log } = await open(renderTimelineHtml(hostileReport()));
    expect(/<html[^>]*>/.exec(dom)?.[0]).toContain('data-ready="true"');
    // Two series, three lines of the baseline, limit and budget.
    expect(/<html[^>]*>/.exec(dom)?.[0]).toContain('data-series="7"');
    expect(dom.includes("<canvas")).toBe(true);
    expect(dom.includes("hacked</title>")).toBe(false);
    expect(log.split("\n").filter((line) => /CONSOLE|Content Security Policy|Uncaught/.test(line))).toEqual([]);
  });

  it("opens a report without any samples", async () => {
    const report = sampleReport("error", { scenarios: [sampleScenario("error", { timeline: null })] });
    const { dom, log } = await open(renderTimelineHtml(report));
    expect(dom).toContain("No memory samples were recorded.");
    expect(log.split("\n").filter((line) => /CONSOLE|Uncaught/.test(line))).toEqual([]);
  });
});
