import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { GateError } from "../../src/core/errors.ts";
import { CATALOGUE, labDirectory } from "../../src/lab/catalogue.ts";
import { parseLabDocument } from "../../src/lab/report/document.ts";
import { directory, run } from "./testing/lab-command.ts";

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
    await expect(run("measure")).rejects.toMatchObject({ code: "ACTION_UNKNOWN" });
    await expect(run("measure", "--from", "5")).rejects.toMatchObject({ code: "ACTION_UNKNOWN" });
    await expect(run("run", "--scale", "huge")).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });

  it.each([
    ["list", "--output", "nowhere"],
    ["report", "nowhere", "--steps", "5"],
    ["report", "nowhere", "--baseline", "file:baselines"],
    ["run", "node_cache", "--from", "5"],
    ["scale", "node_cache", "--baseline", "file:baselines"],
    ["run", "node_cache", "--baseline", "file:a", "--baseline", "file:b"],
  ])("refuses an option that would change nothing: lab %s %s %s …", async (...args) => {
    await expect(run(...args)).rejects.toMatchObject({ code: "OPTION_INVALID", kind: "usage" });
  });
});

describe("lab run", () => {
  it("skips what cannot run here with the reason, and fails when it was requested by name", async () => {
    const output = directory();
    await expect(run("run", "forward_hook", "--python", "/no/such/python", "--output", output)).rejects.toMatchObject({
      code: "LAB_SURPRISE",
      message: expect.stringMatching(/forward_hook: skipped: "\/no\/such\/python" cannot be run/),
      hint: expect.not.stringContaining("too small"),
    });
    const { patterns } = parseLabDocument(JSON.parse(readFileSync(path.join(output, "lab.json"), "utf8")), output);
    expect(patterns).toMatchObject([{ name: "forward_hook", outcome: "skipped", ratio: null, leaky: null }]);
    expect(patterns[0]?.reason).toContain("/no/such/python");
  });

  it("runs a copy where the package itself lies among installed ones", () => {
    const place = directory();
    const shipped = path.join(place, "node_modules", "stormlog-gate", "leak-lab");
    mkdirSync(path.join(shipped, "patterns"), { recursive: true });
    writeFileSync(path.join(shipped, "patterns", "x.py"), "x");
    const results = path.join(place, "results");
    expect(labDirectory(results, shipped)).toBe(path.join(results, "leak-lab"));
    expect(readFileSync(path.join(results, "leak-lab", "patterns", "x.py"), "utf8")).toBe("x");
    expect(labDirectory(results, path.join(place, "leak-lab"))).toBe(path.join(place, "leak-lab"));
  });
});
