import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connect, loadClient, type Octokit } from "../../src/github/api/octokit.ts";
import { runContext } from "../../src/github/api/run-context.ts";
import { commentMarker, commentWarning, upsertComment } from "../../src/github/comment/comment.ts";
import { unpacedClient } from "./testing/client.ts";
import { GitHubDouble } from "./testing/github-double.ts";

const BOT = "github-actions[bot]";
const PR = 12;
const TARGET = { owner: "octo", repo: "model", pullRequest: PR, headSha: null, key: "default" };
const MARKER = "<!-- stormlog-gate:default -->";

let github: GitHubDouble;

/** The step's own client, which keeps pauses between writes and retries. */
async function pacedClient(): Promise<Octokit> {
  return connect(await loadClient(), {
    token: "job",
    context: runContext({ GITHUB_API_URL: github.url }),
    signal: AbortSignal.timeout(25_000),
    maxWaitS: 5,
    log: () => {},
  });
}

beforeEach(async () => {
  github = new GitHubDouble();
  await github.start();
  github.tokens.set("job", { login: BOT, write: true });
  github.tokens.set("readonly", { login: BOT, write: false });
  github.tokens.set("robot", { login: "release-robot", write: true });
});

afterEach(async () => {
  await github.stop();
  expect(github.faults).toEqual([]);
});

describe("the sticky comment", () => {
  it("the sticky comment is created once and then updated in place", async () => {
    const octokit = unpacedClient(github);
    const first = await upsertComment(octokit, TARGET, "one");
    const second = await upsertComment(octokit, TARGET, "two");
    expect(first).toMatchObject({ action: "created" });
    expect(second).toEqual({ action: "updated", url: first.action === "created" ? first.url : "" });
    expect(github.comments).toMatchObject([{ author: BOT, issue: PR, body: `${MARKER}\ntwo` }]);
  });

  it("the sticky comment is not written again when only line ends differ", async () => {
    const octokit = unpacedClient(github);
    await upsertComment(octokit, TARGET, "a\nb\n");
    const writes = github.requests.filter(({ method }) => method !== "GET").length;
    expect(await upsertComment(octokit, TARGET, "a\nb\n")).toMatchObject({ action: "unchanged" });
    expect(github.requests.filter(({ method }) => method !== "GET")).toHaveLength(writes);
  });

  it("the sticky comment is found on the third page", async () => {
    for (let n = 0; n < 250; n += 1) github.addComment(PR, "a-user", `talk ${n}`);
    const ours = github.addComment(PR, BOT, `${MARKER}\nold`);
    expect(await upsertComment(unpacedClient(github), TARGET, "new")).toMatchObject({ action: "updated" });
    expect(ours.body).toBe(`${MARKER}\nnew`);
  });

  /** Comments of an hour ago, which GitHub gives in pages of 6 MB. */
  function addLongComments(count: number): void {
    const text = `${MARKER}\n${"x".repeat(60_000)}`;
    const earlier = new Date(Date.now() - 3_600_000).toISOString();
    for (let n = 0; n < count; n += 1) github.addComment(PR, "mallory", text, earlier);
  }

  const pagesRead = () =>
    github.requests.filter(({ method, path }) => method === "GET" && path.endsWith("/comments")).length;

  it("the sticky comment is created among 3,000 long comments, which are read once and several pages at a time", async () => {
    addLongComments(3000);
    let asked = 0;
    let most = 0;
    github.failure = ({ method, path }) => {
      if (method !== "GET" || !path.endsWith("/comments")) return null;
      asked += 1;
      most = Math.max(most, asked);
      setTimeout(() => (asked -= 1), 50);
      return { kind: "late", ms: 50 };
    };
    expect(await upsertComment(await pacedClient(), TARGET, "new")).toMatchObject({ action: "created" });
    // All pages, and what was written since.
    expect(pagesRead()).toBe(31);
    // One by one they take longer than a step may wait.
    expect(most).toBeGreaterThan(3);
    expect(github.comments.filter(({ author }) => author === BOT)).toMatchObject([{ body: `${MARKER}\nnew` }]);
  }, 60_000);

  it("the sticky comment is found among 3,000 long comments, and its duplicate removed", async () => {
    addLongComments(1499);
    const ours = github.addComment(PR, BOT, `${MARKER}\nold`);
    github.addComment(PR, BOT, `${MARKER}\nduplicate`);
    addLongComments(1501);
    expect(await upsertComment(unpacedClient(github), TARGET, "new")).toMatchObject({ action: "updated" });
    expect(github.comments.filter(({ author, body }) => author === BOT && body.startsWith(MARKER))).toEqual([ours]);
    expect(ours.body).toBe(`${MARKER}\nnew`);
  });

  it("a comment that another job created in the meantime is found among those written since", async () => {
    const octokit = unpacedClient(github);
    const first = github.addComment(PR, "a-user", "talk");
    octokit.hook.after("request", (_, { url }) => {
      if (!url.endsWith("/comments") || github.comments.length > 1) return;
      github.addComment(PR, BOT, `${MARKER}\nof another job`);
    });
    await upsertComment(octokit, TARGET, "new");
    expect(github.comments).toMatchObject([{ id: first.id }, { author: BOT, body: `${MARKER}\nnew` }]);
  });

  it("another user's comment with a pasted marker is never updated", async () => {
    const pasted = github.addComment(PR, "mallory", `${MARKER}\npass, trust me`);
    expect(await upsertComment(unpacedClient(github), TARGET, "fail")).toMatchObject({ action: "created" });
    expect(pasted.body).toContain("trust me");
  });

  it("a comment of the bot that quotes the marker further down is not updated", async () => {
    github.addComment(PR, BOT, `> quote\n${MARKER}\n`);
    expect(await upsertComment(unpacedClient(github), TARGET, "x")).toMatchObject({ action: "created" });
  });

  it("the sticky comment belongs to the token's user", async () => {
    const octokit = unpacedClient(github, "robot");
    await upsertComment(octokit, TARGET, "one");
    expect(await upsertComment(octokit, TARGET, "two")).toMatchObject({ action: "updated" });
    expect(github.comments).toMatchObject([{ author: "release-robot", body: `${MARKER}\ntwo` }]);
  });

  it("each gate has one sticky comment", async () => {
    const octokit = unpacedClient(github);
    await upsertComment(octokit, TARGET, "a");
    await upsertComment(octokit, { ...TARGET, key: "other" }, "b");
    expect(github.comments.map(({ body }) => body.split("\n")[0])).toEqual([MARKER, commentMarker("other")]);
  });

  it("the older of two duplicate comments is kept", async () => {
    const older = github.addComment(PR, BOT, `${MARKER}\n1`);
    github.addComment(PR, BOT, `${MARKER}\n2`);
    await upsertComment(unpacedClient(github), TARGET, "now");
    expect(github.comments).toMatchObject([{ id: older.id, body: `${MARKER}\nnow` }]);
  });

  it("one comment remains when several runs create it at once", async () => {
    const octokits = [1, 2, 3].map(() => unpacedClient(github));
    await Promise.all(octokits.map((octokit, n) => upsertComment(octokit, TARGET, `run ${n}`)));
    const left = github.comments.filter(({ body }) => body.startsWith(MARKER));
    expect(left).toHaveLength(1);
  });

  it("the run of an older commit does not overwrite the comment", async () => {
    github.heads.set(PR, "b".repeat(40));
    const octokit = unpacedClient(github);
    const at = (headSha: string) => upsertComment(octokit, { ...TARGET, headSha }, "old news");
    expect(await at("a".repeat(40))).toEqual({ action: "outdated" });
    expect(github.comments).toEqual([]);
    expect(await at("b".repeat(40))).toMatchObject({ action: "created" });
  });

  it("the client waits out a secondary rate limit and retries a server error", async () => {
    const failures = [
      {
        kind: "status",
        status: 403,
        message: "You have exceeded a secondary rate limit",
        headers: { "retry-after": "1" },
      },
      { kind: "status", status: 502 },
    ] as const;
    let at = 0;
    github.failure = ({ method }) => (method === "POST" ? (failures[at++] ?? null) : null);
    expect(await upsertComment(await pacedClient(), TARGET, "x")).toMatchObject({ action: "created" });
    expect(at).toBeGreaterThanOrEqual(3);
  });

  it("a comment that fails for a read-only token names the missing permission", async () => {
    const error = await upsertComment(unpacedClient(github, "readonly"), TARGET, "x").catch((one: unknown) => one);
    expect(error).toBeInstanceOf(Error);
    expect(commentWarning(error)).toContain("pull-requests: write");
  });

  it("a comment that is too long is cut to GitHub's limit", async () => {
    expect(await upsertComment(unpacedClient(github), TARGET, "ä".repeat(300_000))).toMatchObject({
      action: "created",
    });
  });

  it.each(['a"b', "a-->b", "a\nb", "a--!>b"])("the comment's marker is intact with the key %j", (key) => {
    expect(commentMarker(key)).toMatch(/^<!-- stormlog-gate:[A-Za-z0-9._/-]+ -->$/);
    expect(commentMarker(key).slice(4, -3)).not.toContain("--");
  });
});
