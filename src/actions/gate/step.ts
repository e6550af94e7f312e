import type { Environment } from "../../core/environment.ts";
import type { ArtifactStore } from "../../github/artifacts/artifact.ts";
import type { GateReport } from "../../report/documents/model.ts";
import type { Engine } from "./engine.ts";
import type { StateStore } from "./state.ts";

/** How a message is shown; a file and line put it beside the code. */
export interface AnnotationProperties {
  readonly title?: string;
  readonly file?: string;
  readonly startLine?: number;
}

/** The runner's commands and files, as `@actions/core` offers them. */
export interface RunnerCommands extends StateStore {
  info(message: string): void;
  warning(message: string, properties?: AnnotationProperties): void;
  error(message: string, properties?: AnnotationProperties): void;
  setOutput(name: string, value: string): void;
  setSecret(secret: string): void;
  startGroup(name: string): void;
  endGroup(): void;
}

export interface MarkdownOptions {
  readonly timelineImageUrl: string | null;
  readonly bundleUrl: string | null;
  readonly htmlUrl: string | null;
  readonly mermaid: boolean;
  readonly gate: string | null;
  readonly maxChars: number;
}

/** What one step of a job works with; the entry gives the real ones. */
export interface Step {
  readonly runner: RunnerCommands;
  readonly env: Environment;
  readonly engine: Engine;
  readonly artifacts: ArtifactStore;
  readonly markdown: (report: GateReport, options: MarkdownOptions) => Promise<string>;
  /** Raw standard output, for what must not be taken for a command of ours. */
  readonly write: (chunk: Uint8Array | string) => void;
  /** Fires when the step is cancelled or takes too long; its reason is a GateError. */
  readonly interrupt: AbortSignal;
}
