import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { type CliResult, cli, freshDirectory } from "./cli.ts";

const WORKLOAD = path.join(packageRoot(), "leak-lab", "demo", "workload.mjs");

function reportsBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" }).filter(
    (name) => path.basename(name) === "report.json",
  );
}

describe("the demo", () => {
  const directory = freshDirectory();
  let result: CliResult;

  beforeAll(async () => {
    result = await cli(["demo", "--json"], { cwd: directory });
  }, 180_000);

  it("the demo exits with 0 after pass, fail, pass", () => {
    expect(result.stderr).not.toMatch(/^error /m);
    expect(result.code).toBe(0);
    const { clean, leaky, fixed } = JSON.parse(result.stdout);
    expect([clean.verdict, leaky.verdict, fixed.verdict]).toEqual(["pass", "fail", "pass"]);
  });

  it("leaves three bundles and no other report", () => {
    expect(reportsBelow(path.join(directory, "stormlog-demo")).sort()).toEqual([
      "clean/report.json",
      "fixed/report.json",
      "leaky/report.json",
    ]);
    for (const state of ["clean", "leaky", "fixed"]) {
      const bundle = path.join(directory, "stormlog-demo", state);
      for (const file of [
        "manifest.json",
        "measurements.json",
        "summary.md",
        "timeline.png",
        "timeline-dark.png",
        "timeline.html",
        "runs/demo/1/samples.parquet",
      ]) {
        expect(existsSync(path.join(bundle, file)), `${state}/${file}`).toBe(true);
      }
      expect(JSON.parse(readFileSync(path.join(bundle, "manifest.json"), "utf8")).complete).toBe(true);
    }
  });

  it("shows the same commands again, for its own bundle and store", async () => {
    const { stdout } = await cli(["show", "stormlog-demo/leaky"], { cwd: directory });
    expect(stdout).toContain(" baseline accept stormlog-demo/leaky --baseline file:stormlog-demo/baseline");
  });

  it("ends with commands that work as printed", () => {
    const [, end = ""] = result.stderr.split("by measurement.");
    const commands = [...end.matchAll(/^ {2}(\S.*)$/gm)].map(([, command = ""]) => command);
    expect(commands).toHaveLength(3);
    for (const command of commands) {
      const { status, stderr } = spawnSync("sh", ["-c", command], { cwd: directory, encoding: "utf8" });
      expect([status, stderr], command).toEqual([0, ""]);
    }
  }, 90_000);

  it("reproduces the leak against a baseline that is there", () => {
    const [, baseline = ""] = /^ *Reproduce: .* --baseline file:(\S+) /m.exec(result.stderr) ?? [];
    expect(existsSync(path.join(directory, baseline, "demo"))).toBe(true);
  });

  it("names the growth and calls it a leak", () => {
    expect(result.stderr).toMatch(/leak/);
    const { series } = JSON.parse(
      readFileSync(path.join(directory, "stormlog-demo", "leaky", "measurements.json"), "utf8"),
    ).runs[0];
    const host = series.find((one: { metric: string }) => one.metric === "host");
    expect(host.class).toBe("leak");
  });

  it("the demo is measured with the native sampler", () => {
    const info = JSON.parse(
      readFileSync(path.join(directory, "stormlog-demo", "clean", "runs", "demo", "1", "recording.json"), "utf8"),
    );
    expect(info.sampler.kind).toBe("native");
  });
});

describe("the demo's workload", () => {
  it("the peak of the demo's workload is higher by what the workload additionally keeps", async () => {
    const directory = freshDirectory();
    const peakOf = async (factor: number): Promise<number> => {
      const script = path.join(directory, `workload-${factor}.mjs`);
      // What its last steps keep is held for longer than a busy machine keeps the sampler from running.
      const held = `\nawait new Promise((resolve) => setTimeout(resolve, 600));\n`;
      const source = readFileSync(WORKLOAD, "utf8").replace("= 512 * 1024", `= ${factor} * 512 * 1024`);
      writeFileSync(script, source + held);
      const bundle = path.join(directory, `bundle-${factor}`);
      const once = ["--baseline", "none", "--unjudged", "pass", "--repeats", "1", "--attribute", "off"];
      await cli(["run", ...once, "--bundle", bundle, "--", process.execPath, script, "leaky"], { cwd: directory });
      const { series } = JSON.parse(readFileSync(path.join(bundle, "measurements.json"), "utf8")).runs[0];
      const host = series.find((one: { metric: string }) => one.metric === "host");
      expect(host.class).toBe("leak");
      return host.peak_bytes;
    };
    const [once, fourfold] = await Promise.all([peakOf(1), peakOf(4)]);
    // 110 steps that keep 512 KiB each, and three times as much again: a tenth of that is more than V8 has uncollected.
    expect(Math.abs((fourfold - once) / (3 * 110 * 512 * 1024) - 1)).toBeLessThan(0.1);
  }, 60_000);
});
