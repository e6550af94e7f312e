/** What `main` leaves for `post`, which runs after success, failure and cancellation alike. */
export interface PostState {
  /** Absolute directory of the bundle. */
  readonly bundleDir: string;
  readonly artifactName: string;
  readonly retentionDays: number | null;
}

const STATE = "stormlog-post";
const UPLOADED = "stormlog-uploaded";

/** The part of `@actions/core` this needs. */
export interface StateStore {
  saveState(name: string, value: string): void;
  getState(name: string): string;
}

/** Said before anything is measured, so that it is there even when `main` is killed. */
export function rememberForPost(store: StateStore, state: PostState): void {
  store.saveState(STATE, JSON.stringify(state));
}

export function rememberUploaded(store: StateStore): void {
  store.saveState(UPLOADED, "true");
}

/** What is left to do, or null: `main` never got that far, or has uploaded already. */
export function recallForPost(store: StateStore): PostState | null {
  const text = store.getState(STATE);
  if (text === "" || store.getState(UPLOADED) === "true") return null;
  return JSON.parse(text) as PostState;
}
