import { describe, expect, it } from "vitest";
import { parseConfig } from "./load.ts";

const scenario = (more: string) => `scenarios: [{ name: a, run: "true"${more} }]`;

const FILE = `schema: stormlog.config/1
scenarios:
  - name: train
    run: python train.py
    bugdet: { host: 1GiB }
  - name: train
    run: [python, serve.py]
    horizon: soon
    budget:
      host: lots
policy:
  max-rnus: 3
`;

/** The file without some lines, which hold other problems. */
const without = (...numbers: number[]): string =>
  FILE.split("\n")
    .map((line, i) => (numbers.includes(i + 1) ? "" : line))
    .join("\n");

const problem = (text: string): unknown => {
  try {
    return parseConfig(text, "gate.yml");
  } catch (error) {
    return (error as Error).message;
  }
};

describe("the line of a problem in a configuration file", () => {
  it.each([
    [
      "unknown keys",
      FILE,
      "gate.yml:5: scenarios.0.bugdet is an unknown key. Did you mean budget?; gate.yml:12: policy.max-rnus is an unknown key. Did you mean max-runs?",
    ],
    ["a second scenario", without(5, 8, 9, 10, 11, 12), 'gate.yml:6: a second scenario has the name "train"'],
    ["a horizon", without(5, 9, 10, 11, 12), 'gate.yml:8: horizon "soon" is neither a number of steps nor hours'],
    ["a budget", without(5, 8, 11, 12), 'gate.yml:10: "lots" is not a size'],
    ["a missing key", without(4, 5), "gate.yml:3: scenarios.0 has neither run nor service"],
    ["a key in an alias", "scenarios:\n  - &a\n    name: b\n    rnu: x\n  - *a\n", "gate.yml:4: scenarios.1.rnu"],
    ["YAML", "scenarios:\n  - name: [a\n", "gate.yml:3: not valid YAML: "],
    ["a repeated key", "scenarios: []\n\nscenarios: []\n", "gate.yml:3: not valid YAML: Map keys must be unique"],
  ])("parseConfig names the line of the problem: %s", (_, text, message) => {
    expect(problem(text)).toContain(message);
  });

  it("parseConfig rejects a file whose aliases multiply", () => {
    const bomb = [
      "a: &a [x,x,x,x,x,x,x,x,x,x]",
      ...[..."bcdefgh"].map((k, i) => `${k}: &${k} [${Array(10).fill(`*${"abcdefgh"[i]}`)}]`),
    ];
    expect(problem(bomb.join("\n"))).toMatch(/not valid YAML: .*alias/);
  });
});

describe("the error of a bad configuration file", () => {
  it.each([
    ["", "it is empty"],
    ["just words", "it has no keys such as scenarios"],
    ["baseline: file:baselines", "scenarios is missing"],
    ["scenarios: []", "scenarios must not be empty"],
    ["scenarios: [{ name: a }]", "scenarios.0 has neither run nor service"],
    ['scenarios: [{ name: "", run: "true" }]', "scenarios.0.name must not be empty"],
    [scenario(", bugdet: { host: 1GiB }"), "scenarios.0.bugdet is an unknown key. Did you mean budget?"],
    [scenario(", timeout: soon"), 'scenarios.0.timeout must be a duration, such as "90s" or "5m"'],
    [scenario(", timeout: 0"), "scenarios.0.timeout must be above 0"],
    [`${scenario("")}\npolicy: { unjudged: maybe }`, 'policy.unjudged must be "fail" or "warn" or "pass", not "maybe"'],
    [`schema: stormlog.config/2\n${scenario("")}`, 'schema must be "stormlog.config/1", not "stormlog.config/2"'],
  ])("parseConfig rejects %j: %s", (text, what) => {
    const line = text.includes("\npolicy") ? 2 : 1;
    expect(() => parseConfig(text, "gate.yml")).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID", exitCode: 5, message: `gate.yml:${line}: ${what}` }),
    );
  });
});

describe("a file of more keys and values than the parser may be given", () => {
  it.each([
    ["brackets", "[".repeat(60_000)],
    ["anchors", Array.from({ length: 6000 }, (_, i) => `k${i}: &a${i} 1`).join("\n")],
    ["scenarios", `scenarios:\n${"  - {name: a, run: x}\n".repeat(6000)}`],
  ])("parseConfig refuses a file of too many keys and values: %s", (_, text) => {
    expect(() => parseConfig(text, "gate.yml")).toThrowError(
      expect.objectContaining({ code: "CONFIG_TOO_LARGE", exitCode: 5 }),
    );
  });

  it("a long script does not count as many keys and values", () => {
    const script = "      echo a: [b, c] # d\n".repeat(20_000);
    const { scenarios } = parseConfig(`scenarios:\n  - name: a\n    run: |\n${script}`, "gate.yml");
    expect(scenarios).toHaveLength(1);
  });
});
