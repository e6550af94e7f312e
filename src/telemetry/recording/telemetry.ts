import type { Recording } from "./model.ts";

/** One run of a bundle; `name` is its directory below `runs`: `<scenario>/<n>`. */
export interface NamedRecording {
  readonly name: string;
  readonly recording: Recording;
}

/** A read input. `notes` are sentences on how it was read where not obvious (truncated file, unordered timestamps). */
export type Telemetry =
  | {
      readonly kind: "recording";
      readonly recording: Recording;
      readonly format: string;
      readonly notes: readonly string[];
    }
  | { readonly kind: "runs"; readonly runs: readonly NamedRecording[]; readonly notes: readonly string[] }
  | { readonly kind: "measurements"; readonly document: unknown }
  | { readonly kind: "baseline"; readonly document: unknown };
