import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { MAX_SECTION_BYTES, type Section, sectionText } from "../../../src/report/model/section.ts";
import { sampleReport } from "../../../src/report/testing/sample-report.ts";
import { SECTION, sampleSection } from "../testing/sample-section.ts";
import { FORK_RUN, StageTwo } from "../testing/stage-two.ts";
import { fresh, type Json, read, set, text } from "./documents.ts";
import { sourceProblems } from "./oracle.ts";
import { comments } from "./rendered-comments.ts";

/** Documents that are not sections, and sections that claim too much. */
const refuses = (source: string | Buffer): void => {
  expect(() => read(source)).toThrow(expect.objectContaining({ code: expect.stringMatching(/^SECTION_/) }));
};

describe("a document is refused when it", () => {
  const wrong: readonly (readonly [string, () => string | Buffer])[] = [
    ["is empty", () => ""],
    ["is null", () => "null"],
    ["is a number", () => "1e309"],
    ["is a list", () => `[${text}]`],
    ["is a text", () => JSON.stringify(text)],
    ["is cut off", () => text.slice(0, -20)],
    ["has something behind it", () => `${text}{}`],
    ["has a comment", () => `/* x */${text}`],
    ["has a trailing comma", () => text.replace(/\}\s*$/, ",}")],
    ["has NaN for a number", () => text.replace(/"runs":\d+/, '"runs":NaN')],
    ["has Infinity for a number", () => text.replace(/"minutes":[\d.]+/, '"minutes":Infinity')],
    ["has a number beyond all numbers", () => text.replace(/"minutes":[\d.]+/, '"minutes":1e999')],
    ["is hexadecimal", () => text.replace(/"runs":\d+/, '"runs":0x10')],
    ["is UTF-16", () => Buffer.from(text, "utf16le")],
    [
      "is not UTF-8",
      () => Buffer.concat([Buffer.from(text.slice(0, -3)), Buffer.from([0xff, 0xfe]), Buffer.from("}")]),
    ],
    [
      "has half a character in bytes",
      () => Buffer.from(text.replace("train-mlp", "train-m\u0001")).fill(0xed, 300, 301),
    ],
    ["is larger than a section may be", () => text + " ".repeat(MAX_SECTION_BYTES)],
    ["has a text of 10 MB", () => text.replace("train-mlp", "x".repeat(10_000_000))],
    ["has a text of 30,000 characters", () => text.replace("train-mlp", "x".repeat(30_000))],
    ["is nested 100,000 deep", () => "[".repeat(100_000) + "]".repeat(100_000)],
    [
      "is nested 100,000 deep in a field",
      () => text.replace('"train-mlp"', `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`),
    ],
    ["says that it is of a later schema", () => text.replace("stormlog.section/1", "stormlog.section/2")],
    ["says that it is of another schema", () => text.replace("stormlog.section/1", "stormlog.report/1")],
    ["says nothing of its schema", () => text.replace('"schema":"stormlog.section/1",', "")],
    ["has a list for its schema", () => text.replace('"stormlog.section/1"', '["stormlog.section/1"]')],
    ["has its fields only in its prototype", () => `{"__proto__":${text}}`],
    ["has a text for a list", () => JSON.stringify(set(fresh(), ["report", "scenarios"], "x"))],
    [
      "has an object like a list for a list",
      () => JSON.stringify(set(fresh(), ["report", "scenarios"], { length: 1, 0: {} })),
    ],
    ["has 10,001 scenarios", () => JSON.stringify(set(fresh(), ["report", "warnings"], Array(10_001).fill("x")))],
    ["has a number for a text", () => JSON.stringify(set(fresh(), ["report", "session"], 5))],
    ["has a word that is none", () => JSON.stringify(set(fresh(), ["report", "verdict"], "passed"))],
    ["has a word with a space", () => JSON.stringify(set(fresh(), ["report", "verdict"], "pass "))],
    ["has a gate id with a path", () => JSON.stringify(set(fresh(), ["gate_id"], "../x"))],
    ["has a gate id with a marker", () => JSON.stringify(set(fresh(), ["gate_id"], "x -->"))],
    ["has an empty gate id", () => JSON.stringify(set(fresh(), ["gate_id"], ""))],
    ["has a leg with a slash", () => JSON.stringify(set(fresh(), ["leg"], "a/b"))],
    ["has a leg of two lines", () => JSON.stringify(set(fresh(), ["leg"], "a\nb"))],
    ["has a branch for a commit", () => JSON.stringify(set(fresh(), ["head_sha"], "main"))],
    ["has a short commit", () => JSON.stringify(set(fresh(), ["head_sha"], "abc1234"))],
    ["has an attempt 0", () => JSON.stringify(set(fresh(), ["run_attempt"], 0))],
    ["has an attempt of a million", () => JSON.stringify(set(fresh(), ["run_attempt"], 1_000_000))],
    ["has a negative artifact", () => JSON.stringify(set(fresh(), ["bundle_artifact"], -5))],
    ["has an artifact beyond exact numbers", () => JSON.stringify(set(fresh(), ["timeline_artifact"], 2 ** 60))],
    ["has an address for an artifact", () => JSON.stringify(set(fresh(), ["bundle_artifact"], "https://evil.example"))],
    ["has half a run", () => JSON.stringify(set(fresh(), ["report", "cost", "runs"], 0.5))],
    [
      "has a negative rank",
      () => JSON.stringify(set(fresh(), ["report", "scenarios", 0, "timeline", "series", 0, "rank"], -1)),
    ],
  ];
  it.each(wrong)("a document is refused when it %s", (_what, make) => refuses(make()));

  it("a refused document gives one short line without its text", () => {
    const evil = set(fresh(), ["report", "verdict"], "\u001b[31m::error::x\n".repeat(1000));
    try {
      read(JSON.stringify(evil));
      expect.unreachable();
    } catch (error) {
      expect((error as Error).message.length).toBeLessThan(40_000);
    }
  });
});

describe("keys with a meaning in JavaScript", () => {
  it.each(["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"])(
    "the key %s changes nothing outside the document",
    (key) => {
      const evil = `"${key}":{"polluted":"yes","verdict":"pass","toString":"x"},`;
      const everywhere = text.replace(/\{(?=")/g, `{${evil}`);
      let section: Section | null = null;
      try {
        section = read(everywhere);
      } catch {
        // A record of numbers takes no object and refuses it.
      }
      expect(({} as Record<string, unknown>).polluted).toBeUndefined();
      expect(Object.prototype.toString.call({})).toBe("[object Object]");
      if (section !== null) for (const markdown of comments(section, "")) expect(sourceProblems(markdown)).toEqual([]);
    },
  );

  it.each(["__proto__", "constructor", "prototype"])("the key %s is a plain name in the environment", (key) => {
    const document = text.replace(/"fingerprint":\{/g, `"fingerprint":{"${key}":"x",`);
    try {
      const section = read(document);
      expect(Object.getPrototypeOf(section.report.scenarios[0]!.fingerprint)).toBe(Object.prototype);
      for (const markdown of comments(section, "")) expect(sourceProblems(markdown)).toEqual([]);
    } catch (error) {
      expect(error).toMatchObject({ code: "SECTION_INVALID" });
    }
  });
});

describe("the same key twice", () => {
  it.each([
    ["the schema", '{"schema":"stormlog.section/9",'],
    ["the gate", '{"gate_id":"other",'],
    ["the commit", `{"head_sha":"${"c".repeat(40)}",`],
    ["the report", '{"report":{"verdict":"pass"},'],
    ["the leg", '{"leg":"../x",'],
  ])("a second key of %s does not change what is checked or used", (_what, first) => {
    const section = read(text.replace("{", first));
    expect(section).toMatchObject({ gateId: "default", leg: null, headSha: "a".repeat(40) });
    expect(section.report.verdict).toBe("fail");
  });

  it("the last of two verdicts counts everywhere", () => {
    const section = read(text.replace(/"verdict":"fail","exit_code"/, '"verdict":"pass","verdict":"fail","exit_code"'));
    expect(section.report.verdict).toBe("fail");
    expect(comments(section, "")[0]).toContain("fail");
  });
});

describe("an untrusted section that claims too much", () => {
  const stage = new StageTwo();
  beforeAll(() => stage.start());
  afterAll(() => stage.stop());
  beforeEach(() => stage.reset());
  afterEach(() => expect(stage.faults).toEqual([]));

  const left = (document: Json): number =>
    stage.actions.addArtifact(FORK_RUN, SECTION, Buffer.from(JSON.stringify(document)));

  it("a section that passes while its checks fail is reported by its checks", async () => {
    stage.fork();
    const claimed = JSON.parse(sectionText(sampleSection())) as Json;
    set(set(claimed, ["report", "verdict"], "pass"), ["report", "scenarios", 0, "verdict"], "pass");
    left(claimed);
    expect((await stage.post()).outputs.verdict).toBe("fail");
    expect(stage.comment).toContain("better verdict than its own checks support");
  });

  it("a section that passes without a scenario is not reported as a pass", async () => {
    stage.fork();
    left(
      set(
        set(JSON.parse(sectionText(sampleSection())) as Json, ["report", "verdict"], "pass"),
        ["report", "scenarios"],
        [],
      ),
    );
    expect((await stage.post()).outputs.verdict).toBe("unjudged");
  });

  it("a section that passes without a judgement is not reported as a pass", async () => {
    stage.fork();
    const claimed = JSON.parse(sectionText(sampleSection({ report: sampleReport("pass") }))) as Json;
    left(set(claimed, ["report", "scenarios", 0, "judgement"], null));
    expect((await stage.post()).outputs.verdict).toBe("unjudged");
  });

  it("a section that passes in a failed run is reported with that contradiction", async () => {
    stage.fork();
    left(JSON.parse(sectionText(sampleSection({ report: sampleReport("pass") }))) as Json);
    const posted = await stage.post({ "fail-on": "regression" });
    expect(stage.comment).toMatch(/recorded run 501 as failure; 1 of its 2 jobs did not succeed/);
    expect(stage.comment).toContain("contradicts this");
    expect(posted.code).toBe(1);
  });

  it("a section that passes in a green run with a failed job is reported with that contradiction", async () => {
    stage.fork({ conclusion: "success", jobs: ["failure"] });
    left(JSON.parse(sectionText(sampleSection({ report: sampleReport("pass") }))) as Json);
    await stage.post();
    expect(stage.comment).toMatch(/1 of its 1 jobs? did not succeed/);
  });

  it("a passing section of a fork is reported as the fork's own claim", async () => {
    stage.fork({ conclusion: "success", jobs: ["success"] });
    left(JSON.parse(sectionText(sampleSection({ report: sampleReport("pass") }))) as Json);
    expect(await stage.post({ "fail-on": "regression" })).toMatchObject({ code: 0, outputs: { verdict: "pass" } });
    expect(stage.comment).toContain("The numbers were reported by a run of the fork");
  });

  it("a section cannot name the token of another difference", async () => {
    stage.fork();
    const token = "0123456789ab-dapb999";
    left(set(JSON.parse(sectionText(sampleSection())) as Json, ["report", "scenarios", 0, "difference"], token));
    await stage.post();
    expect(stage.comment).not.toContain(token);
    expect(stage.comment).toMatch(/\/stormlog accept [0-9a-f]{12}-/);
  });

  it("a section's own interactive page is not linked", async () => {
    stage.fork();
    const own = stage.actions.addArtifact(FORK_RUN, "stormlog-default.html", Buffer.from("<script>"));
    left(set(JSON.parse(sectionText(sampleSection())) as Json, ["timeline_artifact"], own));
    await stage.post();
    expect(stage.comment).not.toContain(`/artifacts/${own}`);
  });
});
