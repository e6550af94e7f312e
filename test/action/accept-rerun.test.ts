import { describe, expect, it } from "vitest";
import { actions, comment, gateRun, github, RUN, reportOf, reruns, SAY, TOKEN } from "./testing/accept-step.ts";
import { HEAD, SECTION, sectionBytes } from "./testing/sample-section.ts";

describe("a comment that accepts", () => {
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

  it("waits for a run of which a job has failed already, and runs that again", async () => {
    actions.runs.clear();
    actions.artifacts.length = 0;
    gateRun(TOKEN, { conclusion: null, jobs: ["failure", "success"] });
    let asked = 0;
    github.failure = ({ method, path: at }) => {
      if (method === "GET" && at.endsWith(`/actions/runs/${RUN}`) && ++asked === 3) {
        const run = actions.runs.get(RUN)!;
        actions.runs.set(RUN, { ...run, conclusion: "failure" });
      }
      return null;
    };
    const { outputs, warnings } = await comment("write", SAY);
    expect([outputs.accepted, outputs["run-id"], warnings]).toEqual(["true", String(RUN), []]);
    expect(reruns.started).toEqual([RUN]);
  });

  it("warns when such a run does not end in time", async () => {
    actions.runs.clear();
    actions.artifacts.length = 0;
    gateRun(TOKEN, { conclusion: null, jobs: ["failure"] });
    const { outputs, warnings } = await comment("write", SAY, {}, { pollMs: 5, maxMs: 500 });
    expect([outputs.accepted, outputs["run-id"]]).toEqual(["true", ""]);
    expect(warnings).toEqual([expect.stringMatching(/still under way.*re-run its failed jobs/)]);
  });

  it("reruns the run of this gate, and not one of a gate whose name begins with it", async () => {
    actions.runs.clear();
    actions.artifacts.length = 0;
    const head = { event: "pull_request", headSha: HEAD, headBranch: "topic", headRepo: "octo/model" };
    const leave = (id: number, conclusion: string, gateId: string, leg: string | null) => {
      actions.addRun({ id, ...head, conclusion });
      const name = `stormlog-section-${gateId}${leg === null ? "" : `-${leg}`}.json`;
      actions.addArtifact(id, name, sectionBytes({ gateId, leg, report: reportOf(TOKEN) }));
    };
    leave(700, "failure", "train", "gpu");
    leave(701, "success", "train-gpu", null);
    const { outputs } = await comment("write", `/stormlog accept ${TOKEN} wanted`, { "gate-id": "train" });
    expect([outputs.accepted, outputs["run-id"]]).toEqual(["true", "700"]);
    expect(reruns.started).toEqual([700]);
  });
});
