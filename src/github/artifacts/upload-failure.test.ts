import { describe, expect, it } from "vitest";
import { DeadlineError } from "../api/deadline.ts";
import { degradedWarning } from "../api/degrade.ts";
import { explainUpload } from "./artifact.ts";

const ATTEMPT = { what: "upload", permission: null, instead: "It is there." };
const explained = (message: string): string => degradedWarning(ATTEMPT, explainUpload(new Error(message)));

describe("explainUpload", () => {
  it.each([
    ["Unable to get the ACTIONS_RESULTS_URL env variable", /no artifact service \(ACTIONS_RESULTS_URL is not set\)/],
    ["upload-artifact@v4+ are not currently supported on GHES.", /Enterprise Server.*bundle-path/],
    ["Artifact storage quota has been hit. Unable to upload", /storage .* full/],
    ["Received non-retryable error: Failed request: (409) Conflict: exists", /artifact-name/],
    ["Failed request: (401) Unauthorized", /token \(401\)/],
    ["Failed to make request after 5 attempts: Failed request: (503) Unavailable", /\(503\), five times/],
    ["Unexpected token '<', \"<html>\" is not valid JSON", /not JSON/],
    ["Unable to make request: ECONNRESET\nIf you are using self-hosted runners", /reached \(ECONNRESET\)/],
    ["<Error><Code>AuthenticationFailed</Code></Error>", /refused the upload \(AuthenticationFailed\)/],
    [
      "Failed to FinalizeArtifact: Failed request: (400) Bad Request: digest mismatch",
      /other bytes than were sent \(.*digest mismatch\)/,
    ],
    ["FinalizeArtifact: response from backend was not ok", /refused it without a reason/],
    [
      "Received non-retryable error: Failed request: (403) Forbidden: not allowed",
      /refused it: \(403\) Forbidden: not allowed/,
    ],
  ])("explains %j", (message, words) => {
    expect(explained(message)).toMatch(words);
  });

  it("returns deadlines and unknown errors unchanged", () => {
    const late = new DeadlineError("no answer within 60 s");
    const unknown = new Error("something new");
    expect([explainUpload(late), explainUpload(unknown), explainUpload("text")]).toEqual([late, unknown, "text"]);
  });
});
