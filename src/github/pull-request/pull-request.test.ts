import { describe, expect, it } from "vitest";
import { pullRequestOf, readPullRequest } from "./pull-request.ts";

const EVENT = {
  pull_request: {
    number: 12,
    head: { sha: "a".repeat(40), repo: { full_name: "octo/model" } },
    base: { sha: "b".repeat(40), repo: { full_name: "octo/model" } },
  },
};

describe("pullRequestOf", () => {
  it("takes the number and the head commit, not the merge commit", () => {
    expect(pullRequestOf(EVENT)).toEqual({
      number: 12,
      headSha: "a".repeat(40),
      baseSha: "b".repeat(40),
      fromFork: false,
    });
  });

  it("pullRequestOf recognizes a fork, also when it was deleted", () => {
    const fork = (repo: object | null) =>
      pullRequestOf({ pull_request: { ...EVENT.pull_request, head: { sha: "c", repo } } });
    expect(fork({ full_name: "eve/model" })?.fromFork).toBe(true);
    expect(fork(null)?.fromFork).toBe(true);
  });

  it.each([null, 5, {}, { pull_request: null }, { pull_request: { number: "12", head: { sha: "a" } } }])(
    "pullRequestOf is null for %j",
    (payload) => {
      expect(pullRequestOf(payload)).toBeNull();
    },
  );

  it("readPullRequest is null when the event file cannot be read", () => {
    expect(readPullRequest({ GITHUB_EVENT_PATH: "/nonexistent/event.json" })).toBeNull();
    expect(readPullRequest({})).toBeNull();
  });
});
