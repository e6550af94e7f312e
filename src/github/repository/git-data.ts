/** A file in the tree of a commit. */
export interface TreeFile {
  readonly path: string;
  /** Blob id. */
  readonly sha: string;
  /** Bytes; null where GitHub did not report it. */
  readonly size: number | null;
}

/** The tip of a ref when a change is made. */
export interface RefSnapshot {
  readonly commit: string;
  readonly files: readonly TreeFile[];
}

/** What a commit changes: contents by path, null = delete the file. */
export type FileChanges = ReadonlyMap<string, Uint8Array | null>;

/** Files on a full ref (`refs/stormlog/baselines`) by the Git Data API: no clone, working tree or visible branch. */
export interface GitData {
  /** Tip of a ref; null when the ref does not exist. */
  snapshot(ref: string): Promise<RefSnapshot | null>;
  blob(sha: string): Promise<Uint8Array>;
  /**
   * Put one commit on a ref as a compare-and-swap, tried again when another writer was faster: `change` sees the newest
   * tip each time and may be called often. Returns the commit, or null when `change` wanted nothing.
   * @throws GateError BASELINE_STORE_BUSY when others were faster at every attempt, and what the client throws
   */
  commit(
    ref: string,
    message: string,
    change: (current: RefSnapshot | null) => Promise<FileChanges | null>,
  ): Promise<string | null>;
  /** Refs whose full name begins with a prefix. */
  refs(prefix: string): Promise<readonly { readonly ref: string; readonly commit: string }[]>;
  /** Absent refs are no error. */
  deleteRef(ref: string): Promise<void>;
}
