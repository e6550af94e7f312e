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

function lay(place: string): void {
  mkdirSync(path.join(place, "probes", "17"), { recursive: true });
  mkdirSync(path.join(place, "baselines"));
  writeFileSync(path.join(place, "probes", "17", "x"), "x");
  writeFileSync(path.join(place, "mine"), "mine");
}

describe("the directory of a search", () => {
  it("loses what an earlier search left, and nothing else", async () => {
    const place = path.join(directory(), "new");
    await prepareScaleDirectory(place);
    lay(place);
    await writeScaleDocument(place, scaleDocument());
    await prepareScaleDirectory(place);
    expect(readdirSync(place).sort()).toEqual([".lab-scale", "mine"]);
  });

  it("is refused where it holds what a search would write and no search made it, each time", async () => {
    const place = directory();
    lay(place);
    for (let search = 0; search < 2; search += 1)
      await expect(prepareScaleDirectory(place)).rejects.toMatchObject({
        code: "LAB_FOLDER_TAKEN",
        message: expect.stringContaining("baselines, probes"),
        where: place,
      });
    expect(readdirSync(place).sort()).toEqual(["baselines", "mine", "probes"]);
    expect(readFileSync(path.join(place, "probes", "17", "x"), "utf8")).toBe("x");
  });

  it("is not made the search's own where it holds anything of somebody else", async () => {
    const place = directory();
    writeFileSync(path.join(place, "mine"), "mine");
    await prepareScaleDirectory(place);
    expect(readdirSync(place)).toEqual(["mine"]);
    // What lies there by the next search may be anybody's.
    lay(place);
    await expect(prepareScaleDirectory(place)).rejects.toMatchObject({ code: "LAB_FOLDER_TAKEN" });
    expect(existsSync(path.join(place, "probes", "17", "x"))).toBe(true);
  });

  it("is its own where it was empty", async () => {
    const place = directory();
    await prepareScaleDirectory(place);
    lay(place);
    await prepareScaleDirectory(place);
    expect(readdirSync(place).sort()).toEqual([".lab-scale", "mine"]);
  });

  it("has the document, its table and its picture, and no half of them", async () => {
    const place = directory();
    await writeScaleDocument(place, scaleDocument());
    expect(readdirSync(place).sort()).toEqual(["lab-scale.json", "lab-scale.md", "lab-scale.png"]);
    expect(JSON.parse(readFileSync(path.join(place, SCALE_FILE), "utf8"))).toEqual(scaleDocument());
  });

  it("is freed of the bundles of one size", async () => {
    const place = directory();
    lay(place);
    await dropBundles(place, "probes/17");
    expect(existsSync(path.join(place, "probes", "17"))).toBe(false);
    expect(existsSync(path.join(place, "mine"))).toBe(true);
  });

  it("that cannot be made is an error with a code", async () => {
    const place = directory();
    writeFileSync(path.join(place, "file"), "");
    await expect(prepareScaleDirectory(path.join(place, "file", "x"))).rejects.toMatchObject({
      code: "LAB_UNWRITABLE",
    });
    await expect(writeScaleDocument(path.join(place, "no"), scaleDocument())).rejects.toMatchObject({
      code: "LAB_UNWRITABLE",
    });
  });
});
