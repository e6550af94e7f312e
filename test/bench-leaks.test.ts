import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { sourceOf } from "../bench/leaks/environments.ts";
import { readReport } from "../bench/leaks/gate.ts";
import { matchLine, namesPackage, type Outcome } from "../bench/leaks/outcome.ts";
import { callsOf, PAIRS, requirementsOf } from "../bench/leaks/pairs.ts";
import { memrayLine } from "../bench/leaks/peers.ts";
import {
  BEGIN,
  END,
  type LeakResults,
  leakTables,
  resultsDocument,
  withLeaks,
  withOutcomes,
} from "../bench/leaks/table.ts";
import { packageRoot } from "../src/core/package-root.ts";

const pair = (name: string) => {
  const found = PAIRS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no pair ${name}`);
  return found;
};

const outcome = (change: Partial<Outcome>): Outcome => ({
  pair: "numpy",
  state: "leaky",
  size: "big",
  tool: "gate",
  try: 1,
  expected_bytes: 2 ** 25,
  result: {
    kind: "judged",
    red: true,
    answer: "fail: leak",
    line: "program.py:10",
    match: "exact",
    package_named: false,
    growth_bytes: 2 ** 24,
    minutes: 0.5,
  },
  ...change,
});
const results = (...outcomes: Outcome[]): LeakResults => ({
  schema: "stormlog.bench-leaks/1",
  machine: "a machine",
  outcomes,
});

describe("the bench of releases that leaked", () => {
  it("every program of the bench marks one line, inside of its call", () => {
    for (const one of PAIRS) {
      const lines = sourceOf(one).split("\n");
      const marked = lines.flatMap((line, at) => (/(?:#|\/\/) leaks$/.test(line) ? [at + 1] : []));
      expect(marked, one.name).toHaveLength(1);
      const file = one.runtime === "python" ? "program.py" : "program.cjs";
      expect(matchLine(`${file}:${marked[0]}`, sourceOf(one), one), one.name).toBe("exact");
      expect(matchLine(`${file}:1`, sourceOf(one), one), one.name).toBe("wrong");
    }
  });

  it("distinguishes lines of the call, of the package and of others", () => {
    const source = "import x\ndef call():\n    y = x.f()\n    x.g(y)  # leaks\n";
    expect(matchLine("program.py:4", source, pair("numpy"))).toBe("exact");
    expect(matchLine("program.py:3", source, pair("numpy"))).toBe("function");
    expect(matchLine("pace.py:16", source, pair("numpy"))).toBe("wrong");
    expect(matchLine("venv/lib/python3.11/site-packages/numpy/a.py:7", source, pair("numpy"))).toBe("package");
    expect(matchLine("venv/lib/python3.11/site-packages/yarl/a.py:7", source, pair("numpy"))).toBe("wrong");
    expect(matchLine("node_modules/@grpc/grpc-js/build/a.js:7", source, pair("grpc-js"))).toBe("package");
    expect(matchLine(null, source, pair("numpy"))).toBe("none");
  });

  it("a package counts as named only with its version", () => {
    expect(namesPackage(["tokenizers 0.20.3, `encode`"], pair("tokenizers"), "0.20.3")).toBe(true);
    expect(namesPackage(["import tokenizers", "0.20.3"], pair("tokenizers"), "0.20.3")).toBe(false);
  });

  it("calls and requirements follow from the size and the state", () => {
    expect(callsOf(pair("numpy"), "small")).toBe(Math.round(2 ** 22 / 8048));
    expect(requirementsOf(pair("pandas"), "fixed")).toEqual(["pandas==2.2.1", "numpy==1.26.4"]);
    expect(requirementsOf(pair("undici"), "leaky")).toEqual(["undici@5.14.0"]);
    expect(requirementsOf(pair("undici"), "newest")).toEqual(["undici@latest"]);
  });

  it("reads the innermost line of Python under the native frames of pytest-memray", () => {
    const frames =
      "\n        <unknown>:<unknown>:0\n        JSONToObj:<unknown>:0\n        call:/a b/program.py:9\n        ...\n";
    const red = `Test was allowed to leak 1.0MiB per location\n    - 20.7MiB allocated here:${frames}\n    - 2.0MiB allocated here:\n        g:/x.py:1\n`;
    expect(memrayLine(red)).toEqual({ red: true, line: "/a b/program.py:9" });
    expect(memrayLine("1 passed")).toEqual({ red: false, line: null });
  });

  it("reads verdict, line and the growth of the series that decided from a report", () => {
    const key = { rank: 0, device: "host", metric: "host" };
    const report = {
      verdict: { summary: "fail: Leak of numpy 2.3.1" },
      payload: {
        verdict: "fail",
        cost: { minutes: 0.5 },
        scenarios: [
          {
            judgement: { checks: [{ ...key, gating: true, aspect: "class", verdict: "fail" }] },
            findings: [{ classification: "leak_line", description: "x", evidence: { line: "program.py:10" } }],
            runs: [
              { role: "candidate", analysis: { series: [{ ...key, growth_bytes: 7 }] } },
              { role: "attribution", analysis: { series: [{ ...key, growth_bytes: 9 }] } },
            ],
          },
        ],
      },
    };
    const read = readReport(JSON.stringify(report), pair("numpy"), sourceOf(pair("numpy")), "2.3.1");
    expect(read).toMatchObject({ red: true, growth_bytes: 7, line: "program.py:10", package_named: true });
    expect(readReport("{}", pair("numpy"), "", "2.3.1")).toMatchObject({ kind: "skipped" });
  });

  it("the tables show what was skipped and count it neither as found nor as missed", () => {
    const text = leakTables(
      results(outcome({}), outcome({ pair: "ujson", result: { kind: "skipped", why: "no registry" } })),
    );
    expect(text).toContain("| Stormlog Gate | Python | 1 of 1 | – | 1 of 1 | 0 | 0 of 1 | 0.50 |");
    expect(text).toContain("| 1 of 1 | skipped | 50 % | exact |");
    expect(text).toContain("Skipped: ujson: no registry.");
  });

  it("a newer outcome replaces that of the same case alone", () => {
    const newer = outcome({ result: { kind: "skipped", why: "x" } });
    const merged = withOutcomes(results(outcome({}), outcome({ try: 2 })), [newer]);
    expect(JSON.parse(resultsDocument(merged))).toEqual(merged);
    expect(merged.outcomes).toEqual([outcome({ try: 2 }), newer]);
  });

  it("the section of the evidence page is that of its results", () => {
    const file = path.join(packageRoot(), "docs/evidence/leaks.json");
    const page = readFileSync(path.join(packageRoot(), "docs/evidence.md"), "utf8");
    expect([page.includes(BEGIN), page.includes(END), existsSync(file)]).toEqual([true, true, true]);
    expect(withLeaks(page, JSON.parse(readFileSync(file, "utf8")) as LeakResults)).toBe(page);
  });
});
