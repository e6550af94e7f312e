import { describe, expect, it } from "vitest";
import {
  SAMPLE_FINDING,
  sampleCheck,
  sampleJudgement,
  sampleReport,
  sampleScenario,
  sampleTimeline,
} from "../testing/sample-report.ts";
import { MAX_SECTION_BYTES, parseSection, type Section, sectionText } from "./section.ts";

const section = (overrides: Partial<Section> = {}): Section => ({
  gateId: "default",
  leg: "linux-2.5",
  headSha: "a".repeat(40),
  runAttempt: 1,
  bundleArtifact: 501,
  timelineArtifact: null,
  report: sampleReport("fail"),
  ...overrides,
});

const bytes = (text: string): Uint8Array => Buffer.from(text);

describe("a section", () => {
  it("reads back with thinned timelines and otherwise unchanged", () => {
    const read = parseSection(bytes(sectionText(section())), "here");
    const { report, ...rest } = read;
    expect(rest).toEqual({
      gateId: "default",
      leg: "linux-2.5",
      headSha: "a".repeat(40),
      runAttempt: 1,
      bundleArtifact: 501,
      timelineArtifact: null,
    });
    expect(report.scenarios[0]?.judgement).toEqual(sampleReport("fail").scenarios[0]?.judgement);
    expect(report.tool.version).toBe("0.1.0");
    expect(report.scenarios[0]?.timeline?.series).toHaveLength(2);
  });

  it("keeps its content when it is written again", () => {
    const text = sectionText(section());
    const again = parseSection(bytes(text), "here");
    const content = ({ report }: Section) => [report.verdict, report.session, report.generated_at_utc, report.cost];
    expect(content(again)).toEqual(content(section()));
  });

  it("a section keeps what host memory consists of, with null where a part is unknown", () => {
    const account = { rank: 0, time_s: [0, 1], in_use: [Number.NaN, 5], rest: [9, 4] };
    const scenarios = [sampleScenario("fail", { timeline: sampleTimeline({ account }) })];
    const read = parseSection(bytes(sectionText(section({ report: sampleReport("fail", { scenarios }) }))), "here");
    expect(read.report.scenarios[0]?.timeline?.account).toEqual({ ...account, in_use: [null, 5] });
  });

  it("keeps how the gate was started, or leaves it out where texts are cut", () => {
    const invocation = {
      directory: "",
      config: null,
      command: ["sh", "-c", "echo a command of several words; ".repeat(100)],
      options: [],
      baselines: null,
      base: null,
      fetch: true,
      modified: false,
    };
    const read = (count: number) => {
      const checks = Array.from({ length: 60 }, (_, rank) => sampleCheck({ rank, reason: "long ".repeat(3000) }));
      const scenarios = Array.from({ length: count }, (_, n) =>
        sampleScenario("fail", { scenario: `s${n}`, judgement: sampleJudgement("fail", { checks }), invocation }),
      );
      return parseSection(bytes(sectionText(section({ report: sampleReport("fail", { scenarios }) }))), "here");
    };
    expect(read(1).report.scenarios[0]?.invocation).toEqual(invocation);
    expect(read(12).report.scenarios[0]).not.toHaveProperty("invocation");
  });

  it("fits its limit with any number of findings, and keeps every scenario's verdict and reason", () => {
    const long = "very long ".repeat(3000);
    const checks = Array.from({ length: 60 }, (_, rank) => sampleCheck({ rank, verdict: "fail", reason: long }));
    const findings = Array.from({ length: 30 }, () => ({ ...SAMPLE_FINDING, description: long }));
    const scenarios = Array.from({ length: 12 }, (_, n) =>
      sampleScenario("fail", { scenario: `s${n}`, judgement: sampleJudgement("fail", { checks }), findings }),
    );
    const text = sectionText(section({ report: sampleReport("fail", { scenarios, warnings: [long] }) }));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_SECTION_BYTES);
    const kept = JSON.parse(text).report.scenarios as { scenario: string; verdict: string; judgement: object }[];
    expect(kept.map(({ scenario, verdict }) => [scenario, verdict])).toEqual(
      scenarios.map((s) => [s.scenario, "fail"]),
    );
    expect(kept[0]?.judgement).toMatchObject({ reason: sampleJudgement("fail").reason });
    expect(parseSection(bytes(text), "here").report.verdict).toBe("fail");
  });

  it("fits its limit with thousands of scenarios, and keeps failed ones before the others", () => {
    const verdicts = Array.from({ length: 3000 }, (_, n) => (n % 10 === 9 ? "fail" : "pass"));
    const [pass, fail] = [sampleScenario("pass"), sampleScenario("fail")];
    const scenarios = verdicts.map((verdict, n) => ({
      ...(verdict === "fail" ? fail : pass),
      scenario: `s${n}`,
      timeline: null,
    }));
    const text = sectionText(section({ report: sampleReport("fail", { scenarios }) }));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_SECTION_BYTES);
    const read = parseSection(bytes(text), "here").report.scenarios;
    expect(read.filter(({ verdict }) => verdict === "fail")).toHaveLength(300);
  });

  it("keeps the first changed packages of a lock where all of them are too many", () => {
    const change = { ecosystem: "node", name: "n".repeat(200), from: "1", to: "2" } as const;
    const lock_changes = { total: 9000, packages: Array.from({ length: 9000 }, () => change) };
    const scenarios = ["a", "b", "c"].map((scenario) => ({ ...sampleScenario("fail"), scenario, lock_changes }));
    const text = sectionText(section({ report: sampleReport("fail", { scenarios }) }));
    const [read] = parseSection(bytes(text), "here").report.scenarios;
    expect(read?.lock_changes).toMatchObject({ total: 9000, packages: Array.from({ length: 5 }, () => change) });
  });

  it("cuts texts and lists that are longer than its schema allows", () => {
    const report = sampleReport("error", {
      tool: {
        name: "stormlog-gate",
        version: "v".repeat(400),
        argv: Array.from({ length: 2000 }, () => "x".repeat(50)),
      },
      scenarios: [sampleScenario("error", { scenario: "n".repeat(50_000) })],
    });
    const read = parseSection(bytes(sectionText(section({ report }))), "here");
    expect(read.report.scenarios[0]?.scenario).toHaveLength(20_000);
    expect(read.report.tool.argv).toHaveLength(1000);
  });

  it.each([
    ["truncated JSON", "{"],
    ["another schema", sectionText(section()).replace("stormlog.section/1", "stormlog.section/2")],
    ["a gate id with markup", sectionText(section()).replace('"default"', '"<b>"')],
    ["a leg with a slash", sectionText(section({ leg: "a" })).replace('"leg":"a"', '"leg":"../a"')],
    ["an id of 0", sectionText(section()).replace('"bundle_artifact":501', '"bundle_artifact":0')],
    ["a huge number", sectionText(section()).replace('"bundle_artifact":501', '"bundle_artifact":1e308')],
    ["an unknown verdict", sectionText(section()).replace('"verdict":"fail"', '"verdict":"great"')],
  ])("a section is refused with %s", (_name, text) => {
    expect(() => parseSection(bytes(text), "here")).toThrow(expect.objectContaining({ code: "SECTION_INVALID" }));
  });

  it("a section that is too large is refused without parsing", () => {
    expect(() => parseSection(new Uint8Array(MAX_SECTION_BYTES + 1), "here")).toThrow(
      expect.objectContaining({ code: "SECTION_TOO_LARGE" }),
    );
  });
});
