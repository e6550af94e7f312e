import { readEvent } from "../../core/files.ts";
import type { Environment } from "../../core/process/environment.ts";

/** What matters of the triggering event, which the runner wrote from GitHub's data: no code of a change touched it. */
export interface ReportEvent {
  /** The finished run that a `workflow_run` event is about. */
  readonly workflowRunId: number | null;
  /** True for the event of a pull request that was closed. */
  readonly closed: boolean;
}

function property(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined;
}

/** Read the event named by `GITHUB_EVENT_PATH`; a missing or broken file contains nothing. */
export function readReportEvent(env: Environment): ReportEvent {
  let payload: unknown;
  try {
    payload = readEvent(env.GITHUB_EVENT_PATH ?? "");
  } catch {
    return { workflowRunId: null, closed: false };
  }
  const id = property(property(payload, "workflow_run"), "id");
  const about = env.GITHUB_EVENT_NAME ?? "";
  return {
    workflowRunId: about === "workflow_run" && Number.isSafeInteger(id) && Number(id) > 0 ? Number(id) : null,
    closed: /^pull_request(_target)?$/.test(about) && property(payload, "action") === "closed",
  };
}
