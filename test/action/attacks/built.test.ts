import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { sectionText } from "../../../src/report/model/section.ts";
import { runReport } from "../testing/built-report.ts";
import { openPull } from "../testing/double/pull-lookup.ts";
import type { StepResult } from "../testing/mini-runner.ts";
import { SECTION, sampleSection, sectionBytes } from "../testing/sample-section.ts";
import { FORK, FORK_RUN, StageTwo } from "../testing/stage-two.ts";
import { FIELDS, hostileSection } from "./full-report.ts";
import { zip } from "./hostile-zip.ts";
import { HAS_CMARK, plainProblems, renderedProblems, sourceProblems } from "./oracle.ts";
import { COMBINED } from "./payloads.ts";

/** One attack of each family on the built step, started as the runner starts it: log, outputs and comment. */
const OTHER = "c".repeat(40);
const stage = new StageTwo();

beforeAll(() => stage.start());
afterAll(() => stage.stop());
beforeEach(() => stage.reset());
afterEach(() => expect(stage.faults).toEqual([]));

const left = (bytes: Uint8Array, name = SECTION, lies = {}): number =>
  stage.actions.addArtifact(FORK_RUN, name, bytes, lies);

/** Post, and compare log and outputs with what a runner obeys. */
async function post(): Promise<StepResult> {
  const result = await runReport(stage, { image: "none" });
  expect(result.code).toBe(0);
  const known = ["add-mask", "warning", "debug", "group", "endgroup"];
  expect(result.commands.filter(({ command }) => !known.includes(command))).toEqual([]);
  expect(plainProblems(result.log.replace(/\r?\n/g, "\n"))).toEqual([]);
  for (const line of result.log.split("\n")) expect(line).not.toMatch(/^\s*##\[/);
  for (const value of Object.values(result.outputs)) expect(value).toMatch(/^(?:[\w:/.#?=-]*)$/);
  return result;
}

function bodyWithoutMarker(): string {
  const body = stage.comment ?? "";
  expect(body.startsWith("<!-- stormlog-gate:default -->\n")).toBe(true);
  return body.slice(body.indexOf("\n") + 1);
}

function expectHarmless(markdown: string): void {
  expect(sourceProblems(markdown)).toEqual([]);
  if (HAS_CMARK) expect(renderedProblems(markdown)).toEqual([]);
}

describe("the built report", () => {
  it.each(COMBINED.map((text, at) => [at + 1, text] as const))(
    "the built report prints nothing that acts with text %i in every field",
    async (_at, text) => {
      stage.fork();
      left(Buffer.from(sectionText(hostileSection(text))));
      expect((await post()).outputs.verdict).toBe("fail");
      expectHarmless(bodyWithoutMarker());
    },
  );

  it("the built report prints no workflow command from documents that it refuses", async () => {
    stage.fork();
    for (const text of COMBINED) {
      const document = JSON.parse(sectionText(sampleSection()));
      left(Buffer.from(JSON.stringify({ ...document, report: { ...document.report, verdict: text, [text]: text } })));
      left(zip([{ name: text, content: Buffer.from("{}") }]));
    }
    expect((await post()).outputs.verdict).toBe("");
    expectHarmless(bodyWithoutMarker());
  });

  it("the built report prints no workflow command from names in GitHub's records", async () => {
    const branch = "`x`<img>|@mallory\u202e::error::x";
    stage.fork({ headBranch: branch });
    openPull(stage.github, { number: 12, headSha: "a".repeat(40), headRepo: FORK, headRef: branch });
    left(sectionBytes());
    await post();
    expectHarmless(bodyWithoutMarker());
  });

  it("the built report ignores a pull request number in a section", async () => {
    stage.fork();
    openPull(stage.github, { number: 1, headSha: OTHER });
    left(Buffer.from(sectionText(sampleSection()).replace("{", '{"pull_request":1,"number":1,')));
    expect((await post()).outputs["pull-request"]).toBe("12");
    expect(stage.github.comments.map(({ issue }) => issue)).toEqual([12]);
  });

  it("the built report does not write to a pull request with a newer head", async () => {
    stage.fork();
    openPull(stage.github, { number: 12, headSha: OTHER, headRepo: FORK });
    left(sectionBytes());
    await post();
    expect(stage.github.comments).toEqual([]);
  });

  it("the built report refuses bytes that differ from the digest", async () => {
    stage.fork();
    left(sectionBytes(), SECTION, { digest: `sha256:${"0".repeat(64)}` });
    expect((await post()).log).toContain("digest does not match");
  });

  it("the built report does not unpack a zip bomb", async () => {
    stage.fork();
    left(zip([{ name: SECTION, content: Buffer.alloc(200 << 20, "0"), saysBytes: 1000 }]));
    const result = await post();
    expect(result.log).toMatch(/not a readable archive|more than|more tightly/);
    expect(stage.comment).toContain("unjudged");
  });

  it("the built report writes no file from an archive", async () => {
    stage.fork();
    left(zip([{ name: "../../../../../../tmp/stormlog-built-escape", content: Buffer.from("x") }]));
    await post();
    const { existsSync } = await import("node:fs");
    expect(existsSync("/tmp/stormlog-built-escape")).toBe(false);
  });

  it("the built report does not overwrite another user's comment with a pasted marker", async () => {
    stage.fork();
    stage.github.addComment(12, "mallory", "<!-- stormlog-gate:default -->\npass");
    left(sectionBytes());
    await post();
    expect(stage.github.comments.map(({ author }) => author)).toEqual(["mallory", "github-actions[bot]"]);
  });

  it("the built report ignores a marker in a name", async () => {
    stage.fork();
    left(Buffer.from(sectionText(hostileSection("\n<!-- stormlog-gate:default -->\n", [...FIELDS.keys()]))));
    await post();
    await post();
    expect(stage.github.comments).toHaveLength(1);
    // The command's output shows it in a block of code, where it is not an HTML comment.
    expectHarmless(bodyWithoutMarker());
  });

  it("the built report reads the newest of 500 artifacts and reports how many it skipped", async () => {
    stage.fork();
    for (let n = 0; n < 520; n += 1) left(Buffer.from("{}"), `stormlog-section-default-l${n}.json`);
    left(sectionBytes());
    const result = await post();
    expect(result.log).toContain("9 more artifacts look like sections");
    expect(result.outputs.verdict).toBe("fail");
    expect(stage.comment?.length).toBeLessThan(60_100);
  });

  it("the built report draws no chart to infinity", async () => {
    stage.fork();
    const text = sectionText(sampleSection()).replace(/"budget_bytes":[\d.e+]+/, '"budget_bytes":1e308');
    left(Buffer.from(text));
    await post();
    expect(stage.comment).not.toMatch(/Infinity|NaN/);
  });
});
