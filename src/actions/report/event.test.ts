import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readReportEvent } from "./report.ts";

const directory = mkdtempSync(path.join(tmpdir(), "stormlog-event-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function event(name: string, payload: string) {
  const file = path.join(directory, "event.json");
  writeFileSync(file, payload);
  return readReportEvent({ GITHUB_EVENT_NAME: name, GITHUB_EVENT_PATH: file });
}

describe("the event of a report", () => {
  it("names the finished run only when it is about one", () => {
    expect(event("workflow_run", '{"workflow_run": {"id": 42}}').workflowRunId).toBe(42);
    expect(event("issue_comment", '{"workflow_run": {"id": 42}}').workflowRunId).toBeNull();
  });

  it.each([
    '{"workflow_run": {"id": "42"}}',
    '{"workflow_run": {"id": 4.2}}',
    '{"workflow_run": {"id": -1}}',
    "{}",
    "[]",
    "{",
  ])("names no run in %s", (payload) => expect(event("workflow_run", payload).workflowRunId).toBeNull());

  it("distinguishes a closed pull request from a closed issue", () => {
    expect(event("pull_request", '{"action": "closed"}').closed).toBe(true);
    expect(event("pull_request_target", '{"action": "closed"}').closed).toBe(true);
    expect(event("pull_request", '{"action": "synchronize"}').closed).toBe(false);
    expect(event("issues", '{"action": "closed"}').closed).toBe(false);
  });

  it("the event of a report may be missing", () => {
    expect(readReportEvent({})).toEqual({ workflowRunId: null, closed: false });
  });
});
