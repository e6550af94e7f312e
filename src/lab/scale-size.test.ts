import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { selectPatterns, shippedLab } from "./catalogue.ts";
import { checkSetting, LAB_STEPS } from "./scale-size.ts";

describe("the sizes of the lab's scales", () => {
  it("the sizes of the lab's scales are those that the patterns have", () => {
    const file = path.join(shippedLab(), "patterns", "leaklab", "site-packages", "arguments.py");
    const found = [...readFileSync(file, "utf8").matchAll(/"(\w+)": Scale\(.*\bsteps=(\d+)/g)];
    expect(Object.fromEntries(found.map(([, name, steps]) => [name, Number(steps)]))).toEqual(LAB_STEPS);
  });
});

describe("a search", () => {
  it("a search with a batch is refused where a pattern has none", () => {
    const check = (name: string, batch: number | null) => (): void => {
      for (const entry of selectPatterns([name])) checkSetting(entry, { scale: "tiny", batch });
    };
    for (const name of ["python_cache", "python_callbacks", "node_cache", "node_listeners"]) {
      expect(check(name, 3)).toThrow("has no --batch");
      expect(check(name, null)).not.toThrow();
    }
    expect(check("forward_hook", 3)).not.toThrow();
  });
});
