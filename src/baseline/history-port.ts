/** What a clone cannot tell about the history of a repository, asked of whoever holds all of it. Every answer may fail by throwing. */
export interface HistoryPort {
  /** Branch the measured commit is meant to go into, where the environment does not name it; null = into none. */
  baseBranch(): Promise<string | null>;
  /** Commit where `head` left a branch; null when they have nothing in common. */
  mergeBase(head: string, branch: string): Promise<string | null>;
  /** Those of the commits that are `tip` itself or behind it. A commit nobody knows any more is not. */
  behind(tip: string, commits: readonly string[]): Promise<ReadonlySet<string>>;
}
