import { describe, expect, it } from "vitest";
import { DeadlineError } from "../api/deadline.ts";
import { degradedWarning } from "../api/degrade.ts";
import { explainUpload } from "./artifact.ts";

const ATTEMPT = { what: "upload", permission: null, instead: "It is there." };
const explained = (message: string): string => degradedWarning(ATTEMPT, explainUpload(new Error(message)));

describe("explainUpload", () => {
  it.each([
    ["upload-artifact@v4+ are not currently supported on GHES.", /Enterprise Server.*bundle-path/],
    ["Artifact storage quota has been hit. Unable to upload", /storage .* full/],
    ["Received non-retryable error: Failed request: (409) Conflict: exists", /artifact-name/],
    ["<Error><Code>AuthenticationFailed</Code></Error>", /refused it: AuthenticationFailed/],
    ["Failed request: (401) Unauthorized", /^Could not upload: Failed request: \(401\) Unauthorized\. It is there\.$/],
  ])("explains %j", (message, words) => {
    expect(explained(message)).toMatch(words);
  });

  it("returns deadlines and unknown errors unchanged", () => {
    const late = new DeadlineError("no answer within 60 s");
    const unknown = new Error("something new");
    expect([explainUpload(late), explainUpload(unknown), explainUpload("text")]).toEqual([late, unknown, "text"]);
  });
});
