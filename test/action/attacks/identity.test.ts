import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { sectionText } from "../../../src/report/model/section.ts";
import { sampleReport } from "../../../src/report/testing/sample-report.ts";
import { openPull } from "../testing/double/pull-lookup.ts";
import { HEAD, SECTION, sampleSection, sectionBytes } from "../testing/sample-section.ts";
import { FORK, FORK_RUN, StageTwo } from "../testing/stage-two.ts";

/**
 * A run of a fork chooses its branch, its files and everything it uploads. It must not choose the pull request
 * that receives the comment.
 */
const OTHER = "c".repeat(40);
const stage = new StageTwo();

beforeAll(() => stage.start());
afterAll(() => stage.stop());
beforeEach(() => stage.reset());
afterEach(() => expect(stage.faults).toEqual([]));

const leave = (name = SECTION, bytes: Uint8Array = sectionBytes(), runId = FORK_RUN): number =>
  stage.actions.addArtifact(runId, name, bytes);

describe("the pull request of a run", () => {
  it("the report posts to the open pull request whose head the run measured", async () => {
    stage.fork();
    leave();
    const posted = await stage.post();
    expect(posted).toMatchObject({ code: 0, warnings: [], outputs: { verdict: "fail", "pull-request": "12" } });
    expect(stage.comment).toContain("### ❌ Memory: ");
    expect(stage.comment).toContain("GitHub recorded run 501 as failure");
  });

  const forgeries: readonly (readonly [string, (text: string) => string])[] = [
    ["a pull request number", (text) => text.replace("{", '{"pull_request":1,"number":1,"pr":1,"PR_NUMBER":"1",')],
    ["an event of another pull request", (text) => text.replace("{", '{"event":{"pull_request":{"number":1}},')],
    ["a repository", (text) => text.replace("{", '{"repository":"octo/other","owner":"octo","repo":"other",')],
    ["a comment's id", (text) => text.replace("{", '{"comment_id":1000,"comment_url":"https://github.com/x",')],
    ["an issue", (text) => text.replace("{", '{"issue_number":1,')],
    ["a run", (text) => text.replace("{", '{"run_id":1,"workflow_run":{"id":1,"head_sha":"f"},')],
  ];
  it.each(forgeries)("the report ignores a section that names %s", async (_what, forge) => {
    stage.fork();
    openPull(stage.github, { number: 1, headSha: OTHER });
    leave(SECTION, Buffer.from(forge(sectionText(sampleSection()))));
    await stage.post();
    expect(stage.github.comments.map(({ issue }) => issue)).toEqual([12]);
    expect(stage.github.requests.every(({ path }) => path.startsWith("/repos/octo/model/"))).toBe(true);
  });

  it("the report ignores an artifact that names a pull request", async () => {
    stage.fork();
    openPull(stage.github, { number: 1, headSha: OTHER });
    leave();
    for (const name of ["pr-number", "event.json", "pr", "NR"]) leave(name, Buffer.from("1"));
    await stage.post();
    expect(stage.github.comments.map(({ issue }) => issue)).toEqual([12]);
    expect(stage.github.requests.filter(({ path }) => path.includes("/zip"))).toHaveLength(1);
  });

  it("the report refuses a section about another commit than the run's", async () => {
    stage.fork();
    leave(SECTION, sectionBytes({ headSha: OTHER, report: sampleReport("pass") }));
    const posted = await stage.post();
    expect(posted.outputs.verdict).toBe("");
    expect(posted.logs.join()).toMatch(/is about cccccccccc, and the run was about aaaaaaaaaa/);
    expect(stage.comment).toContain("### ❔ Memory: ");
  });

  it.each([
    ["another gate", { gateId: "other" }],
    ["another leg", { leg: "linux" }],
    ["a later attempt", { runAttempt: 9 }],
  ] as const)("the report refuses a section labelled for %s", async (_what, overrides) => {
    stage.fork();
    leave(SECTION, sectionBytes({ ...overrides, report: sampleReport("pass") }));
    const posted = await stage.post();
    expect(posted.outputs.verdict).toBe("");
    expect(posted.logs.join()).toMatch(/is labelled for another gate, leg or attempt|names a later attempt/);
  });

  it("the report refuses a section of a future attempt", async () => {
    stage.fork();
    leave("stormlog-section-default-attempt-9.json", sectionBytes({ runAttempt: 9 }));
    expect((await stage.post()).logs.join()).toContain("names a later attempt than this run's");
  });

  it("the report reads only the newest attempt of a leg", async () => {
    stage.fork({ attempt: 2 });
    leave(SECTION, sectionBytes({ report: sampleReport("fail") }));
    leave("stormlog-section-default-attempt-2.json", sectionBytes({ runAttempt: 2, report: sampleReport("unjudged") }));
    expect((await stage.post()).outputs.verdict).toBe("unjudged");
  });

  it("the report distinguishes gate a with leg b from gate a-b", async () => {
    stage.fork();
    leave("stormlog-section-default-two.json", sectionBytes({ gateId: "default-two", report: sampleReport("pass") }));
    leave();
    const posted = await stage.post();
    expect(posted.outputs.verdict).toBe("fail");
    expect(posted.logs.join()).not.toContain("Not trusted");
  });
});

describe("heads that moved, closed or never existed", () => {
  const silent = async (odd: boolean): Promise<void> => {
    leave();
    const posted = await stage.post();
    expect(stage.github.comments).toEqual([]);
    expect(posted.code).toBe(0);
    expect(posted.outputs["pull-request"]).toBe("");
    expect([...posted.logs, ...posted.warnings].join()).toContain("No comment was written");
    expect(posted.warnings).toHaveLength(odd ? 1 : 0);
  };

  it("the report writes no comment when the pull request has a newer commit", async () => {
    stage.fork();
    openPull(stage.github, { number: 12, headSha: OTHER, headRepo: FORK });
    await silent(false);
  });

  it("the report writes no comment when the head moves before the comment is written", async () => {
    stage.fork();
    leave();
    stage.github.failure = ({ path }) => {
      if (path.endsWith("/artifacts")) openPull(stage.github, { number: 12, headSha: OTHER, headRepo: FORK });
      return null;
    };
    const posted = await stage.post();
    expect(stage.github.comments).toEqual([]);
    expect(posted.logs.join()).toContain("newer commit");
  });

  it("the report writes no comment when the pull request was closed", async () => {
    stage.fork();
    openPull(stage.github, { number: 12, headSha: HEAD, headRepo: FORK, state: "closed" });
    await silent(false);
  });

  it("the report writes no comment without a pull request for the commit", async () => {
    stage.fork();
    stage.github.pulls.all.clear();
    await silent(false);
  });

  it("the report writes no comment when the fork was deleted", async () => {
    stage.fork({ headRepo: null });
    await silent(false);
    // GitHub's OpenAPI description omits such a run.
    stage.github.faults.length = 0;
  });

  it("the report does not choose between two pull requests with one head", async () => {
    stage.fork();
    openPull(stage.github, { number: 13, headSha: HEAD, headRepo: FORK });
    await silent(true);
  });

  it("a branch name does not lead the report to another fork's pull request", async () => {
    stage.fork({ headRepo: "eve/model" });
    await silent(false);
  });

  it("another repository of the owner does not lead the report to a pull request", async () => {
    stage.fork({ headRepo: "mallory/model-2" });
    await silent(false);
  });

  it("a fork's branch does not lead the report to this repository's pull request", async () => {
    stage.fork();
    openPull(stage.github, { number: 12, headSha: HEAD, headRepo: "octo/model", headRef: "topic" });
    await silent(false);
  });

  it("the report does not write to a pull request into another repository", async () => {
    stage.fork();
    openPull(stage.github, { number: 12, headSha: HEAD, headRepo: FORK, baseRepo: "mallory/model" });
    await silent(false);
  });

  it("the report reads all pages of a branch with many pull requests", async () => {
    stage.fork();
    for (let n = 100; n < 230; n += 1) openPull(stage.github, { number: n, headSha: OTHER, headRepo: FORK });
    stage.github.pulls.all.delete(12);
    openPull(stage.github, { number: 12, headSha: HEAD, headRepo: FORK });
    leave();
    await stage.post();
    expect(stage.github.comments.map(({ issue }) => issue)).toEqual([12]);
  });
});

describe("branches and events that pretend", () => {
  it("the report does not take a fork's main for the default branch", async () => {
    stage.fork({ headBranch: "main" });
    openPull(stage.github, { number: 12, headSha: HEAD, headRepo: FORK, headRef: "main" });
    leave();
    await stage.post();
    expect(stage.comment).toContain("run of the fork");
    expect(stage.github.requests.some(({ method, path }) => method !== "GET" && path.includes("/git/"))).toBe(false);
  });

  it("the report writes nothing for a push to the default branch", async () => {
    stage.fork({ event: "push", headBranch: "main", headRepo: "octo/model" });
    leave();
    expect(await stage.post()).toMatchObject({ code: 0, warnings: [] });
    expect(stage.github.comments).toEqual([]);
  });

  it.each(["schedule", "workflow_dispatch", "issue_comment", "pull_request_target", "merge_group", "\u001b[31mred"])(
    "the report writes no comment for a run started by %j",
    async (event) => {
      stage.fork({ event });
      leave();
      const posted = await stage.post();
      expect(stage.github.comments).toEqual([]);
      expect(posted.logs.join()).not.toContain("\u001b");
    },
  );

  /** Its push has no pull request, and its section no head commit. */
  const copied = { event: "push", headBranch: "pull-request/12", headRepo: "octo/model" } as const;

  it("the report takes a copied branch by its number and commit", async () => {
    stage.fork(copied);
    leave(SECTION, sectionBytes({ headSha: null }));
    await stage.post();
    expect(stage.comment).toContain("### ❌ Memory: ");
  });

  it("the report refuses a copied branch whose commit is not the head", async () => {
    stage.fork({ ...copied, headSha: OTHER });
    leave(SECTION, sectionBytes({ headSha: null }));
    expect((await stage.post()).outputs["pull-request"]).toBe("");
    expect(stage.github.comments).toEqual([]);
  });

  it("the report refuses a copied branch whose pull request was closed", async () => {
    stage.fork(copied);
    openPull(stage.github, { number: 12, headSha: HEAD, headRepo: FORK, state: "closed" });
    leave(SECTION, sectionBytes({ headSha: null }));
    expect((await stage.post()).outputs["pull-request"]).toBe("");
    expect(stage.github.comments).toEqual([]);
  });

  it("the report does not take a fork's branch for a copied one", async () => {
    stage.fork({ ...copied, headRepo: FORK });
    leave();
    expect((await stage.post()).warnings.join()).toContain("not one of this repository");
    expect(stage.github.comments).toEqual([]);
  });

  it.each([
    "pull-request/0",
    "pull-request/012",
    "pull-request/12x",
    "pull-request/1e3",
    "x/pull-request/12",
    "pull-request/-1",
  ])("the report reads no pull request number from the branch %j", async (headBranch) => {
    stage.fork({ ...copied, headBranch });
    leave();
    await stage.post();
    expect(stage.github.comments).toEqual([]);
  });

  it("the report refuses a run of another repository", async () => {
    stage.fork({ repo: "octo/other" });
    leave();
    expect((await stage.post()).warnings.join()).toContain("another repository");
    expect(stage.github.comments).toEqual([]);
  });

  it("the report ignores a run id in another event's payload", async () => {
    stage.fork();
    leave();
    const posted = await stage.post({}, stage.env({ workflow_run: { id: FORK_RUN } }, "issue_comment"));
    expect(stage.github.comments).toEqual([]);
    expect(posted.code).toBe(0);
  });

  it.each(["0", "-1", "1e3", "501;x", "0x1f5", "99999999999999999999"])(
    "the report refuses the run id %j",
    async (runId) => {
      expect(await stage.post({ "run-id": runId })).toMatchObject({ code: 2, error: "INPUT_INVALID" });
    },
  );
});

describe("the comment of another user", () => {
  it("another user's comment with a pasted marker is not overwritten", async () => {
    stage.fork();
    leave();
    stage.github.addComment(12, "mallory", "<!-- stormlog-gate:default -->\n## ✅ Memory: pass");
    await stage.post();
    expect(stage.github.comments.map(({ author }) => author)).toEqual(["mallory", "github-actions[bot]"]);
    expect(stage.github.comments[0]?.body).toContain("pass");
    expect(stage.github.comments[1]?.body).toContain("### ❌ Memory: ");
  });

  it("a comment with the marker on its second line is not overwritten", async () => {
    stage.fork();
    leave();
    stage.github.addComment(12, "github-actions[bot]", "from another workflow\n<!-- stormlog-gate:default -->");
    await stage.post();
    expect(stage.github.comments).toHaveLength(2);
    expect(stage.github.comments[0]?.body).toContain("from another workflow");
  });

  it("a gate id cannot address another comment", async () => {
    const posted = await stage.post({ "gate-id": "x --> <img src=x>" });
    expect(posted).toMatchObject({ code: 2, error: "INPUT_INVALID" });
  });
});
