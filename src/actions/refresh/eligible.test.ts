import { describe, expect, it } from "vitest";
import { type GitLocation, refusal } from "./eligible.ts";

const HERE: GitLocation = {
  eventName: "schedule",
  ref: "refs/heads/main",
  defaultBranch: "main",
  fork: false,
  isProtected: true,
};

describe("where baselines are made", () => {
  it.each(["schedule", "push", "workflow_dispatch"])(
    "baselines can be made by a %s on the protected default branch",
    (eventName) => {
      expect(refusal({ ...HERE, eventName }, true)).toBeNull();
    },
  );

  it.each<[Partial<GitLocation>, string]>([
    [{ eventName: "pull_request" }, 'the event is "pull_request"'],
    [{ eventName: "pull_request_target" }, 'the event is "pull_request_target"'],
    [{ eventName: "workflow_run" }, 'the event is "workflow_run"'],
    [{ eventName: "issue_comment" }, 'the event is "issue_comment"'],
    [{ eventName: "" }, "the event is not known"],
    [{ ref: "refs/heads/topic" }, 'the ref is "refs/heads/topic", the default branch "main"'],
    [{ ref: "refs/tags/main" }, 'the ref is "refs/tags/main"'],
    [{ ref: "main" }, 'the ref is "main"'],
    [{ ref: null }, 'the ref is "not known"'],
    [{ defaultBranch: null }, "the default branch is not known"],
    [{ fork: true }, "this repository is a fork"],
    [{ fork: null }, "it is not known whether this is a fork"],
    [{ isProtected: false }, '"main" is not protected'],
    [{ isProtected: null }, 'it is not known whether "main" is protected'],
  ])("baselines cannot be made on %j, and the error gives the reason", (over, why) => {
    const error = refusal({ ...HERE, ...over }, true);
    expect(error).toMatchObject({ code: "REFRESH_REFUSED", exitCode: 2 });
    expect(error?.message).toContain(why);
    expect(error?.hint).toBeTruthy();
  });

  it("baselines can be made on an unprotected branch only where the workflow allows it", () => {
    expect(refusal({ ...HERE, isProtected: false }, false)).toBeNull();
    expect(refusal({ ...HERE, isProtected: false, fork: true }, false)).not.toBeNull();
  });
});
