import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { GateError } from "../../src/core/errors.ts";
import { CATALOGUE, labFolder } from "../../src/gate/lab-catalogue.ts";
import type { LabDocument } from "../../src/report/lab-document.ts";
import { folder, run } from "./kit/lab-command.ts";

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
