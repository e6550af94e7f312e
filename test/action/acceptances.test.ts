import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { acceptedOnMain, readAcceptances } from "../../src/github/pull-request/acceptances.ts";
import { unpacedClient } from "./testing/client.ts";
import { Permissions } from "./testing/double/permissions.ts";
import { openPull } from "./testing/double/pull-lookup.ts";
import { GitHubDouble } from "./testing/github-double.ts";

/** Acceptances on a pull request, read from a real server that checks every answer against GitHub's contract. */

const PR = 12;
const HEAD = "a".repeat(40);
const TOKEN = "3f9a2c1d04be-dapb187";
const SAY = `/stormlog accept ${TOKEN} larger cache`;
const EARLY = "2026-09-01T10:00:00Z";
const LATE = "2026-09-01T11:00:00Z";

let github: GitHubDouble;
let people: Permissions;
let edits: Record<string, { readonly lastEditedAt: string | null; readonly editor: { readonly login: string } | null }>;
let descriptionEdited: string | null;

beforeEach(async () => {
  github = new GitHubDouble();
  people = new Permissions();
  edits = {};
  descriptionEdited = null;
  github.use(people.routes);
  github.graphQl = (query, variables) => {
    if (query.includes("IssueComment")) return { data: { node: edits[String(variables.id)] ?? null } };
    if (query.includes("pullRequest(")) {
      return { data: { repository: { pullRequest: { lastEditedAt: descriptionEdited } } } };
    }
    return null;
  };
  await github.start();
  github.tokens.set("job", { login: "github-actions[bot]", write: false });
  for (const role of ["none", "read", "triage", "write", "maintain", "admin"] as const) people.roles.set(role, role);
  openPull(github, { number: PR, headSha: HEAD });
});

afterEach(async () => {
  await github.stop();
  expect(github.faults).toEqual([]);
});

const read = async () => readAcceptances({ octokit: unpacedClient(github), owner: "octo", repo: "model" }, PR);

function describePull(body: string, labels: readonly string[]): void {
  const pull = github.pulls.all.get(PR);
  if (pull === undefined) throw new Error("the pull request does not exist");
  const [example] = github.contract.example("pull-request").labels as readonly object[];
  github.pulls.all.set(PR, {
    ...pull,
    overrides: { ...pull.overrides, body, labels: labels.map((name) => ({ ...example, name })) },
  });
}

describe("a comment", () => {
  it("a comment accepts only when its author has the write, maintain or admin role", async () => {
    for (const [role] of people.roles) github.addComment(PR, role, SAY, EARLY);
    github.addComment(PR, "unknown-user", SAY, EARLY);
    const { accepted, refused, warnings } = await read();
    expect(accepted.map(({ by }) => by)).toEqual(["write", "maintain", "admin"]);
    expect(accepted[0]).toMatchObject({
      difference: TOKEN,
      reason: "larger cache",
      via: "comment",
      at_iso: EARLY,
      head_sha: null,
      url: expect.stringContaining("/pull/12#issuecomment-"),
    });
    expect(refused.map(({ by }) => by)).toEqual(["none", "read", "triage", "unknown-user"]);
    for (const { why } of refused) expect(why).toMatch(/takes write permission/);
    expect(warnings).toEqual([]);
  });

  it("a bot's comment never accepts, whatever its role", async () => {
    people.roles.set("helper[bot]", "admin");
    github.addComment(PR, "helper[bot]", SAY, EARLY);
    expect(await read()).toMatchObject({ accepted: [], refused: [{ why: expect.stringContaining("is a bot") }] });
  });

  it("comments on every page are read, and each author's role is requested once", async () => {
    for (let n = 0; n < 240; n += 1) github.addComment(PR, "read", `talk ${n}`, EARLY);
    for (let n = 0; n < 20; n += 1) github.addComment(PR, "write", SAY, EARLY);
    expect((await read()).accepted).toHaveLength(20);
    expect(github.requests.filter(({ path }) => path.endsWith("/permission"))).toHaveLength(1);
  });

  it("a comment stops accepting when its author loses the role or deletes it", async () => {
    const comment = github.addComment(PR, "write", SAY, EARLY);
    expect((await read()).accepted).toHaveLength(1);
    people.roles.set("write", "read");
    expect((await read()).accepted).toEqual([]);
    people.roles.set("write", "write");
    github.comments.splice(github.comments.indexOf(comment), 1);
    expect(await read()).toEqual({ accepted: [], refused: [], warnings: [] });
  });

  it("an edited comment does not count, also when its author edited it, and one with a reaction counts", async () => {
    const own = github.addComment(PR, "write", SAY, EARLY);
    const others = github.addComment(PR, "admin", SAY, EARLY);
    const touched = github.addComment(PR, "maintain", SAY, EARLY);
    for (const comment of [own, others, touched]) comment.updatedIso = LATE;
    edits[`IC_${own.id}`] = { lastEditedAt: LATE, editor: { login: "write" } };
    edits[`IC_${others.id}`] = { lastEditedAt: LATE, editor: { login: "write" } };
    edits[`IC_${touched.id}`] = { lastEditedAt: null, editor: null };
    const { accepted, refused } = await read();
    expect(accepted.map(({ by }) => by)).toEqual(["maintain"]);
    expect(refused).toMatchObject([{ by: "write", why: expect.stringContaining("was edited") }, { by: "admin" }]);
  });

  it("a comment may name its commit, and a malformed comment gets a reason", async () => {
    github.addComment(PR, "write", `/stormlog accept ${TOKEN} @aaaaaaa wanted`, EARLY);
    github.addComment(PR, "write", `/stormlog accept ${TOKEN}`, EARLY);
    github.addComment(PR, "write", "/stormlog accept everything please", EARLY);
    const { accepted, refused } = await read();
    expect(accepted).toMatchObject([{ head_sha: "aaaaaaa" }]);
    expect(refused.map(({ why }) => why)).toEqual([
      "it gives no reason",
      "that is not a difference; copy it from the gate's report",
    ]);
  });
});

describe("the label with its lines in the description", () => {
  const BODY = `What it does.\r\n\r\nstormlog-accept: ${TOKEN} larger cache`;

  it("the label accepts in the name of the user who set it last", async () => {
    describePull(BODY, ["stormlog-accept"]);
    people.events.set(PR, [
      { event: "labeled", label: "stormlog-accept", actor: "read", createdIso: EARLY },
      ...Array.from(
        { length: 150 },
        () => ({ event: "labeled", label: "other", actor: "read", createdIso: EARLY }) as const,
      ),
      { event: "labeled", label: "stormlog-accept", actor: "write", createdIso: LATE },
      { event: "labeled", label: "other", actor: "admin", createdIso: LATE },
    ]);
    expect((await read()).accepted).toMatchObject([
      { by: "write", via: "label", at_iso: LATE, reason: "larger cache" },
    ]);
  });

  it("the label does not accept when the user who set it may not write", async () => {
    describePull(BODY, ["stormlog-accept"]);
    people.events.set(PR, [{ event: "labeled", label: "stormlog-accept", actor: "triage", createdIso: LATE }]);
    expect(await read()).toMatchObject({ accepted: [], refused: [{ by: "triage", via: "label" }] });
  });

  it("the label does not accept when the description was edited later", async () => {
    describePull(BODY, ["stormlog-accept"]);
    people.events.set(PR, [{ event: "labeled", label: "stormlog-accept", actor: "write", createdIso: EARLY }]);
    descriptionEdited = LATE;
    expect(await read()).toMatchObject({
      accepted: [],
      refused: [{ why: expect.stringContaining("set the label again") }],
    });
    descriptionEdited = "2026-09-01T09:59:59Z";
    expect((await read()).accepted).toHaveLength(1);
  });

  it("an acceptance by label needs both the label and the line", async () => {
    describePull(BODY, []);
    expect(await read()).toMatchObject({
      accepted: [],
      refused: [{ difference: TOKEN, why: expect.stringContaining("not set") }],
    });
    describePull("Nothing of it.", ["stormlog-accept"]);
    expect(await read()).toMatchObject({ accepted: [], refused: [{ why: expect.stringContaining("has no line") }] });
    describePull("Nothing of it.", []);
    expect(await read()).toEqual({ accepted: [], refused: [], warnings: [] });
  });
});

describe("a trailer of a commit", () => {
  const message = `Larger cache\n\nStormlog-Accept: ${TOKEN} larger cache`;

  it("a commit's trailer accepts in the name of its author, for that commit only", async () => {
    people.commits.set(PR, [{ sha: HEAD, message, author: "write" }]);
    expect((await read()).accepted).toMatchObject([{ by: "write", via: "trailer", head_sha: HEAD }]);
  });

  it("a commit's trailer does not accept when its author is unknown or may not write", async () => {
    people.commits.set(PR, [
      { sha: HEAD, message, author: "read" },
      { sha: "b".repeat(40), message, author: null },
    ]);
    expect(await read()).toMatchObject({ accepted: [], refused: [{ by: "read" }, { by: null }] });
  });

  it("a fork's trailer accepts only with a verified signature, because an author's address can be forged", async () => {
    for (const headRepo of ["mallory/model", null]) {
      openPull(github, { number: PR, headSha: HEAD, headRepo, author: "write" });
      people.commits.set(PR, [
        { sha: "1".repeat(40), message, author: "admin" },
        { sha: "2".repeat(40), message, author: "admin", committer: "mallory", verified: true },
        { sha: "3".repeat(40), message, author: "write", verified: true },
        { sha: "4".repeat(40), message, author: "write", committer: "web-flow", verified: true },
        { sha: "5".repeat(40), message, author: "read", verified: true },
      ]);
      const { accepted, refused } = await read();
      expect(accepted.map(({ head_sha }) => head_sha?.[0])).toEqual(["3", "4"]);
      expect(refused).toHaveLength(3);
      // GitHub's OpenAPI description omits that a fork can be deleted.
      if (headRepo === null) expect(github.faults.splice(0)).toMatchObject([expect.stringContaining("head/repo")]);
    }
  });
});

describe("when GitHub cannot be reached", () => {
  it.each([
    ["the comments", /\/issues\/12\/comments$/],
    ["the pull request", /\/pulls\/12$/],
    ["the commits", /\/pulls\/12\/commits$/],
    ["a permission", /\/write\/permission$/],
  ])("a refused request for %s gives one warning, and the other acceptances count", async (_what, pattern) => {
    github.addComment(PR, "write", SAY, EARLY);
    people.commits.set(PR, [{ sha: HEAD, message: `x\n\nStormlog-Accept: ${TOKEN} wanted`, author: "admin" }]);
    github.failure = ({ path }) => (pattern.test(path) ? { kind: "status", status: 403, message: "no" } : null);
    const { accepted, warnings } = await read();
    expect(accepted.length).toBeLessThan(2);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/pull-requests: read/);
  });

  it("nothing is accepted when GitHub does not answer", async () => {
    github.addComment(PR, "write", SAY, EARLY);
    github.failure = () => ({ kind: "status", status: 401, message: "Bad credentials" });
    expect(await read()).toMatchObject({ accepted: [], refused: [], warnings: [expect.stringContaining("401")] });
  });
});

describe("what was accepted of a commit on the main branch", () => {
  const MERGE = "c".repeat(40);
  const BEFORE = "d".repeat(40);
  const KNOWN = "e".repeat(40);
  const ask = async (since: string | null = null) =>
    acceptedOnMain(unpacedClient(github), { owner: "octo", repo: "model" }, MERGE, since);

  beforeEach(() => {
    people.main.push(KNOWN, BEFORE, MERGE);
    openPull(github, { number: 13, headSha: "f".repeat(40), state: "closed" });
  });

  it("a commit on the main branch carries the acceptance of its pull request", async () => {
    people.cameBy.set(MERGE, [{ number: PR, headSha: HEAD, merged: true }]);
    github.addComment(PR, "write", SAY, EARLY);
    github.addComment(PR, "read", SAY, EARLY);
    expect(await ask()).toMatchObject([
      { pullRequest: PR, url: "https://github.com/octo/model/pull/12", acceptance: { difference: TOKEN, by: "write" } },
    ]);
  });

  it("acceptances of all pull requests since the baseline's commit are included once each", async () => {
    people.cameBy.set(MERGE, [{ number: PR, headSha: HEAD, merged: true }]);
    people.cameBy.set(BEFORE, [
      { number: 13, headSha: "f".repeat(40), merged: true },
      { number: PR, headSha: HEAD, merged: true },
    ]);
    people.cameBy.set(KNOWN, [{ number: 99, headSha: HEAD, merged: true }]);
    github.addComment(PR, "write", SAY, EARLY);
    github.addComment(13, "admin", SAY, EARLY);
    expect((await ask(KNOWN)).map(({ pullRequest }) => pullRequest)).toEqual([PR, 13]);
    expect((await ask("0".repeat(40))).map(({ pullRequest }) => pullRequest)).toEqual([PR]);
  });

  it("a commit of an open pull request, or of none, carries no acceptance", async () => {
    people.cameBy.set(MERGE, [{ number: PR, headSha: HEAD, merged: false }]);
    github.addComment(PR, "write", SAY, EARLY);
    expect(await ask()).toEqual([]);
    people.cameBy.clear();
    expect(await ask()).toEqual([]);
  });

  it("an acceptance of a commit that was not merged is not included", async () => {
    people.cameBy.set(MERGE, [{ number: PR, headSha: HEAD, merged: true }]);
    github.addComment(PR, "write", `/stormlog accept ${TOKEN} @bbbbbbb wanted`, EARLY);
    github.addComment(PR, "write", `/stormlog accept ${TOKEN} @aaaaaaa wanted`, EARLY);
    expect((await ask()).map(({ acceptance }) => acceptance.head_sha)).toEqual(["aaaaaaa"]);
  });

  it("acceptances on the main branch are an error when GitHub does not answer", async () => {
    people.cameBy.set(MERGE, [{ number: PR, headSha: HEAD, merged: true }]);
    github.failure = ({ path }) => (path.endsWith("/comments") ? { kind: "status", status: 403, message: "no" } : null);
    await expect(ask()).rejects.toThrow(/pull-requests: read/);
  });
});
