/** A remote that has all of a repository's history, for questions a clone cannot answer. All methods may throw. */
export interface HistoryPort {
  /** Target branch of the measured commit, where the environment does not contain it; null = none. */
  baseBranch(): Promise<string | null>;
  /** Commit where `head` left a branch; null without a common ancestor. */
  mergeBase(head: string, branch: string): Promise<string | null>;
  /** Those of the commits that are `tip` or its ancestors. An unknown commit is not. */
  behind(tip: string, commits: readonly string[]): Promise<ReadonlySet<string>>;
}
