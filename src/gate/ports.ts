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
}
