import { GateError } from "../../core/errors.ts";
import { snapshotDocument } from "../live/document.ts";
import { snapshotName } from "../model/file-names.ts";
import { sourceOf } from "../pickle/window.ts";
import { readSnapshot } from "../read.ts";

export type Attempt =
  | { readonly kind: "read" }
  | { readonly kind: "refused"; readonly code: string }
  | { readonly kind: "fault"; readonly error: string };

/** Reads bytes as a snapshot, with `document` also makes its tables, and returns the outcome. */
export function attempt(bytes: Uint8Array, document: boolean): Attempt {
  try {
    const snapshot = readSnapshot(sourceOf(bytes), "mutated");
    if (document) {
      const file = { file: "mutated", name: snapshotName("mutated"), snapshot };
      snapshotDocument([file, file], { root: null });
    }
    return { kind: "read" };
  } catch (error) {
    if (error instanceof GateError && error.kind === "invalid-input") return { kind: "refused", code: error.code };
    return { kind: "fault", error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
