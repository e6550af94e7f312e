import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseArguments } from "../../src/cli/command.ts";
import type { Console } from "../../src/cli/console.ts";
import { lab } from "../../src/cli/lab.ts";
import { GateError } from "../../src/core/errors.ts";
import { CATALOGUE, labFolder } from "../../src/gate/lab-catalogue.ts";
import type { LabDocument, LabPattern, LabState } from "../../src/report/lab-document.ts";

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), "stormlog-lab-test-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Run the command in this process; what it printed, and its document. */
async function run(
  ...args: string[]
): Promise<{ readonly code: number; readonly text: string; readonly document: unknown }> {
  const printed: string[] = [];
  let document: unknown;
  const console: Console = {
    json: true,
    color: false,
    width: 100,
    interactive: false,
    print: (text) => void printed.push(text),
    document: (value) => {
      document = value;
    },
    childOutput: () => () => {},
    progress: null,
  };
  const code = await lab.run({ ...parseArguments(lab, args), console, argv: ["lab", ...args] });
  return { code, text: printed.join("\n"), document };
}

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

function round(backend: string, leaky: number, title = "Activations <kept> | by a hook"): LabDocument {
  const pattern: LabPattern = {
    name: "forward_hook",
    title,
    framework: "torch",
    outcome: "caught",
    reason: null,
    series: { device: "host", metric: "allocated" },
    leak_bytes_per_step: 1000,
    steps: 100,
    leaky: state("fail", leaky, 800),
    fixed: state("pass", 100, 0),
    ratio: leaky / 100,
    line: "patterns/forward_hook.py:21",
    line_in_leak: true,
  };
  return {
    schema: "stormlog.lab/1",
    generated_at_utc: "2026-01-01T00:00:00.000Z",
    scale: "tiny",
    backend,
    device_model: "<b>model</b>",
    framework_version: "torch 2.9",
    patterns: [pattern],
  };
}

function written(document: unknown): string {
  const place = folder();
  writeFileSync(path.join(place, "lab.json"), JSON.stringify(document));
  return place;
}

describe("lab list", () => {
  it("names every pattern with what it needs", async () => {
    const { code, text, document } = await run("list");
    expect(code).toBe(0);
    expect(document).toEqual({ patterns: CATALOGUE });
    for (const { name } of CATALOGUE) expect(text).toContain(name);
  });

  it("refuses a pattern that is not there, and an action that is not", async () => {
    await expect(run("run", "forward_hok")).rejects.toThrow(GateError);
    await expect(run("run", "forward_hok")).rejects.toMatchObject({ code: "PATTERN_UNKNOWN" });
    await expect(run("scale")).rejects.toMatchObject({ code: "ACTION_UNKNOWN" });
    await expect(run("run", "--scale", "huge")).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });
});

describe("lab run", () => {
  it("skips what cannot be run here, with the reason", async () => {
    const output = folder();
    const { code, document } = await run("run", "forward_hook", "--python", "/no/such/python", "--output", output);
    expect(code).toBe(0);
    const { patterns } = document as LabDocument;
    expect(patterns).toMatchObject([{ name: "forward_hook", outcome: "skipped", ratio: null, leaky: null }]);
    expect(patterns[0]?.reason).toContain("/no/such/python");
    expect(JSON.parse(readFileSync(path.join(output, "lab.json"), "utf8"))).toMatchObject({ patterns });
  });

  it("runs a copy where the package itself lies among installed ones", () => {
    const place = folder();
    const shipped = path.join(place, "node_modules", "stormlog-gate", "leak-lab");
    mkdirSync(path.join(shipped, "patterns"), { recursive: true });
    writeFileSync(path.join(shipped, "patterns", "x.py"), "x");
    const results = path.join(place, "results");
    expect(labFolder(results, shipped)).toBe(path.join(results, "leak-lab"));
    expect(readFileSync(path.join(results, "leak-lab", "patterns", "x.py"), "utf8")).toBe("x");
    expect(labFolder(results, path.join(place, "leak-lab"))).toBe(path.join(place, "leak-lab"));
  });
});

describe("lab report", () => {
  it("sets two backends side by side, with the ratio of their ratios", async () => {
    const { code, text } = await run("report", written(round("mps", 1629)), written(round("cuda", 293)));
    expect(code).toBe(0);
    expect(text).toContain("16.29x");
    expect(text).toContain("2.93x");
    expect(text).toContain("5.56x");
    expect(text).toContain("80 %");
    expect(text).toMatch(/On 2: cuda, 1 of 1 leaks raise the peak less than on 1: mps/);
  });

  it("lets no outside text act in markdown or in the page", async () => {
    const output = path.join(folder(), "new");
    const { document } = await run(
      "report",
      written(round("a|b", 200)),
      written(round("<i>", 300)),
      "--output",
      output,
    );
    expect((document as { files: string[] }).files).toHaveLength(2);
    const page = readFileSync(path.join(output, "leak-lab.html"), "utf8");
    expect(page).not.toMatch(/<b>|<i>/);
    expect(page).not.toMatch(/<script/);
    const markdown = readFileSync(path.join(output, "leak-lab.md"), "utf8");
    expect(markdown).not.toMatch(/<b>|<i>/);
    const widths = markdown
      .split("\n")
      .filter((line) => line.startsWith("| "))
      .map((line) => line.split("|").length);
    expect(new Set(widths).size).toBe(2);
  });

  it("shows the timelines of the bundles, and nothing from outside their folder", async () => {
    const place = written(round("cpu", 200));
    mkdirSync(path.join(place, "forward_hook", "leaky"), { recursive: true });
    writeFileSync(path.join(place, "forward_hook", "leaky", "timeline.png"), "picture");
    const output = path.join(place, "out");
    await run("report", place, "--output", output);
    const shown = `data:image/png;base64,${Buffer.from("picture").toString("base64")}`;
    expect(readFileSync(path.join(output, "leak-lab.html"), "utf8")).toContain(shown);
    const hostile = round("cpu", 200);
    const pattern = { ...hostile.patterns[0], leaky: { ...hostile.patterns[0]?.leaky, bundle: "../x" } };
    const other = path.join(place, "other");
    mkdirSync(path.join(place, "x"));
    mkdirSync(other);
    writeFileSync(path.join(place, "x", "timeline.png"), "picture");
    writeFileSync(path.join(other, "lab.json"), JSON.stringify({ ...hostile, patterns: [pattern] }));
    await run("report", other, "--output", output);
    expect(readFileSync(path.join(output, "leak-lab.html"), "utf8")).not.toContain("data:image");
  });

  it("says of what is no round of the lab that it is none", async () => {
    await expect(run("report", folder())).rejects.toMatchObject({ code: "LAB_UNREADABLE", kind: "invalid-input" });
    await expect(run("report", written({ schema: "stormlog.lab/2" }))).rejects.toMatchObject({ code: "LAB_INVALID" });
    await expect(run("report")).rejects.toMatchObject({ code: "ARGUMENT_MISSING", kind: "usage" });
  });
});
