import { getOctokit } from "@actions/github";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Octokit } from "../../src/github/api/octokit.ts";
import { type SectionComment, upsertSectionComment } from "../../src/github/comment/section-comment.ts";
import { openGitData } from "../../src/github/repository/git-data-client.ts";
import type { Section } from "../../src/report/model/section.ts";
import { sampleReport, sampleScenario } from "../../src/report/testing/sample-report.ts";
import { renderTimelinePng } from "../../src/report/timeline/timeline-png.ts";
import { sampleSection } from "./testing/comment-samples.ts";
import { GitDataDouble } from "./testing/double/git-data.ts";
import { repositoryRoutes } from "./testing/double/repository.ts";
import { GitHubDouble } from "./testing/github-double.ts";

const SPARKLINE = /^`[▁-█ ┊]+`$/m;
const BOT = "github-actions[bot]";
const PR = 12;
const REF = `refs/stormlog/images/pr-${PR}`;

let github: GitHubDouble;
let git: GitDataDouble;
let octokit: Octokit;
let lines: string[];

function start(isPrivate: boolean): void {
  github.use(git.routes).use(repositoryRoutes(isPrivate));
  github.tokens.set("job", { login: BOT, write: true });
  // Without the real client's pauses between writes, which the tests of the built step have.
  octokit = getOctokit("job", { baseUrl: github.url }) as unknown as Octokit;
}

const keep = (sections: () => Promise<readonly Section[]>, more: Partial<SectionComment> = {}) =>
  upsertSectionComment({
    octokit,
    gitData: openGitData(octokit, { owner: "octo", repo: "model" }),
    context: { serverUrl: "https://github.com", owner: "octo", repo: "model" },
    pullRequest: { number: PR, headSha: null },
    gateId: "default",
    sections,
    runId: 77,
    image: "auto",
    log: (line) => lines.push(line),
    ...more,
  });

const body = (): string => github.comments[0]?.body ?? "";
const writesToGit = (): number =>
  github.requests.filter(({ method, path }) => method !== "GET" && path.includes("/git/")).length;

beforeEach(async () => {
  github = new GitHubDouble();
  await github.start();
  git = new GitDataDouble();
  lines = [];
});

afterEach(async () => {
  await github.stop();
  git.dispose();
  expect(github.faults).toEqual([]);
});

describe("the comment's picture", () => {
  it("the comment's picture is the section's timeline on the hidden ref, pinned to its commit", async () => {
    start(false);
    const section = sampleSection("fail");
    const result = await keep(async () => [section]);
    expect(result).toMatchObject({ action: "created", warnings: [] });
    const commit = git.git("rev-parse", REF);
    const address = `https://github.com/octo/model/blob/${commit}/default`;
    expect(body()).toContain(`<source media="(prefers-color-scheme: dark)" srcset="${address}~dark.png?raw=true">`);
    expect(body()).toContain(` src="${address}.png?raw=true"></picture></a>`);
    expect(body()).not.toMatch(SPARKLINE);
    const timeline = section.report.scenarios[0]?.timeline;
    if (timeline == null) throw new Error("the sample has a timeline");
    const stored = Number(git.git("cat-file", "-s", `${REF}:default.png`));
    expect(stored).toBe((await renderTimelinePng(timeline)).byteLength);
    const dark = Number(git.git("cat-file", "-s", `${REF}:default~dark.png`));
    expect(dark).toBe((await renderTimelinePng(timeline, "dark")).byteLength);
  });

  it("the next push replaces the comment's picture, and pictures of other gates stay", async () => {
    start(false);
    await keep(async () => [sampleSection("fail", { gateId: "gpu" })], { gateId: "gpu" });
    await keep(async () => [sampleSection("fail")]);
    await keep(async () => [sampleSection("pass")]);
    const commit = git.git("rev-parse", REF);
    expect(git.git("ls-tree", "--name-only", commit).split("\n")).toEqual([
      "default.png",
      "default~dark.png",
      "gpu.png",
      "gpu~dark.png",
    ]);
    expect(github.comments[1]?.body).toContain(`/blob/${commit}/default.png?raw=true`);
    expect(github.comments).toHaveLength(2);
  });

  it("every leg that does not pass has a picture with its name", async () => {
    start(false);
    const sections = (["fail", "pass", "unjudged"] as const).map((verdict, n) =>
      sampleSection(verdict, { leg: `l${n}` }),
    );
    await keep(async () => sections);
    const commit = git.git("rev-parse", REF);
    expect(git.git("ls-tree", "-r", "--name-only", commit).split("\n")).toEqual([
      "default/l0.png",
      "default/l0~dark.png",
      "default/l2.png",
      "default/l2~dark.png",
    ]);
    expect(body()).toContain(`/blob/${commit}/default/l2.png?raw=true`);
  });

  it("every scenario that fails has a picture of its own, and the worst has that of the gate", async () => {
    start(false);
    const scenarios = ["one", "two"].map((scenario) => sampleScenario("fail", { scenario }));
    await keep(async () => [sampleSection("fail", { report: sampleReport("fail", { scenarios }) })]);
    const commit = git.git("rev-parse", REF);
    expect(git.git("ls-tree", "-r", "--name-only", commit).split("\n")).toEqual([
      "default.png",
      "default/two.png",
      "default/two~dark.png",
      "default~dark.png",
    ]);
    for (const file of ["default.png", "default/two.png"]) expect(body()).toContain(`/blob/${commit}/${file}?raw=true`);
    expect(body()).not.toMatch(SPARKLINE);
  });

  it("a private repository links the picture at GitHub's own address, which signed-in readers see", async () => {
    start(true);
    expect(await keep(async () => [sampleSection("fail")])).toMatchObject({ action: "created", warnings: [] });
    const address = `https://github.com/octo/model/blob/${git.git("rev-parse", REF)}/default.png?raw=true`;
    expect(body()).toContain(` src="${address}"`);
    expect(github.requests.filter(({ path }) => path === "/markdown")).toEqual([]);
  });

  it("a token that may not write contents gets a line of letters, with a warning only for image: ref", async () => {
    start(false);
    github.failure = ({ method, path }) =>
      method !== "GET" && path.includes("/git/")
        ? { kind: "status", status: 403, message: "Resource not accessible by integration" }
        : null;
    expect(await keep(async () => [sampleSection("fail")])).toMatchObject({ action: "created", warnings: [] });
    expect(body()).toMatch(SPARKLINE);
    const result = await keep(async () => [sampleSection("fail")], { image: "ref" });
    expect(result.warnings).toEqual([expect.stringContaining("contents: write")]);
  });

  it("image: none makes no picture", async () => {
    start(false);
    await keep(async () => [sampleSection("fail")], { image: "none" });
    expect(body()).toMatch(SPARKLINE);
    expect(writesToGit()).toBe(0);
  });
});

describe("a comment kept from sections", () => {
  it("the comment is written again until it matches the sections", async () => {
    start(true);
    const legs = ["a", "b", "c"].map((leg) => sampleSection("pass", { leg }));
    let reads = 0;
    const result = await keep(async () => legs.slice(0, Math.min(3, ++reads)));
    expect(reads).toBe(4);
    expect(result).toMatchObject({ action: "created", sections: legs });
    expect(body()).toContain("pass (3 legs)");
    expect(github.comments).toHaveLength(1);
  });

  it("the comment stays as written when the sections cannot be read again", async () => {
    start(true);
    let reads = 0;
    const result = await keep(async () => {
      if (reads++ > 0) throw new Error("the service is gone");
      return [sampleSection("fail")];
    });
    expect(result.action).toBe("created");
    expect(lines.join()).toContain("the service is gone");
  });

  it("the comment is created again when it is deleted just before its update", async () => {
    start(true);
    await keep(async () => [sampleSection("fail")]);
    const [first] = github.comments;
    let deleted = false;
    github.failure = ({ method, path }) => {
      if (method === "PATCH" && !deleted && path.includes("/issues/comments/")) {
        deleted = true;
        github.comments.length = 0;
      }
      return null;
    };
    const again = await keep(async () => [sampleSection("pass", { report: sampleReport("pass") })]);
    expect(deleted).toBe(true);
    expect(again.action).toBe("created");
    expect(github.comments).toHaveLength(1);
    expect(github.comments[0]?.id).not.toBe(first?.id);
  });

  it("the comment shows notes as plain text in a box", async () => {
    start(true);
    await keep(async () => [sampleSection("pass")], { notes: () => ["It says <b>pass</b>, but the job failed."] });
    expect(body()).toContain("> [!NOTE]\n> It says &#60;b&#62;pass");
  });
});
