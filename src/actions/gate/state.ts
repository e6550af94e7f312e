import { getState, saveState } from "@actions/core";

/** What `main` leaves for `post`, which runs after success, failure and cancellation alike. */
export interface PostState {
  /** Absolute directory of the bundle. */
  readonly bundleDir: string;
  readonly artifactName: string;
  readonly retentionDays: number | null;
}

const STATE = "stormlog-post";
const UPLOADED = "stormlog-uploaded";

/** Called before anything is measured, so that the state is there even when `main` is killed. */
export function rememberForPost(state: PostState): void {
  saveState(STATE, JSON.stringify(state));
}

export function rememberUploaded(): void {
  saveState(UPLOADED, "true");
}

/** What is left to upload, or null: `main` never got that far, or has uploaded already. */
export function recallForPost(): PostState | null {
  const text = getState(STATE);
  if (text === "" || getState(UPLOADED) === "true") return null;
  return JSON.parse(text) as PostState;
}
