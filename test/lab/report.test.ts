import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { LabDocument, LabPattern, LabState } from "../../src/lab/report/document.ts";
import { directory, run } from "./testing/lab-command.ts";

const MIB = 1024 ** 2;

function state(verdict: LabState["verdict"], peak: number, slope: number): LabState {
  return {
    verdict,
    confirmed: verdict === "fail",
    bundle: "forward_hook/leaky",
    runs: 3,
    peak_bytes: peak,
    growth_bytes: slope * 100,
    slope_bytes_per_step: slope,
    slope_bytes_per_s: slope * 10,
    class: verdict === "fail" ? "leak" : "flat",
    mde_bytes: 1024 ** 2,
    accuracy: 0.5,
    error: null,
  };
}

/** A pattern as a round of the first version left it. */
function pattern(name: string, leaky: number, fixed: number): LabPattern {
  return {
    name,
    title: "Activations <kept> | by a hook",
    framework: "torch",
    outcome: "caught",
    reason: null,
    series: { device: "host", metric: "allocated" },
    leak_bytes_per_step: 1000,
    steps: 100,
    leaky: state("fail", leaky, 800),
    fixed: state("pass", fixed, 0),
    ratio: leaky / fixed,
    line: "patterns/forward_hook.py:21",
    line_in_leak: true,
  };
}

function round(backend: string, ...patterns: LabPattern[]): LabDocument {
  return {
    schema: "stormlog.lab/1",
    generated_at_utc: "2026-01-01T00:00:00.000Z",
    scale: "tiny",
    backend,
    device_model: "<b>model</b>",
    framework_version: "torch 2.9",
    patterns,
  };
}

function written(document: unknown): string {
  const place = directory();
  writeFileSync(path.join(place, "lab.json"), JSON.stringify(document));
  return place;
}

describe("lab report", () => {
  it("sets two backends side by side, and names the one with more growth", async () => {
    const mps = round("mps", pattern("forward_hook", 16_290 * MIB, 1000 * MIB));
    const cuda = round("cuda", pattern("forward_hook", 5860 * MIB, 2000 * MIB));
    for (const places of [
      [mps, cuda],
      [cuda, mps],
    ]) {
      const { code, text } = await run("report", ...places.map(written));
      expect(code).toBe(0);
      for (const ratio of ["16.29x", "2.93x"]) expect(text).toContain(ratio);
      // The greater is on top, whatever its name.
      expect(text).toContain("mps over cuda: 5.56x");
    }
  });

  it("names the two of three backends that are furthest apart", async () => {
    const places = [
      round("mps", pattern("forward_hook", 400, 100), pattern("tensor_retention", 200, 100)),
      round("cuda", pattern("forward_hook", 200, 100), pattern("tensor_retention", 300, 100)),
      round("cpu", pattern("forward_hook", 102, 100), pattern("tensor_retention", 201, 100)),
    ];
    const { text } = await run("report", ...places.map(written));
    expect(text).toContain("mps over cpu: 3.92x");
    expect(text).toContain("cuda over mps: 1.50x");
  });

  it("numbers two rounds of one backend", async () => {
    const places = [round("cpu", pattern("a", 300, 100)), round("cpu", pattern("a", 150, 100))];
    expect((await run("report", ...places.map(written))).text).toContain("cpu 1 over cpu 2: 2.00x");
  });

  it("prints the catalogue of one directory without markdown", async () => {
    const { text } = await run("report", written(round("cpu", pattern("a", 300, 100))));
    expect(text).not.toMatch(/^[|#]/m);
    expect(text).toMatch(/^a +1000 B +300 B +100 B +3.00x/m);
  });

  it("escapes untrusted text in markdown", async () => {
    const output = path.join(directory(), "new");
    const hostile = pattern('<script>alert(1)</script>"&', 300, 100);
    const { document } = await run(
      "report",
      written(round("a|b", hostile)),
      written(round("<i>", hostile)),
      "--output",
      output,
    );
    expect((document as { files: string[] }).files).toHaveLength(1);
    const markdown = readFileSync(path.join(output, "leak-lab.md"), "utf8");
    expect(markdown).not.toMatch(/<b>|<i>|<script/);
    const widths = markdown
      .split("\n")
      .filter((line) => line.startsWith("| "))
      .map((line) => line.split("|").length);
    expect(new Set(widths).size).toBe(2);
  });

  it("reports a directory without a round", async () => {
    await expect(run("report", directory())).rejects.toMatchObject({ code: "LAB_UNREADABLE", kind: "invalid-input" });
    await expect(run("report", path.join(directory(), "gone"))).rejects.toMatchObject({ code: "LAB_UNREADABLE" });
    await expect(run("report", written({ schema: "stormlog.lab/2" }))).rejects.toMatchObject({ code: "LAB_INVALID" });
    await expect(run("report")).rejects.toMatchObject({ code: "ARGUMENT_MISSING", kind: "usage" });
  });
});

describe("a report on a terminal", () => {
  it("keeps every name on its own row, whatever it holds", async () => {
    const hostile = "x\nforward_hook  1.00 KiB  caught";
    const place = written(round("cpu", pattern(hostile, 300, 100)));
    for (const places of [[place], [place, place]]) {
      const { text } = await run("report", ...places);
      expect(text).not.toMatch(/^forward_hook/m);
      expect(text).toMatch(/^x forward_hook/m);
    }
  });

  it("keeps the name of a device in the title's line", async () => {
    const place = written({ ...round("cpu"), device_model: "model\nforged row" });
    for (const places of [[place], [place, place]])
      expect((await run("report", ...places)).text).not.toMatch(/^forged row/m);
  });
});
