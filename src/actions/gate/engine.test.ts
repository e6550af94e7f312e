import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { getOctokit } from "@actions/github";
import { afterAll, describe, expect, it } from "vitest";
import { acceptancesPort, measuredPullRequest } from "./engine.ts";

const SHA = "a".repeat(40);
const directory = mkdtempSync(path.join(tmpdir(), "stormlog-port-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const of = (eventName: string, ref: string | null) => measuredPullRequest({}, { eventName, ref, sha: SHA });

describe("the pull request that a run measures", () => {
  it("reads the pull request from the event", () => {
    const file = path.join(directory, "event.json");
    writeFileSync(file, JSON.stringify({ pull_request: { number: 7, head: { sha: "b".repeat(40) } } }));
    const env = { GITHUB_EVENT_PATH: file };
    const found = measuredPullRequest(env, { eventName: "pull_request", ref: "refs/pull/7/merge", sha: SHA });
    expect(found).toEqual({ number: 7, headSha: "b".repeat(40) });
  });

  it("reads the pull request and the commit from a branch that copy-pr-bot pushed", () => {
    expect(of("push", "refs/heads/pull-request/12")).toEqual({ number: 12, headSha: SHA });
  });

  it("reads the pull request from the merge queue's branch, without a head commit", () => {
    expect(of("merge_group", `refs/heads/gh-readonly-queue/main/pr-12-${SHA}`)).toEqual({ number: 12, headSha: null });
    expect(of("merge_group", `refs/heads/gh-readonly-queue/release/1.2/pr-3-${SHA}`)).toMatchObject({ number: 3 });
  });

  it.each([
    ["push", "refs/heads/main"],
    ["push", "refs/heads/pull-request/0"],
    ["push", "refs/heads/pull-request/12/extra"],
    ["push", "refs/tags/pull-request/12"],
    ["push", `refs/heads/gh-readonly-queue/main/pr-12-${SHA}`],
    ["merge_group", "refs/heads/pull-request/12"],
    ["schedule", "refs/heads/pull-request/12"],
    ["push", null],
  ])("finds no pull request for %s on %s", (event, ref) => {
    expect(of(event, ref)).toBeNull();
  });
});

describe("asking what people accepted", () => {
  it("ends with one warning and without acceptances when GitHub cannot be reached", async () => {
    const ask = acceptancesPort(
      getOctokit("job", { request: { fetch: () => Promise.reject(new Error("no route")) } }),
      { owner: "octo", repo: "model" },
      { number: 7, headSha: SHA },
      new AbortController().signal,
    );
    expect(await ask()).toEqual({
      accepted: [],
      refused: [],
      warnings: [expect.stringContaining("no route")],
      headSha: SHA,
    });
  });

  it("does not outlive a cancelled step", async () => {
    const cancelled = new AbortController();
    const hanging = getOctokit("job", { request: { fetch: () => new Promise<never>(() => {}) } });
    const ask = acceptancesPort(hanging, { owner: "o", repo: "r" }, { number: 7, headSha: SHA }, cancelled.signal);
    cancelled.abort("SIGINT");
    expect((await ask()).warnings).toHaveLength(1);
  });
});
