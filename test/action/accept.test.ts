import { describe, expect, it } from "vitest";
import {
  actions,
  comment,
  commentEvent,
  gateRun,
  github,
  LARGER,
  POLICY,
  PR,
  people,
  RUN,
  reactions,
  replies,
  reruns,
  SAY,
  step,
  TOKEN,
  writes,
} from "./testing/accept-step.ts";
import { openPull } from "./testing/double/pull-lookup.ts";
import { HEAD } from "./testing/sample-section.ts";

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
  ])(
    "a comment does not count because %s, and is answered once with the reason",
    async (_why, author, body, reason) => {
      const { code, outputs, warnings } = await comment(author, body);
      expect([code, outputs.accepted, warnings]).toEqual([0, "false", []]);
      expect(reactions()).toEqual(["confused"]);
      const plain = replies().map((one) => one.replace(/&#(\d+);/g, (_all, n) => String.fromCharCode(Number(n))));
      expect(plain).toEqual([expect.stringMatching(reason)]);
      expect(reruns.started).toEqual([]);
    },
  );

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
  ])("the accept step ends without a request or an answer for %s", async (_what, name, event) => {
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
