import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { boundSummary, MAX_SUMMARY_BYTES, writeSummary } from "./summary.ts";

const directory = mkdtempSync(path.join(tmpdir(), "summary-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe("boundSummary", () => {
  it("leaves a short text alone", () => {
    expect(boundSummary("# a\n", 100)).toBe("# a\n");
  });

  it("cuts at a line end by bytes, with a notice", () => {
    const cut = boundSummary("größer\n".repeat(1000), 500);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(500);
    expect(cut).toMatch(/größer\n\n…the rest is in the evidence bundle\.\n$/);
    expect(cut).not.toContain("\ufffd");
  });

  it("does not leave a code block open over its notice", () => {
    const cut = boundSummary(`start\n\`\`\`mermaid\n${"line\n".repeat(1000)}`, 300);
    expect(cut).toBe("start\n\n\n…the rest is in the evidence bundle.\n");
  });
});

describe("writeSummary", () => {
  it("never makes the file larger than GitHub takes, however often it is called", () => {
    const file = path.join(directory, "summary.md");
    for (let n = 0; n < 5; n += 1) writeSummary(file, `line ${n}\n`.repeat(60_000));
    expect(statSync(file).size).toBeLessThanOrEqual(MAX_SUMMARY_BYTES);
    expect(readFileSync(file, "utf8")).toContain("line 1");
  });

  it("returns false without a summary file", () => {
    expect(writeSummary(undefined, "x")).toBe(false);
    expect(writeSummary(path.join(directory, "no", "such", "directory"), "x")).toBe(false);
  });

  it.skipIf(process.platform === "win32")("does not write through a link that took the summary's place", () => {
    const [precious, link] = [path.join(directory, "precious"), path.join(directory, "link")];
    writeFileSync(precious, "mine");
    symlinkSync(precious, link);
    expect(writeSummary(link, "x")).toBe(false);
    expect(readFileSync(precious, "utf8")).toBe("mine");
  });
});
