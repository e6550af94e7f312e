import type { GateMode } from "../../nightly/state.ts";
import type { Verdict } from "../../report/model/gate-report.ts";
import type { SubAction } from "../sub-action.ts";
import { failOn } from "./read-mode.ts";

/** What a step reports of its session. */
export interface SessionOutputs {
  readonly verdict: Verdict;
  readonly code: number;
  /** Null in the job that only measures. */
  readonly stored: {
    readonly approved: boolean;
    readonly mode: GateMode;
    readonly issueUrl: string | null;
    readonly anchorUrl: string | null;
  } | null;
  readonly bundlePath: string;
  readonly artifactUrl: string | null;
}

/** Set every output of the step; one without a value is empty. */
export function setSessionOutputs({ setOutput }: SubAction, session: SessionOutputs): void {
  const { stored } = session;
  setOutput("verdict", session.verdict);
  setOutput("exit-code", String(session.code));
  setOutput("approved", stored === null ? "" : String(stored.approved));
  setOutput("mode", stored?.mode ?? "");
  setOutput("fail-on", stored === null ? "" : failOn(stored.mode));
  setOutput("issue-url", stored?.issueUrl ?? "");
  setOutput("anchor-url", stored?.anchorUrl ?? "");
  setOutput("bundle-path", session.bundlePath);
  setOutput("artifact-url", session.artifactUrl ?? "");
}
