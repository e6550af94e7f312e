import { execFileSync } from "node:child_process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Proposal, upsertProposal } from "../../src/github/repository/anchor-pull-request.ts";
import { closeIssue, issueMarker, upsertIssue } from "../../src/github/repository/issue-upsert.ts";
import { unpacedClient } from "./testing/client.ts";
import { GitDataDouble } from "./testing/double/git-data.ts";
import { NightlyDouble } from "./testing/double/issues.ts";
import { GitHubDouble } from "./testing/github-double.ts";

const BOT = "github-actions[bot]";
const HERE = { owner: "octo", repo: "model" };
const TARGET = { ...HERE, key: "default" };

let github: GitHubDouble;
let git: GitDataDouble;
let nightly: NightlyDouble;

beforeEach(async () => {
  github = new GitHubDouble();
  git = new GitDataDouble();
  git.delayMs = 1;
  nightly = new NightlyDouble(git);
  github.use(git.routes);
  nightly.use(github);
  await github.start();
  github.tokens.set("job", { login: BOT, write: true });
  github.tokens.set("readonly", { login: BOT, write: false });
});

afterEach(async () => {
  await github.stop();
  git.dispose();
  expect(github.faults).toEqual([]);
});

describe("the one issue of a nightly gate", () => {
  const red = { title: "Memory grew", body: "table\nof runs" };
  const green = { title: "Memory grew (over)", body: "green again" };

  it("the nightly issue is created once, updated in place, and closed when the gate passes", async () => {
    const octokit = unpacedClient(github);
    expect(await upsertIssue(octokit, TARGET, red)).toMatchObject({ action: "created" });
    expect(await upsertIssue(octokit, TARGET, red)).toMatchObject({ action: "unchanged" });
    expect(await upsertIssue(octokit, TARGET, { ...red, body: "another run" })).toMatchObject({ action: "updated" });
    expect(nightly.issues).toMatchObject([{ state: "open", body: `${issueMarker("default")}\nanother run` }]);
    expect(await closeIssue(octokit, TARGET, green)).toMatchObject({ action: "closed" });
    expect(nightly.issues).toMatchObject([{ state: "closed", title: green.title }]);
    expect(await closeIssue(octokit, TARGET, green)).toEqual({ action: "none" });
    expect(await upsertIssue(octokit, TARGET, red)).toMatchObject({ action: "created" });
    expect(nightly.issues.map(({ state }) => state)).toEqual(["closed", "open"]);
  });

  it("the nightly issue is found behind hundreds of others, and another user's pasted marker is ignored", async () => {
    const octokit = unpacedClient(github);
    await upsertIssue(octokit, TARGET, red);
    nightly.addIssue("mallory", "mine", `${issueMarker("default")}\npaste`);
    nightly.addIssue(BOT, "quote", `> said\n${issueMarker("default")}`);
    for (let n = 0; n < 230; n += 1) nightly.addIssue("a-user", `talk ${n}`, "hello");
    expect(await upsertIssue(octokit, TARGET, { ...red, body: "next" })).toMatchObject({ action: "updated" });
    expect(nightly.issues.filter(({ body }) => body.includes("next"))).toHaveLength(1);
    expect(nightly.issues[1]?.body).toContain("paste");
  });

  it("each key has one nightly issue, and the oldest duplicate stays", async () => {
    const octokit = unpacedClient(github);
    const [older, newer] = [1, 2].map(() => nightly.addIssue(BOT, "x", `${issueMarker("default")}\nx`));
    await upsertIssue(octokit, { ...TARGET, key: "gpu" }, red);
    await upsertIssue(octokit, TARGET, red);
    expect([older?.state, newer?.state]).toEqual(["open", "closed"]);
    expect(nightly.issues.filter(({ state }) => state === "open")).toHaveLength(2);
  });
});

describe("a proposal to the main branch", () => {
  const proposal = (content: string, body = "why"): Proposal => ({
    branch: "stormlog/anchors-default",
    base: "main",
    title: "Move the memory anchor",
    body,
    message: "Move the memory anchor",
    files: [{ path: "stormlog-anchors.json", content }],
  });
  const shown = (ref: string): string => git.git("show", `${ref}:stormlog-anchors.json`);

  /** A commit on a branch as a person would push it. */
  function push(branch: string, name: string, content: string, message = "by hand"): void {
    const at = (args: readonly string[], input?: string): string =>
      execFileSync("git", ["--git-dir", git.directory, ...args], {
        encoding: "utf8",
        input: input ?? "",
        env: {
          ...process.env,
          GIT_AUTHOR_NAME: "p",
          GIT_AUTHOR_EMAIL: "p@x",
          GIT_COMMITTER_NAME: "p",
          GIT_COMMITTER_EMAIL: "p@x",
        },
      }).trim();
    let parent: string[] = [];
    let lines = "";
    try {
      parent = ["-p", at(["rev-parse", "--verify", "--quiet", `refs/heads/${branch}`])];
      lines = `${at(["ls-tree", `refs/heads/${branch}`])}\n`;
    } catch {
      // A new branch.
    }
    const blob = at(["hash-object", "-w", "--stdin"], content);
    const kept = lines.split("\n").filter((line) => line !== "" && !line.endsWith(`\t${name}`));
    const tree = at(["mktree"], `${[...kept, `100644 blob ${blob}\t${name}`].join("\n")}\n`);
    const commit = at(["commit-tree", tree, ...parent, "-m", message]);
    at(["update-ref", `refs/heads/${branch}`, commit]);
  }

  beforeEach(() => push("main", "README.md", "the project"));

  it("a proposal is one pull request, which the next nightly run updates", async () => {
    const octokit = unpacedClient(github);
    expect(await upsertProposal(octokit, HERE, proposal("one"))).toMatchObject({ action: "created" });
    expect(await upsertProposal(octokit, HERE, proposal("one"))).toMatchObject({ action: "unchanged" });
    const tip = git.git("rev-parse", "refs/heads/stormlog/anchors-default");
    push("main", "code", "moved on");
    expect(await upsertProposal(octokit, HERE, proposal("one"))).toMatchObject({ action: "unchanged" });
    expect(git.git("rev-parse", "refs/heads/stormlog/anchors-default")).toBe(tip);
    expect(await upsertProposal(octokit, HERE, proposal("two", "higher still"))).toMatchObject({ action: "updated" });
    expect(nightly.proposals).toMatchObject([{ state: "open", body: "higher still" }]);
    expect(shown("refs/heads/stormlog/anchors-default")).toBe("two");
    // The branch is rebuilt on the newest main.
    expect(git.git("show", "refs/heads/stormlog/anchors-default:code")).toBe("moved on");
    expect(git.git("show", "refs/heads/stormlog/anchors-default:README.md")).toBe("the project");
    expect(git.git("rev-list", "--count", "refs/heads/main..refs/heads/stormlog/anchors-default")).toBe("1");
  });

  it("a proposal that the main branch already has is not made", async () => {
    push("main", "stormlog-anchors.json", "one");
    expect(await upsertProposal(unpacedClient(github), HERE, proposal("one"))).toEqual({ action: "nothing" });
    expect(nightly.proposals).toEqual([]);
  });

  it("a proposal does not overwrite a branch that a person pushed to", async () => {
    const octokit = unpacedClient(github);
    await upsertProposal(octokit, HERE, proposal("one"));
    push("stormlog/anchors-default", "stormlog-anchors.json", "a person's number");
    expect(await upsertProposal(octokit, HERE, proposal("two"))).toMatchObject({ action: "left" });
    expect(shown("refs/heads/stormlog/anchors-default")).toBe("a person's number");
  });

  it("a closed pull request declines the proposal until its branch is deleted", async () => {
    const octokit = unpacedClient(github);
    await upsertProposal(octokit, HERE, proposal("one"));
    const [first] = nightly.proposals;
    if (first) first.state = "closed";
    expect(await upsertProposal(octokit, HERE, proposal("two"))).toMatchObject({ action: "declined" });
    git.git("update-ref", "-d", "refs/heads/stormlog/anchors-default");
    expect(await upsertProposal(octokit, HERE, proposal("two"))).toMatchObject({ action: "created" });
  });

  it("a proposal is an error when the repository forbids pull requests by Actions", async () => {
    nightly.mayOpenPullRequests = false;
    await expect(upsertProposal(unpacedClient(github), HERE, proposal("one"))).rejects.toMatchObject({ status: 403 });
  });
});
