import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { getOctokit } from "@actions/github";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { accept } from "../../src/actions/accept/accept.ts";
import { asGateError } from "../../src/actions/gate-error.ts";
import { runContext } from "../../src/github/run-context.ts";
import { sampleReport } from "../../src/report/testing/sample-report.ts";
import { ActionsDouble } from "./testing/double/actions.ts";
import { Permissions, type Role } from "./testing/double/permissions.ts";
import { openPull } from "./testing/double/pull-lookup.ts";
import { Reruns } from "./testing/double/reruns.ts";
import { GitHubDouble } from "./testing/github-double.ts";
import { HEAD, SECTION, sectionBytes } from "./testing/sample-section.ts";

/** The accept sub-action with a real client over a real connection that checks every request and answer. */

const PR = 12;
const RUN = 501;
const BOT = "github-actions[bot]";
const TOKEN = "3f9a2c1d04be-dapb187";
const LARGER = "3f9a2c1d04be-dapb199";
const POLICY = "0123456789ab-policy";
const SAY = `/stormlog accept ${TOKEN} larger cache`;

const github = new GitHubDouble();
const actions = new ActionsDouble();
const people = new Permissions();
const reruns = new Reruns(actions);
const directory = mkdtempSync(path.join(tmpdir(), "stormlog-accept-"));

beforeAll(async () => {
  github.use(reruns.routes).use(actions.routes).use(people.routes);
  github.graphQl = (query) =>
    query.includes("pullRequest(") ? { data: { repository: { pullRequest: { lastEditedAt: null } } } } : null;
  await github.start();
  await actions.store.start();
  github.tokens.set("job", { login: BOT, write: true });
  github.tokens.set("readonly", { login: BOT, write: false });
});

afterAll(async () => {
  await github.stop();
  await actions.store.stop();
  rmSync(directory, { recursive: true, force: true });
});

beforeEach(() => {
  github.failure = () => null;
  for (const list of [github.comments, github.requests, github.faults, people.reactions, reruns.started])
    list.length = 0;
  github.pulls.all.clear();
  people.roles.clear();
  people.events.clear();
  for (const role of ["read", "write"] satisfies Role[]) people.roles.set(role, role);
  openPull(github, { number: PR, headSha: HEAD });
  actions.runs.clear();
  actions.artifacts.length = 0;
  gateRun(TOKEN);
});

/** A run of the gate that found a difference. */
function gateRun(
  difference: string | null,
  parts: { readonly id?: number; readonly conclusion?: string | null; readonly policy?: string } = {},
) {
  const { id = RUN, conclusion = "failure", policy } = parts;
  actions.addRun({ id, event: "pull_request", headSha: HEAD, headBranch: "topic", headRepo: "octo/model", conclusion });
  const report = sampleReport("fail", policy === undefined ? {} : { policy_difference: policy });
  const scenarios = report.scenarios.map((one) => ({ ...one, ...(difference === null ? {} : { difference }) }));
  actions.addArtifact(id, SECTION, sectionBytes({ report: { ...report, scenarios } }));
}

interface Done {
  readonly code: number;
  readonly outputs: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
  readonly logs: readonly string[];
}

async function step(name: string, event: object, inputs: Readonly<Record<string, string>> = {}): Promise<Done> {
  const file = path.join(directory, "event.json");
  writeFileSync(file, JSON.stringify(event));
  const env = {
    GITHUB_API_URL: github.url,
    GITHUB_REPOSITORY: "octo/model",
    GITHUB_RUN_ID: "900",
    GITHUB_EVENT_NAME: name,
    GITHUB_EVENT_PATH: file,
  };
  const outputs: Record<string, string> = {};
  const warnings: string[] = [];
  const logs: string[] = [];
  const { owner, repo, ...rest } = runContext(env);
  const done = { outputs, warnings, logs };
  try {
    const code = await accept({
      input: (one) => inputs[one],
      env,
      context: { ...rest, owner: owner ?? "", repo: repo ?? "" },
      octokit: getOctokit(inputs.token ?? "job", { baseUrl: github.url }),
      signal: new AbortController().signal,
      log: (line) => void logs.push(line),
      warn: (line) => void warnings.push(line),
      setOutput: (one, value) => {
        outputs[one] = value;
      },
    });
    return { code, ...done };
  } catch (error) {
    return { code: asGateError(error).exitCode, ...done };
  } finally {
    expect(github.faults).toEqual([]);
  }
}

/** A user comments, and the event starts the step. */
function comment(author: string, body: string, inputs: Readonly<Record<string, string>> = {}): Promise<Done> {
  const { id } = github.addComment(PR, author, body, "2026-09-01T10:00:00Z");
  return step("issue_comment", commentEvent(id, body), inputs);
}

const commentEvent = (id: number, body: string, action = "created") => ({
  action,
  issue: { number: PR, pull_request: { url: "x" } },
  comment: { id, body, user: { login: "anybody" } },
});

const replies = (): readonly string[] => github.comments.filter(({ author }) => author === BOT).map(({ body }) => body);
const reactions = () => people.reactions.map(({ content }) => content);
const writes = () => github.requests.filter(({ method }) => method !== "GET");

describe("a comment that accepts", () => {
  it("an accepting comment gets a thumbs-up, and the failed jobs of the gate's run start again", async () => {
    const { code, outputs, warnings } = await comment("write", SAY);
    expect([code, warnings]).toEqual([0, []]);
    expect(outputs).toEqual({
      accepted: "true",
      difference: TOKEN,
      by: "write",
      "pull-request": "12",
      "run-id": "501",
    });
    expect(reactions()).toEqual(["+1"]);
    expect(replies()).toEqual([]);
    expect(reruns.started).toEqual([RUN]);
  });

  it("a comment may accept a change of the gate's settings", async () => {
    gateRun(TOKEN, { id: 502, policy: POLICY });
    const { outputs } = await comment("write", `/stormlog accept ${POLICY} a wider budget is wanted`);
    expect(outputs).toMatchObject({ accepted: "true", "run-id": "502" });
  });

  it("an accepting comment reruns the newest run of the gate, whatever else ran for the commit", async () => {
    gateRun(TOKEN, { id: 601 });
    actions.addRun({
      id: 700,
      event: "pull_request",
      headSha: HEAD,
      headBranch: "topic",
      headRepo: "octo/model",
      conclusion: "failure",
    });
    actions.addArtifact(700, "stormlog-defaults", Buffer.from("of another tool"));
    actions.addRun({
      id: 701,
      event: "workflow_run",
      headSha: HEAD,
      headBranch: "topic",
      headRepo: "octo/model",
      conclusion: "failure",
    });
    actions.addArtifact(701, SECTION, sectionBytes());
    actions.addRun({
      id: 702,
      event: "pull_request",
      headSha: "b".repeat(40),
      headBranch: "topic",
      headRepo: "octo/model",
      conclusion: "failure",
    });
    actions.addArtifact(702, SECTION, sectionBytes());
    await comment("write", SAY);
    expect(reruns.started).toEqual([601]);
  });

  it("an accepting comment reruns the workflow that the input names", async () => {
    actions.addRun({
      id: 650,
      event: "pull_request",
      headSha: HEAD,
      headBranch: "topic",
      headRepo: "octo/model",
      conclusion: "failure",
    });
    reruns.workflows.set(650, "memory.yml");
    await comment("write", SAY, { workflow: "memory.yml" });
    expect(reruns.started).toEqual([650]);
  });

  it.each([
    ["is under way", null],
    ["did not fail", "success"],
  ])("leaves a run alone that %s", async (_what, conclusion) => {
    actions.runs.clear();
    actions.artifacts.length = 0;
    gateRun(TOKEN, { conclusion });
    const { code, outputs, warnings } = await comment("write", SAY);
    expect([code, warnings, outputs.accepted, outputs["run-id"]]).toEqual([0, [], "true", ""]);
    expect(reruns.started).toEqual([]);
  });

  it("a comment accepts without a run of the gate, and with rerun switched off", async () => {
    await comment("write", SAY, { rerun: "never" });
    actions.runs.clear();
    const { outputs } = await comment("write", SAY);
    expect(outputs).toMatchObject({ accepted: "true", "run-id": "" });
    expect(reruns.started).toEqual([]);
  });
});

describe("a comment that does not count", () => {
  it.each([
    ["its author may not write", "read", SAY, /takes write permission/],
    ["GitHub does not know its author", "unknown-user", SAY, /takes write permission/],
    ["it comes from a bot", "robot[bot]", SAY, /is a bot/],
    ["it has no reason", "write", `/stormlog accept ${TOKEN}`, /no reason/],
    ["it names no difference", "write", "/stormlog accept all of it", /copy it/],
    [
      "it names another difference",
      "write",
      "/stormlog accept 999999999999-dapb187 wanted",
      new RegExp(`another difference: .*${TOKEN}`),
    ],
    ["it names another commit", "write", `/stormlog accept ${TOKEN} @bbbbbbb wanted`, /is for commit bbbbbbb/],
  ])("because %s, is answered once with the reason", async (_why, author, body, reason) => {
    const { code, outputs, warnings } = await comment(author, body);
    expect([code, outputs.accepted, warnings]).toEqual([0, "false", []]);
    expect(reactions()).toEqual(["confused"]);
    const plain = replies().map((one) => one.replace(/&#(\d+);/g, (_all, n) => String.fromCharCode(Number(n))));
    expect(plain).toEqual([expect.stringMatching(reason)]);
    expect(reruns.started).toEqual([]);
  });

  it("a comment for a difference that has grown is answered with the new difference", async () => {
    actions.artifacts.length = 0;
    gateRun(LARGER);
    await comment("write", SAY);
    expect(replies()[0]).toContain("the difference is larger now");
  });

  it("a comment on a closed pull request starts no run", async () => {
    openPull(github, { number: PR, headSha: HEAD, state: "closed" });
    const { outputs } = await comment("write", SAY);
    expect(outputs.accepted).toBe("false");
    expect(replies()[0]).toContain("closed");
    expect(reruns.started).toEqual([]);
  });

  it("a comment is answered once even when the step runs twice", async () => {
    const { id } = github.addComment(PR, "read", SAY, "2026-09-01T10:00:00Z");
    await step("issue_comment", commentEvent(id, SAY));
    await step("issue_comment", commentEvent(id, SAY));
    expect(replies()).toHaveLength(1);
    expect(reactions()).toEqual(["confused"]);
  });

  it("a comment cannot put markup, mentions or workflow commands into the answer", async () => {
    const bad = `::error::@everyone<img/src=x>|\`[x](http://x)`;
    const { logs } = await comment("write", `/stormlog accept ${bad} reason`);
    expect(replies()[0]).not.toMatch(/@everyone|<img|\[x\]|`/);
    for (const line of logs) expect(line).not.toMatch(/^\s*::|##\[/);
  });

  it("the accept step reads the comment as it is now, not as the event has it", async () => {
    const spoken = github.addComment(PR, "write", "Never mind.", "2026-09-01T10:00:00Z");
    expect(await step("issue_comment", commentEvent(spoken.id, SAY))).toMatchObject({
      code: 0,
      outputs: { accepted: "false" },
    });
    expect(await step("issue_comment", commentEvent(424242, SAY))).toMatchObject({
      code: 0,
      outputs: { accepted: "false" },
    });
    const elsewhere = github.addComment(99, "write", SAY, "2026-09-01T10:00:00Z");
    expect(await step("issue_comment", commentEvent(elsewhere.id, SAY))).toMatchObject({
      outputs: { accepted: "false" },
    });
    expect(writes()).toEqual([]);
  });
});

describe("anything else", () => {
  it.each<[string, string, object]>([
    ["a comment without the command", "issue_comment", commentEvent(1, "What about /stormlog accept?")],
    ["an edited comment", "issue_comment", commentEvent(1, SAY, "edited")],
    [
      "a comment on an issue",
      "issue_comment",
      { action: "created", issue: { number: 1 }, comment: { id: 1, body: SAY } },
    ],
    [
      "another label",
      "pull_request_target",
      { action: "labeled", label: { name: "bug" }, pull_request: { number: PR } },
    ],
    [
      "a label taken away",
      "pull_request_target",
      { action: "unlabeled", label: { name: "stormlog-accept" }, pull_request: { number: PR } },
    ],
    ["a push", "push", {}],
    ["an event that is not an object", "issue_comment", ["x"]],
  ])("like %s ends at once, asks nothing and says nothing", async (_what, name, event) => {
    expect(await step(name, event)).toMatchObject({ code: 0, outputs: { accepted: "false" }, warnings: [] });
    expect(github.requests).toEqual([]);
  });

  it("any other event, and a wrong input, is a usage error", async () => {
    for (const inputs of [{ "gate-id": "a b" }, { workflow: "../x" }, { "pull-request": "0" }, { rerun: "yes" }]) {
      expect((await step("push", {}, inputs as unknown as Record<string, string>)).code).toBe(2);
    }
  });
});

describe("the label", () => {
  const event = { action: "labeled", label: { name: "stormlog-accept" }, pull_request: { number: PR } };
  const labelled = (actor: string) => {
    const pull = github.pulls.all.get(PR);
    const [example] = github.contract.example("pull-request").labels as readonly object[];
    const labels = [{ ...example, name: "stormlog-accept" }];
    github.pulls.all.set(PR, {
      headSha: HEAD,
      overrides: { ...pull?.overrides, body: `stormlog-accept: ${TOKEN} wanted`, labels },
    });
    people.events.set(PR, [{ event: "labeled", label: "stormlog-accept", actor, createdIso: "2026-09-01T10:00:00Z" }]);
  };

  it("a label set by a user who may write re-runs the failed jobs", async () => {
    labelled("write");
    expect(await step("pull_request_target", event)).toMatchObject({ outputs: { accepted: "true", by: "write" } });
    expect(reruns.started).toEqual([RUN]);
    expect(replies()).toEqual([]);
  });

  it("a label set by another user is answered by one comment, which later answers update", async () => {
    labelled("read");
    await step("pull_request_target", event);
    await step("pull_request_target", event);
    expect(replies()).toHaveLength(1);
    expect(replies()[0]).toContain("write permission");
    expect(reruns.started).toEqual([]);
  });
});

describe("a manual run", () => {
  it("a manual run counts every acceptance and writes no reply on the pull request", async () => {
    github.addComment(PR, "write", SAY, "2026-09-01T10:00:00Z");
    github.addComment(PR, "read", SAY, "2026-09-01T10:00:00Z");
    const { outputs, logs } = await step("workflow_dispatch", {}, { "pull-request": "12" });
    expect(outputs).toMatchObject({ accepted: "true", "run-id": "501" });
    expect(logs.join("\n")).toMatch(/by read does not count/);
    expect(writes().map(({ path: route }) => route)).toEqual(["/repos/octo/model/actions/runs/501/rerun-failed-jobs"]);
  });
});

describe("when GitHub refuses", () => {
  it("a read-only token gives one warning for the answer and one for the jobs", async () => {
    const { code, outputs, warnings } = await comment("write", SAY, { token: "readonly" });
    expect([code, outputs.accepted]).toEqual([0, "true"]);
    expect(warnings).toEqual([expect.stringMatching(/pull-requests: write/), expect.stringMatching(/actions: write/)]);
  });

  it("a comment accepts even when GitHub refuses to list the run's artifacts", async () => {
    github.failure = ({ path: route }) => (/\/artifacts/.test(route) ? { kind: "status", status: 403 } : null);
    const { outputs, warnings } = await comment("write", SAY);
    expect(outputs.accepted).toBe("true");
    expect(warnings).toEqual([expect.stringMatching(/Re-run the failed job by hand/)]);
  });

  it("the accept step fails and accepts nothing when GitHub refuses to show roles", async () => {
    github.failure = ({ path: route }) => (/\/permission$/.test(route) ? { kind: "status", status: 500 } : null);
    const { code, outputs } = await comment("write", SAY);
    expect([code, outputs.accepted]).toEqual([1, undefined]);
    expect(reruns.started).toEqual([]);
  });
});
