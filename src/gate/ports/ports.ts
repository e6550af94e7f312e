import type { BaselineStore } from "../../baseline/store.ts";
import type { HistoryPort } from "../../git/repository-view.ts";
import type { GateReport, ScenarioReport } from "../../report/model/gate-report.ts";
import type { AcceptCommand } from "../../report/wording/next-steps.ts";
import type { Isolation } from "../../telemetry/recording/isolation.ts";
import type { FileAt } from "../base/base-config.ts";
import type { LiveAcceptances } from "./acceptance.ts";

/** A baseline record of a commit; null = it cannot be read. */
export interface RecordText {
  /** Path in the store. */
  readonly name: string;
  readonly text: string | null;
}

/** What the gate needs from its caller; the command line and the Action each provide their own. */
export interface GatePorts {
  /** Prints one line of progress, without control characters of outside text. */
  readonly log: (line: string) => void;
  /** The measured command's own output, as it comes; null = not shown. */
  readonly stdout: ((chunk: Uint8Array) => void) | null;
  readonly stderr: ((chunk: Uint8Array) => void) | null;
  /** Shows a short status that replaces the last one; null without a terminal. */
  readonly progress: ((text: string | null) => void) | null;
  /** Aborted when the user or the runner wants an end; its reason is the signal's name. */
  readonly interrupt: AbortSignal;
  /** For stored timestamps. Durations and limits use the monotonic clock, which does not step. */
  readonly now: () => Date;
  /** Opens `ref:` baselines elsewhere than in the local clone (over GitHub's API); absent = the local clone. */
  readonly openRef?: (name: string, ref: string) => BaselineStore;
  /** Opens `artifact:` baselines; absent = they cannot be read. */
  readonly openArtifact?: (name: string, artifact: string) => BaselineStore;
  /** Asked for the history that a shallow clone lacks; absent = not available. */
  readonly history?: HistoryPort;
  /** Reads a file of a commit that the clone does not have; absent = not available. */
  readonly fileAt?: FileAt;
  /** Reads the records below a directory of a commit that the clone does not have; absent = not available. */
  readonly recordsAt?: (commit: string, directory: string) => Promise<readonly RecordText[]>;
  /** Reads the acceptances of this pull request, once a scenario fails; absent = not available. */
  readonly acceptances?: () => Promise<LiveAcceptances>;
  /** The command that accepts a scenario of the report, for its page; absent = the command for the default bundle. */
  readonly acceptCommand?: (scenarios: readonly ScenarioReport[]) => Promise<AcceptCommand>;
  /** Takes the report once the verdict is known: drawing and writing the evidence takes longer than judging. */
  readonly decided?: (report: GateReport) => Promise<void>;
  /** Loads what is needed after a run, while a command runs that takes longer. */
  readonly load?: () => Promise<unknown>;
  /** What a command so isolated may read of its caller; first in the report. */
  readonly exposure?: (isolation: Isolation) => string | null;
}
