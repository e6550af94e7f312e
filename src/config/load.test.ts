import { describe, expect, it } from "vitest";
import { parseConfig } from "./load.ts";

const scenario = (more: string) => `scenarios: [{ name: a, run: "true"${more} }]`;

describe("the error of a bad configuration file", () => {
  it.each([
    ["", "it is empty"],
    ["just words", "it has no keys such as scenarios"],
    ["baseline: file:baselines", "scenarios is missing"],
    ["scenarios: []", "scenarios must not be empty"],
    ["scenarios: [{ name: a }]", "scenarios.0.run is missing"],
    ['scenarios: [{ name: "", run: "true" }]', "scenarios.0.name must not be empty"],
    [scenario(", bugdet: { host: 1GiB }"), "scenarios.0.bugdet is an unknown key"],
    [scenario(", timeout: soon"), 'scenarios.0.timeout must be number, not "soon"'],
    [scenario(", timeout: 0"), "scenarios.0.timeout must be above 0"],
    [`${scenario("")}\npolicy: { unjudged: maybe }`, 'policy.unjudged must be "fail" or "warn" or "pass", not "maybe"'],
    [`schema: stormlog.config/2\n${scenario("")}`, 'schema must be "stormlog.config/1", not "stormlog.config/2"'],
  ])("%s", (text, problem) => {
    expect(() => parseConfig(text, "gate.yml")).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        exitCode: 5,
        message: `gate.yml is not a configuration: ${problem}`,
      }),
    );
  });
});
