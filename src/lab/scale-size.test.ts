import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { GateError } from "../core/errors.ts";
import { selectPatterns, shippedLab } from "./catalogue.ts";
import { checkSetting, LAB_SCALES, runSize, type ScaleSetting, usualBounds, usualSize } from "./scale-size.ts";

const TINY: ScaleSetting = { by: "steps", scale: "tiny", steps: null, batch: null };

describe("the sizes of the lab's scales", () => {
  it("the sizes of the lab's scales are those that the patterns have", () => {
    const file = path.join(shippedLab(), "patterns", "leaklab", "site-packages", "arguments.py");
    const found = [...readFileSync(file, "utf8").matchAll(/"(\w+)": Scale\((.*)\)/g)].map(
      ([, name = "", text = ""]) => {
        const number = (word: string): number =>
          Number(new RegExp(`${word}=([\\d_]+)`).exec(text)?.[1]?.replaceAll("_", ""));
        return [name, { batch: number("batch"), steps: number("steps"), rows: number("rows") }];
      },
    );
    expect(Object.fromEntries(found)).toEqual(LAB_SCALES);
  });

  it("the sizes of the lab's scales are five epochs each", () => {
    for (const scale of ["tiny", "small", "article"] as const)
      expect(usualSize({ ...TINY, by: "epochs", scale })).toBe(5);
  });
});

describe("a run of a size", () => {
  it("a run of a size has that many steps, that batch, or that many epochs of full batches", () => {
    expect(runSize(TINY, 7)).toEqual({ steps: 7, batch: null });
    expect(runSize({ ...TINY, batch: 2 }, 7)).toEqual({ steps: 7, batch: 2 });
    expect(runSize({ ...TINY, by: "batch" }, 7)).toEqual({ steps: 160, batch: 7 });
    expect(runSize({ ...TINY, by: "batch", steps: 9 }, 7)).toEqual({ steps: 9, batch: 7 });
    expect(runSize({ ...TINY, by: "epochs" }, 3)).toEqual({ steps: 96, batch: null });
    expect(runSize({ ...TINY, by: "epochs", scale: "article" }, 2)).toEqual({ steps: 156, batch: null });
    // More images in a batch than there are: the pattern makes as many.
    expect(runSize({ ...TINY, by: "epochs", batch: 5000 }, 2)).toEqual({ steps: 2, batch: 5000 });
  });

  it("the usual bounds lie around the scale's own size", () => {
    for (const by of ["steps", "batch", "epochs"] as const) {
      const setting = { ...TINY, by };
      const { from, to } = usualBounds(setting);
      expect(from).toBeLessThan(usualSize(setting));
      expect(to).toBeGreaterThan(usualSize(setting));
    }
  });
});

describe("a search", () => {
  const refused = (name: string, setting: Partial<ScaleSetting>): unknown => {
    const [entry] = selectPatterns([name]);
    if (entry === undefined) throw new Error(name);
    try {
      checkSetting(entry, { ...TINY, ...setting });
      return null;
    } catch (error) {
      return error instanceof GateError ? error.message : error;
    }
  };

  it("a search by batch or epochs is refused where a pattern has none", () => {
    for (const name of ["python_cache", "python_callbacks", "node_cache", "node_listeners"]) {
      expect(refused(name, { by: "batch" })).toContain("has no batch");
      expect(refused(name, { by: "epochs" })).toContain("has no epochs");
      expect(refused(name, { batch: 3 })).toContain("has no --batch");
      expect(refused(name, {})).toBeNull();
    }
    expect(refused("forward_hook", { by: "batch" })).toBeNull();
    expect(refused("tensorflow_tapes", { by: "epochs" })).toBeNull();
  });

  it("a search is refused with a constant value for what it varies", () => {
    expect(refused("forward_hook", { by: "batch", batch: 3 })).toContain("--by batch");
    expect(refused("forward_hook", { by: "steps", steps: 3 })).toContain("--by steps");
    expect(refused("forward_hook", { by: "epochs", steps: 3 })).toContain("--by epochs");
    expect(refused("forward_hook", { by: "batch", steps: 3 })).toBeNull();
    expect(refused("forward_hook", { by: "epochs", batch: 3 })).toBeNull();
  });
});
