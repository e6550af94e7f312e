import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { underBasePolicy } from "./base-policy.ts";
import { gateRequest } from "./options.ts";
import type { ConfigFile, ConfigScenario } from "./schema.ts";

const scenario = (over: Partial<ConfigScenario> = {}): ConfigScenario => ({
  name: "train",
  run: "python train.py",
  ...over,
});
const config = (over: Partial<ConfigFile> = {}, train: Partial<ConfigScenario> = {}): ConfigFile => ({
  scenarios: [scenario(train)],
  ...over,
});
const paths = (base: ConfigFile, head: ConfigFile) => underBasePolicy(base, head).changes.map(({ path }) => path);

describe("a change of the gate's own configuration", () => {
  it("a configuration without a change has no changes, notes or renamed scenarios", () => {
    const one = config(
      { policy: { unjudged: "fail" }, baseline: "file:baselines" },
      { budget: { host: "2GiB" }, horizon: "1e6" },
    );
    expect(underBasePolicy(one, one)).toEqual({
      config: one,
      changes: [],
      removed: [],
      redefined: [],
      renamed: new Map(),
      notes: [],
    });
  });

  it("a configuration that spells the same settings differently has no changes", () => {
    const base = config(
      { baseline: "file:baselines", policy: { gating: ["host", "allocated"] } },
      { budget: { host: "2GiB" }, horizon: "1e6", env: { A: 1, B: "x" }, cwd: ".", ignore: ["a", "b"] },
    );
    const head = config(
      { baseline: ["file:baselines"], policy: { gating: ["allocated", "host"], "base-run": "auto" } },
      {
        budget: { host: 2 * 1024 ** 3 },
        horizon: 1_000_000,
        env: { B: "x", A: "1" },
        repeats: "auto",
        ignore: ["b", "a"],
      },
    );
    expect(underBasePolicy(base, head).changes).toEqual([]);
  });

  it.each<[string, ConfigFile, ConfigFile, string, string | null, string | null]>([
    [
      "a higher budget",
      config({}, { budget: { host: "1GiB" } }),
      config({}, { budget: { host: "2GiB" } }),
      "scenarios.train.budget.host",
      "1GiB",
      "2GiB",
    ],
    [
      "a budget taken away",
      config({}, { budget: { host: "1GiB" } }),
      config(),
      "scenarios.train.budget.host",
      "1GiB",
      null,
    ],
    [
      "a shorter horizon",
      config({}, { horizon: "72h" }),
      config({}, { horizon: "1h" }),
      "scenarios.train.horizon",
      "72h",
      "1h",
    ],
    ["fewer repeats", config(), config({}, { repeats: 1 }), "scenarios.train.repeats", null, "1"],
    ["a program that is ignored", config(), config({}, { ignore: ["wrk"] }), "scenarios.train.ignore", null, '["wrk"]'],
    [
      "a softer word for unjudged",
      config({ policy: { unjudged: "fail" } }),
      config({ policy: { unjudged: "pass" } }),
      "policy.unjudged",
      "fail",
      "pass",
    ],
    ["a policy taken away", config({ policy: { unjudged: "fail" } }), config(), "policy.unjudged", "fail", null],
    ["base runs turned off", config(), config({ policy: { "base-run": "true" } }), "policy.base-run", null, "true"],
    [
      "fewer gating metrics",
      config({ policy: { gating: ["allocated", "host"] } }),
      config({ policy: { gating: ["host"] } }),
      "policy.gating",
      '["allocated","host"]',
      '["host"]',
    ],
    [
      "a wider margin",
      config(),
      config({ policy: { "relative-margin-percent": 50 } }),
      "policy.relative-margin-percent",
      null,
      "50",
    ],
    ["fewer runs", config(), config({ policy: { "max-runs": 1 } }), "policy.max-runs", null, "1"],
    ["fewer minutes", config(), config({ policy: { "max-minutes": 0.1 } }), "policy.max-minutes", null, "0.1"],
    [
      "no baseline",
      config({ baseline: "file:baselines" }),
      config({ baseline: "none" }),
      "baseline",
      "file:baselines",
      "none",
    ],
  ])(
    "underBasePolicy lists %s, and the base commit's setting stays in force",
    (_what, base, head, path, before, now) => {
      const judged = underBasePolicy(base, head);
      expect(judged.changes).toEqual([{ path, base: before, head: now }]);
      expect(judged.config).toEqual(base);
    },
  );

  it("lists a changed command, and measures it as changed", () => {
    const judged = underBasePolicy(config(), config({}, { run: "true", cwd: "sub", env: { X: "1" } }));
    expect(judged.changes.map(({ path }) => path)).toEqual([
      "scenarios.train.run",
      "scenarios.train.cwd",
      "scenarios.train.env",
    ]);
    expect(judged.redefined).toEqual(["train"]);
    expect(judged.config.scenarios).toEqual([scenario({ run: "true", cwd: "sub", env: { X: "1" } })]);
  });

  it("underBasePolicy lists a scenario that is removed", () => {
    const base: ConfigFile = { scenarios: [scenario(), scenario({ name: "eval", run: "python eval.py" })] };
    const judged = underBasePolicy(base, {
      scenarios: [scenario(), scenario({ name: "evaluate", run: "python evaluate.py" })],
    });
    expect(judged.removed).toEqual(["eval"]);
    expect(judged.changes).toEqual([{ path: "scenarios.eval", base: "python eval.py", head: null }]);
    expect(judged.notes).toEqual(["evaluate: this scenario is new, its settings are this change's own"]);
    expect(judged.renamed.size).toBe(0);
  });

  it("underBasePolicy recognizes a renamed scenario by its content, and keeps its settings", () => {
    const base = config({}, { budget: { host: "1GiB" }, horizon: "72h", env: { A: 1 } });
    const judged = underBasePolicy(base, {
      scenarios: [scenario({ name: "train2", run: " python train.py ", env: { A: "1" }, budget: { host: "9GiB" } })],
    });
    expect([...judged.renamed]).toEqual([["train2", "train"]]);
    expect([judged.removed, judged.redefined, judged.notes]).toEqual([[], [], []]);
    expect(judged.changes.map(({ path }) => path)).toEqual([
      "scenarios.train.name",
      "scenarios.train.budget.host",
      "scenarios.train.horizon",
    ]);
    expect(judged.config.scenarios).toEqual([
      { name: "train2", run: "python train.py", env: { A: 1 }, budget: { host: "1GiB" }, horizon: "72h" },
    ]);
  });

  it("underBasePolicy matches each scenario of the base commit with at most one of the change", () => {
    const base: ConfigFile = {
      scenarios: [scenario(), scenario({ name: "strict", budget: { host: "1GiB" } })],
    };
    const judged = underBasePolicy(base, {
      scenarios: [scenario({ name: "a", budget: { host: "1GiB" } }), scenario({ name: "b" }), scenario({ name: "c" })],
    });
    expect([...judged.renamed]).toEqual([
      ["a", "strict"],
      ["b", "train"],
    ]);
    expect(judged.notes).toEqual(["c: this scenario is new, its settings are this change's own"]);
  });

  it.each([" python train.py", "python train.py  ", "python train.py\n", "\t python train.py \n\n"])(
    "blanks around a command are not a change: %j",
    (run) => {
      const judged = underBasePolicy(config(), config({}, { run }));
      expect(judged).toMatchObject({ changes: [], redefined: [], config: config() });
    },
  );

  it.each(["python  train.py", "python train.py \\ ", "python train.py #"])(
    "blanks within a command, or escaped, are a change: %j",
    (run) => {
      expect(underBasePolicy(config(), config({}, { run })).redefined).toEqual(["train"]);
    },
  );

  it("applies a tighter budget and a new one, with a note", () => {
    const judged = underBasePolicy(
      config({}, { budget: { host: "2GiB" } }),
      config({}, { budget: { host: "1GiB", allocated: "10GiB" } }),
    );
    expect(judged.changes).toEqual([]);
    expect(judged.config.scenarios[0]?.budget).toEqual({ host: "1GiB", allocated: "10GiB" });
    expect(judged.notes).toMatchObject([expect.stringMatching(/2GiB before/), expect.stringMatching(/there was none/)]);
  });

  it("leaves timeouts and the report to the change: they decide no verdict", () => {
    const head = config({ report: { "warning-percent": 10 } }, { timeout: 60 });
    const judged = underBasePolicy(config({}, { timeout: 5 }), head);
    expect(judged).toMatchObject({ changes: [], config: head });
  });
});

const anyScenario: fc.Arbitrary<ConfigScenario> = fc.record(
  {
    name: fc.constantFrom("train", "eval", "__proto__", "constructor"),
    run: fc.constantFrom("a", "b"),
    horizon: fc.constantFrom("1000", "72h", 1000),
    repeats: fc.constantFrom<"auto" | number>("auto", 1, 3),
    budget: fc.dictionary(fc.constantFrom("host", "allocated"), fc.constantFrom("1GiB", "2GiB", 4096)),
  },
  { requiredKeys: ["name", "run"] },
) as fc.Arbitrary<ConfigScenario>;
const anyConfig: fc.Arbitrary<ConfigFile> = fc.record(
  {
    scenarios: fc.uniqueArray(anyScenario, { minLength: 1, selector: ({ name }) => name }),
    baseline: fc.constantFrom("none", "file:baselines"),
    policy: fc.record(
      {
        unjudged: fc.constantFrom("fail", "warn", "pass"),
        gating: fc.constantFrom(["host"], ["allocated"]),
        "max-runs": fc.constantFrom(1, 9),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ["scenarios"] },
) as fc.Arbitrary<ConfigFile>;

describe("any change of the configuration", () => {
  it("underBasePolicy never raises or drops a budget, or changes the policy of a scenario of the base commit", () => {
    const request = (file: ConfigFile) =>
      gateRequest({
        options: {},
        command: null,
        config: file,
        root: "/r",
        defaultBaselines: [],
        defaultUnjudged: "warn",
        argv: [],
        env: {},
      });
    fc.assert(
      fc.property(anyConfig, anyConfig, (base, head) => {
        const { config: judged, removed, renamed } = underBasePolicy(base, head);
        const names = new Map([...renamed].map(([name, former]) => [former, name]));
        const [before, now] = [request(base), request(judged)];
        const { scenarios: _a, bundle: _b, ...policyBefore } = before;
        const { scenarios: _c, bundle: _d, ...policyNow } = now;
        expect(policyNow).toEqual(policyBefore);
        for (const was of before.scenarios) {
          const is = now.scenarios.find(({ name }) => name === (names.get(was.name) ?? was.name));
          if (is === undefined) {
            expect(removed).toContain(was.name);
            continue;
          }
          expect({ horizon: is.horizon, repeats: is.repeats }).toEqual({ horizon: was.horizon, repeats: was.repeats });
          for (const { metric, bytes } of was.budgets) {
            expect(is.budgets.find((one) => one.metric === metric)?.bytes).toBeLessThanOrEqual(bytes);
          }
        }
      }),
    );
  });

  it("underBasePolicy does not list equal settings", () => {
    fc.assert(
      fc.property(anyConfig, (base) => {
        expect(paths(base, structuredClone(base))).toEqual([]);
      }),
    );
  });
});
