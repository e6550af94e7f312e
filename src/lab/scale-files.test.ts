import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { dropBundles, prepareScaleDirectory, SCALE_FILE, writeScaleDocument } from "./scale-files.ts";
import { scaleDocument } from "./testing/scale.ts";

function directory(): string {
  const made = mkdtempSync(path.join(tmpdir(), "stormlog-scale-test-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function lay(target: string): void {
  mkdirSync(path.join(target, "probes", "17"), { recursive: true });
  mkdirSync(path.join(target, "baselines"));
  writeFileSync(path.join(target, "probes", "17", "x"), "x");
  writeFileSync(path.join(target, "mine"), "mine");
}

describe("the directory of a search", () => {
  it("the directory of a search loses the results of an earlier search, and nothing else", async () => {
    const target = path.join(directory(), "new");
    await prepareScaleDirectory(target);
    lay(target);
    await writeScaleDocument(target, scaleDocument());
    await prepareScaleDirectory(target);
    expect(readdirSync(target).sort()).toEqual([".lab-scale", "mine"]);
  });

  it("the directory of a search is refused where it contains entries of a search but no search made it", async () => {
    const target = directory();
    lay(target);
    for (let search = 0; search < 2; search += 1)
      await expect(prepareScaleDirectory(target)).rejects.toMatchObject({
        code: "LAB_FOLDER_TAKEN",
        message: expect.stringContaining("baselines, probes"),
        where: target,
      });
    expect(readdirSync(target).sort()).toEqual(["baselines", "mine", "probes"]);
    expect(readFileSync(path.join(target, "probes", "17", "x"), "utf8")).toBe("x");
  });

  it("the directory of a search is not marked as the search's where it contains other files", async () => {
    const target = directory();
    writeFileSync(path.join(target, "mine"), "mine");
    await prepareScaleDirectory(target);
    expect(readdirSync(target)).toEqual(["mine"]);
    // Later files there may be the user's.
    lay(target);
    await expect(prepareScaleDirectory(target)).rejects.toMatchObject({ code: "LAB_FOLDER_TAKEN" });
    expect(existsSync(path.join(target, "probes", "17", "x"))).toBe(true);
  });

  it("the directory of a search is marked as the search's where it was empty", async () => {
    const target = directory();
    await prepareScaleDirectory(target);
    lay(target);
    await prepareScaleDirectory(target);
    expect(readdirSync(target).sort()).toEqual([".lab-scale", "mine"]);
  });

  it("the directory of a search has the document, and no partial file", async () => {
    const target = directory();
    await writeScaleDocument(target, scaleDocument());
    expect(readdirSync(target).sort()).toEqual(["lab-scale.json"]);
    expect(JSON.parse(readFileSync(path.join(target, SCALE_FILE), "utf8"))).toEqual(scaleDocument());
  });

  it("dropBundles removes the bundles of one size, and nothing else", async () => {
    const target = directory();
    lay(target);
    await dropBundles(target, "probes/17");
    expect(existsSync(path.join(target, "probes", "17"))).toBe(false);
    expect(existsSync(path.join(target, "mine"))).toBe(true);
  });

  it("a directory that cannot be made is an error with a code", async () => {
    const target = directory();
    writeFileSync(path.join(target, "file"), "");
    await expect(prepareScaleDirectory(path.join(target, "file", "x"))).rejects.toMatchObject({
      code: "LAB_UNWRITABLE",
    });
    await expect(writeScaleDocument(path.join(target, "no"), scaleDocument())).rejects.toMatchObject({
      code: "LAB_UNWRITABLE",
    });
  });
});
