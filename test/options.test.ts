import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { optionFiles } from "../scripts/generate-options.ts";
import { sourceFindings } from "../scripts/reference/findings.ts";
import { gateRequestFromInputs } from "../src/config/from-action-inputs.ts";
import { RUN_OPTION_ENTRIES } from "../src/config/run-options.ts";
import { packageRoot } from "../src/core/package-root.ts";

const read = (file: string): string => readFileSync(path.join(packageRoot(), file), "utf8");

describe("generated tables", () => {
  it.each(Object.entries(optionFiles()))(
    "%s has its options or reference as the sources define them; otherwise `npm run options` writes them",
    (file, text) => {
      const present = new Set(read(file).split("\n"));
      expect(text.split("\n").filter((line) => !present.has(line))).toEqual([]);
      expect(read(file)).toBe(text);
    },
  );

  it("the reference of findings has those that are named by a literal, a constant, a kind of event and a helper", () => {
    const found = sourceFindings();
    const named = ["leak", "oom_suspected", "peak_line", "device_row_remap", "insufficient_data"];
    expect(named.filter((name) => !found.has(name))).toEqual([]);
    expect(found.get("pressure")).toEqual(["critical", "warning"]);
  });
});

describe("the options of run", () => {
  it("every option of run is read by the gate's request", () => {
    const source = read("src/config/options.ts");
    const unread = RUN_OPTION_ENTRIES.map(([name]) => name).filter(
      (name) => !source.includes(`options.${name}`) && !source.includes(`options["${name}"]`),
    );
    expect(unread).toEqual([]);
  });

  it("the options of run reach the gate's request as inputs of the Action", () => {
    const inputs = {
      run: "true",
      "max-runs": "7",
      budget: "host=1GiB\nused=2GiB",
      baseline: "none",
      "interval-ms": "9",
    };
    expect(gateRequestFromInputs(inputs, {})).toMatchObject({
      maxRuns: 7,
      baselines: [],
      hostPeriodNs: 9e6,
      scenarios: [{ budgets: [{ metric: "host" }, { metric: "used" }] }],
    });
  });
});
