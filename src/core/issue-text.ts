import * as v from "valibot";

/** Where a document differs from its schema, and how: "runs.0.peak_bytes: Invalid type: Expected number". */
export function issueText(issue: v.BaseIssue<unknown>): string {
  return `${v.getDotPath(issue) ?? "document"}: ${issue.message}`;
}
