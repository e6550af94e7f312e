import type { HistoryPort } from "../baseline/history-port.ts";
import type { BaselineStore } from "../baseline/store.ts";
import type { LiveAcceptances } from "./acceptance.ts";
import type { FileAt } from "./base-config.ts";

/** What the gate's story needs from whoever runs it; the command line and the Action each give their own. */
export interface GatePorts {
  /** One line of narration (already free of outside text's control characters). */
  readonly log: (line: string) => void;
  /** The measured command's own output, as it comes; null = not shown. */
  readonly stdout: ((chunk: Uint8Array) => void) | null;
  readonly stderr: ((chunk: Uint8Array) => void) | null;
  /** A short status that may overwrite itself; null where nobody watches. */
  readonly progress: ((text: string | null) => void) | null;
  /** Aborted when the user or the runner wants an end; its reason is the signal's name. */
  readonly interrupt: AbortSignal;
  readonly now: () => Date;
  /** Opens `ref:` baselines elsewhere than in the local clone (over GitHub's API); absent = the local clone. */
  readonly openRef?: (name: string, ref: string) => BaselineStore;
  /** Opens `artifact:` baselines; absent = they cannot be read. */
  readonly openArtifact?: (name: string, artifact: string) => BaselineStore;
  /** Asked for the history that a shallow clone lacks; absent = nobody can. */
  readonly history?: HistoryPort;
  /** Reads a file of a commit that the clone does not have; absent = nobody can. */
  readonly fileAt?: FileAt;
  /** Asked once a verdict is red: what people accepted of this pull request, read live. Absent = nobody can. */
  readonly acceptances?: () => Promise<LiveAcceptances>;
}
