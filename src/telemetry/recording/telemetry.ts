import type { Recording } from "./model.ts";

/** One run of a bundle; `name` is its directory below `runs`: `<scenario>/<n>`. */
export interface NamedRecording {
  readonly name: string;
  readonly recording: Recording;
}

/**
 * What an input turned out to be. `notes` says in words how it was read where that is not obvious (cut file, unordered time
 * stamps); measurement and baseline documents are parsed by those who own their schema.
 */
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
