import { mkdirSync, realpathSync, symlinkSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { temporary } from "../../test/testing/temporary.ts";
import { METRICS } from "../telemetry/recording/metrics.ts";
import { parseConfig } from "./load.ts";
import { type GateRequestInput, gateRequest, parseBudget, parseHorizon, scenarioDefinition } from "./options.ts";
import { RUN_OPTIONS } from "./run-options.ts";

const input = (over: Partial<GateRequestInput>): GateRequestInput => ({
  options: {},
  command: { kind: "argv", argv: ["true"] },
  config: null,
  root: "/project",
  defaultBaselines: ["file:baselines"],
  defaultUnjudged: "fail",
  argv: [],
  env: {},
  ...over,
});

const CONFIG = parseConfig(
  `
scenarios:
  - name: train
    run: python train.py
    cwd: sub
    env: { SEED: 7 }
    timeout: 60
    horizon: 72h
    budget: { host: 2GiB, allocated: 1GiB }
  - name: serve
    run: ["./serve", "--quick"]
baseline: [ref:refs/stormlog/baselines, file:baselines]
policy: { unjudged: warn, relative-margin-percent: 2 }
report: { bundle: out, csv: true }
`,
  "test.yml",
);

describe("the gate's request", () => {
  it("uses the contract's defaults for a bare command", () => {
    const request = gateRequest(input({}));
    expect(request).toMatchObject({
      baselines: ["file:baselines"],
      bundle: "/project/stormlog-bundle",
      hostPeriodNs: 5e6,
      devicePeriodNs: 2e7,
      cpuBudget: 0.01,
      maxRuns: 10,
      maxMinutes: null,
      csv: false,
      unjudged: "fail",
      attribute: "auto",
      baseRun: { kind: "auto" },
    });
    expect(request.scenarios).toMatchObject([{ name: "default", cwd: "/project", repeats: "auto", definition: null }]);
  });

  it("takes every scenario of the config file, a string for the shell and a list without one", () => {
    const { scenarios, ...request } = gateRequest(input({ command: null, config: CONFIG }));
    expect(scenarios.map(({ command }) => command)).toEqual([
      { kind: "shell", script: "python train.py" },
      { kind: "argv", argv: ["./serve", "--quick"] },
    ]);
    expect(scenarios[0]).toMatchObject({
      cwd: "/project/sub",
      env: { SEED: "7" },
      timeoutS: 60,
      horizon: { kind: "seconds", seconds: 259200 },
    });
    expect(request).toMatchObject({ unjudged: "warn", relativeMargin: 0.02, bundle: "/project/out", csv: true });
    expect(request.baselines).toEqual(["ref:refs/stormlog/baselines", "file:baselines"]);
  });

  it("lets the command line win over the config file, budget by budget", () => {
    const request = gateRequest(
      input({
        command: null,
        config: CONFIG,
        options: { scenario: "train", budget: ["host=3GiB"], unjudged: "pass", timeout: "5" },
      }),
    );
    expect(request.scenarios).toHaveLength(1);
    expect(request.scenarios[0]?.budgets).toEqual([
      { metric: "host", bytes: 3 * 1024 ** 3 },
      { metric: "allocated", bytes: 1024 ** 3 },
    ]);
    expect(request.scenarios[0]?.timeoutS).toBe(5);
    expect(request.unjudged).toBe("pass");
  });

  it("takes several scenarios with commas or line ends between them, in the order of the file", () => {
    const scenarios = ["first", "second", "third", "a, b"].map((name) => ({ name, run: "true" }));
    const chosen = (scenario: string): readonly string[] =>
      gateRequest(input({ command: null, config: { scenarios }, options: { scenario } })).scenarios.map(
        ({ name }) => name,
      );
    expect(chosen("third, first")).toEqual(["first", "third"]);
    expect(chosen("first\nsecond\n")).toEqual(["first", "second"]);
    expect(chosen("a, b")).toEqual(["a, b"]);
    for (const text of ["first, fourth", ","])
      expect(() => chosen(text)).toThrowError(expect.objectContaining({ code: "SCENARIO_UNKNOWN" }));
  });

  it("the gate's request has no baselines with --baseline none", () => {
    expect(gateRequest(input({ options: { baseline: ["none"] } })).baselines).toEqual([]);
  });

  it.each([
    [{ scenario: "absent" }, "SCENARIO_UNKNOWN"],
    [{ repeats: "0" }, "OPTION_INVALID"],
    [{ repeats: "2.5" }, "OPTION_INVALID"],
    [{ interval: "fast" }, "OPTION_INVALID"],
    [{ interval: "0.1" }, "OPTION_INVALID"],
    [{ "cpu-budget": "-1" }, "OPTION_INVALID"],
    [{ unjudged: "maybe" }, "OPTION_INVALID"],
    [{ budget: ["rss=1GiB"] }, "BUDGET_INVALID"],
    [{ budget: ["host=lots"] }, "SIZE_INVALID"],
    [{ horizon: "soon" }, "HORIZON_INVALID"],
    [{ probe: "always" }, "OPTION_INVALID"],
    [{ "base-run": " " }, "OPTION_INVALID"],
  ])("refuses %o with %s", (options, code) => {
    expect(() => gateRequest(input({ command: null, config: CONFIG, options }))).toThrowError(
      expect.objectContaining({ code, exitCode: 2 }),
    );
  });

  it("the gate's request is an error without a command and a config file", () => {
    expect(() => gateRequest(input({ command: null }))).toThrowError(expect.objectContaining({ code: "NO_COMMAND" }));
  });
});

describe("the config file", () => {
  it.each([
    ["scenarios: [", "CONFIG_SYNTAX"],
    ["", "CONFIG_INVALID"],
    ["scenarios: []", "CONFIG_INVALID"],
    ["scenarios: [{name: a, run: x, bugdet: {host: 1GiB}}]", "CONFIG_INVALID"],
    ["scenarios: [{name: a, run: x}, {name: a, run: y}]", "CONFIG_DUPLICATE_SCENARIO"],
    ["schema: stormlog.config/2\nscenarios: [{name: a, run: x}]", "CONFIG_INVALID"],
    ["scenarios: [{name: a, run: x, timeout: .nan}]", "CONFIG_INVALID"],
  ])("refuses %j with %s", (text, code) => {
    expect(() => parseConfig(text, "c.yml")).toThrowError(expect.objectContaining({ code, exitCode: 5 }));
  });
});

describe("--vary", () => {
  const config = (run: string | readonly string[]) =>
    parseConfig(JSON.stringify({ scenarios: [{ name: "train", run, env: { A: "1" } }] }), "c.yml");
  const varied = (run: string | readonly string[], vary = "N=1,2") =>
    gateRequest(input({ command: null, config: config(run), options: { vary } })).scenarios;

  it("makes a scenario for each value, in its environment", () => {
    const [first, second, ...others] = varied("./train");
    expect(others).toEqual([]);
    expect(first).toMatchObject({ name: "train@N=1", env: { A: "1", N: "1" }, varied: { of: "train", value: "1" } });
    expect(second).toMatchObject({ name: "train@N=2", env: { A: "1", N: "2" } });
    expect(first?.definition).not.toBe(second?.definition);
  });

  it("puts the value where the command names it", () => {
    const [first] = varied(["train", "--batch={N}"]);
    expect(first).toMatchObject({ command: { kind: "argv", argv: ["train", "--batch=1"] }, env: { A: "1" } });
    expect(varied("train {N}")[1]).toMatchObject({ command: { kind: "shell", script: "train 2" } });
  });

  it.each(["N", "N=", "N=1", "N=1,1", "N=1,,2", "2N=1,2", "=1,2"])("refuses %j", (vary) => {
    expect(() => varied("./train", vary)).toThrow(expect.objectContaining({ code: "OPTION_INVALID", exitCode: 2 }));
  });

  it("--fits needs --vary and takes sizes in bytes or with a unit", () => {
    const fits = ["80GB=85.0e9", "small=2GiB"];
    const options = { vary: "N=1,2", fits };
    expect(gateRequest(input({ command: null, config: config("x"), options })).fits).toEqual([
      { name: "80GB", bytes: 85e9 },
      { name: "small", bytes: 2 ** 31 },
    ]);
    expect(() => gateRequest(input({ options: { fits } }))).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID" }),
    );
  });

  it.each(["x=0", "0", "x=0e9", "x=0GiB", "x=0.5"])("refuses a capacity of 0 bytes: --fits %s", (size) => {
    expect(() => gateRequest(input({ options: { vary: "N=1,2", fits: [size] } }))).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID", exitCode: 2 }),
    );
  });
});

describe("a known leak of the config file", () => {
  const config = (entry: object): string =>
    JSON.stringify({
      scenarios: [{ name: "a", run: "true" }],
      policy: {
        "known-leaks": [
          { package: "p", versions: ["1"], at: "f", limit: "2.5 MiB/s", until: "2027-01-31", reason: "why", ...entry },
        ],
      },
    });

  it("a known leak is read, also with a leap day as its last day", () => {
    expect(parseConfig(config({}), "c.yml").policy?.["known-leaks"]).toHaveLength(1);
    expect(parseConfig(config({ until: "2028-02-29" }), "c.yml").policy?.["known-leaks"]).toHaveLength(1);
  });

  it.each([
    { limit: "64KiB" },
    { limit: "64 lots/step" },
    { limit: "1e9KiB/step" },
    { until: "soon" },
    { until: "2027-13-01" },
    { until: "2027-02-30" },
    { until: "2027-02-29" },
    { until: "2027-04-31" },
    { versions: [] },
    { reason: "" },
    { sinec: 1 },
  ])("a known leak is refused with %j", (entry) => {
    expect(() => parseConfig(config(entry), "c.yml")).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  });
});

describe("an option with a unit", () => {
  it("a length of time is a number in its own unit, or a text with one", () => {
    const of = (timeout: string, minutes: string) => {
      const request = gateRequest(input({ options: { timeout, "max-minutes": minutes } }));
      return [request.scenarios[0]?.timeoutS, request.maxMinutes];
    };
    expect(of("90", "5")).toEqual([90, 5]);
    expect(of("1.5m", "90s")).toEqual([90, 1.5]);
    expect(() => of("soon", "5")).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    const config = parseConfig("scenarios: [{name: a, run: x, timeout: 2m}]\npolicy: {max-minutes: 1h}", "gate.yml");
    const request = gateRequest(input({ config, command: null }));
    expect([request.scenarios[0]?.timeoutS, request.maxMinutes]).toEqual([120, 60]);
    expect(() => parseConfig("scenarios: [{name: a, run: x, timeout: 2 weeks}]", "gate.yml")).toThrow(/such as "90s"/);
  });

  it("a budget of a few bytes without a unit is refused, since MiB are meant", () => {
    expect(() => parseBudget("host=10")).toThrow(
      expect.objectContaining({ code: "BUDGET_INVALID", hint: expect.stringContaining('"host=10MiB"') }),
    );
    expect(parseBudget("host=10B").bytes).toBe(10);
    expect(parseBudget("descriptors=10").bytes).toBe(10);
    expect(parseBudget("host=1073741824").bytes).toBe(2 ** 30);
  });
});

describe("the bundle's directory", () => {
  it.each(["", " ", ".", "/", "..", "a/.."])("the bundle's directory cannot be %j", (bundle) => {
    expect(() => gateRequest(input({ options: { bundle } }))).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID", exitCode: 2 }),
    );
  });

  it("the bundle's directory can be beside the working directory, or have a name that starts with dots", () => {
    for (const bundle of ["../out", "..out", "x/y"])
      expect(gateRequest(input({ options: { bundle } })).bundle).toMatch(/[^/]$/);
  });

  it("the bundle's directory is where a link leads at the start, and not the working directory by a link", () => {
    const top = realpathSync(temporary("bundle-link"));
    mkdirSync(path.join(top, "work"));
    mkdirSync(path.join(top, "disk"));
    symlinkSync(path.join(top, "disk"), path.join(top, "work", "out"));
    symlinkSync(top, path.join(top, "work", "up"));
    const bundle = (text: string) =>
      gateRequest(input({ root: path.join(top, "work"), options: { bundle: text } })).bundle;
    expect(bundle("out/a/b")).toBe(path.join(top, "disk", "a", "b"));
    expect(() => bundle("up")).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  });
});

describe("the scenario's name", () => {
  it("the scenario's name cannot be blank", () => {
    expect(() => gateRequest(input({ options: { scenario: " " } }))).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID", exitCode: 2 }),
    );
  });
});

describe("budgets and horizons", () => {
  it("reads METRIC=SIZE", () => {
    expect(parseBudget("used=80GiB")).toEqual({ metric: "used", bytes: 80 * 1024 ** 3 });
  });

  it.each(METRICS)(
    "a budget for %s is accepted by the command line and by the config file, also under gating",
    (metric) => {
      const expected = { metric, bytes: 10 * 1024 ** 2 };
      expect(parseBudget(`${metric}=10MiB`)).toEqual(expected);
      const file = {
        scenarios: [{ name: "a", run: "true", budget: { [metric]: "10MiB" } }],
        policy: { gating: [metric] },
      };
      const request = gateRequest(input({ command: null, config: parseConfig(JSON.stringify(file), "c.yml") }));
      expect([request.scenarios[0]?.budgets, request.gatingMetrics]).toEqual([[expected], [metric]]);
      expect(RUN_OPTIONS.budget.description).toContain(`\`${metric}\``);
    },
  );

  it.each([
    ["1e9", 1e9],
    ["85.0e9", 85e9],
    ["1.5E3", 1500],
    ["2 GiB", 2 ** 31],
    ["4096", 4096],
  ])("budgets and --fits read the size %s", (size, bytes) => {
    expect(parseBudget(`host=${size}`).bytes).toBe(bytes);
    const options = { vary: "N=1,2", fits: [`x=${size}`] };
    expect(gateRequest(input({ options })).fits).toEqual([{ name: "x", bytes }]);
    const file = { scenarios: [{ name: "a", run: "true", budget: { host: size } }] };
    const request = gateRequest(input({ command: null, config: parseConfig(JSON.stringify(file), "c.yml") }));
    expect(request.scenarios[0]?.budgets).toEqual([{ metric: "host", bytes }]);
  });

  it.each(["1e400", "1e99", "-1e9", "e9", "1e9GiB", ""])("budgets and --fits refuse the size %j", (size) => {
    const invalid = expect.objectContaining({ code: "SIZE_INVALID", exitCode: 2 });
    expect(() => parseBudget(`host=${size}`)).toThrow(invalid);
    expect(() => gateRequest(input({ options: { vary: "N=1,2", fits: [`x=${size}`] } }))).toThrow(invalid);
  });

  it("reads steps and hours", () => {
    expect(parseHorizon("1000000")).toEqual({ kind: "steps", steps: 1e6 });
    expect(parseHorizon("1e6")).toEqual({ kind: "steps", steps: 1e6 });
    expect(parseHorizon("1.5h")).toEqual({ kind: "seconds", seconds: 5400 });
  });

  it("a bad value is invalid input in the config file, and a usage error on the command line", () => {
    const config = (lines: string) => parseConfig(`scenarios: [{ name: a, run: "true", ${lines} }]`, "bad.yml");
    for (const lines of ["horizon: soon", "budget: { host: lots }"]) {
      expect(() => config(lines), lines).toThrow(expect.objectContaining({ code: "CONFIG_INVALID", exitCode: 5 }));
    }
    const given = input({ options: { horizon: "soon" } });
    expect(() => gateRequest(given)).toThrow(expect.objectContaining({ code: "HORIZON_INVALID", exitCode: 2 }));
  });
});

describe("the definition of a scenario", () => {
  const text = (run: string) => scenarioDefinition({ run });

  it("the definition of a plain command, a YAML block and a list is that of earlier versions", () => {
    expect(text("python train.py")).toBe('{"run":"python train.py","cwd":".","env":[]}');
    expect(text("python train.py\n")).toBe('{"run":"python train.py\\n","cwd":".","env":[]}');
    expect(scenarioDefinition({ run: ["a ", ""], env: { B: 1 } })).toBe(
      '{"run":["a ",""],"cwd":".","env":[["B","1"]]}',
    );
  });

  it("the definition of a scenario does not depend on blanks around the command", () => {
    for (const run of [" python train.py", "python train.py  ", "\tpython train.py\t"])
      expect(text(run)).toBe(text("python train.py"));
    expect(text("python train.py \n\n")).toBe(text("python train.py\n"));
    expect(text("python  train.py")).not.toBe(text("python train.py"));
  });

  it("lists the other spellings by which records may know it", () => {
    const of = (run: string) =>
      gateRequest(input({ command: null, config: { scenarios: [{ name: "a", run }] } })).scenarios[0]?.otherDefinitions;
    expect(of("x")).toEqual([text("x\n")]);
    expect(of("x\n")).toEqual([text("x")]);
    expect(of("x \n\n")).toEqual([text("x"), '{"run":"x \\n\\n","cwd":".","env":[]}']);
  });
});
