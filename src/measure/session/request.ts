import type { Command } from "../../core/process/command.ts";
import type { Environment } from "../../core/process/environment.ts";
import type { LiveView } from "../../sampler/sampler.ts";
import type { ServicePlan } from "../../telemetry/recording/service.ts";
import type { RaisedWall } from "../launch/wall.ts";

/** A service to measure, and when enough was measured. */
export interface ServiceRequest {
  readonly plan: ServicePlan;
  /** @param levels what was held at each rest, bytes */
  readonly isDecided: (levels: readonly number[]) => boolean;
}

/** One run to measure. */
export interface MeasureRequest {
  readonly scenario: string;
  /** 1-based number of this run within its bundle. */
  readonly run: number;
  readonly session: string;
  readonly commit: string | null;
  readonly command: Command;
  /** Absolute working directory of the command. */
  readonly cwd: string;
  /** The caller's environment; variables of the step are dropped before the command gets it. */
  readonly env: Environment;
  /** What the scenario sets on top. */
  readonly extraEnv: Readonly<Record<string, string>>;
  /** Run directory to create, absolute. */
  readonly directory: string;
  /** Absolute directory for a copy of the evidence in segments, to be made; absent = none. */
  readonly stream?: string | undefined;
  /** Programs of the command that are not measured. Default none. */
  readonly ignore?: readonly string[] | undefined;
  /** What keeps the command from the gate; absent = nothing does. */
  readonly wall?: RaisedWall | undefined;
  /** Seconds after which the command is ended; null = never. */
  readonly timeoutS: number | null;
  readonly hostPeriodNs: number;
  readonly devicePeriodNs: number;
  /** Fraction of one core for the sampler; null = no governor. */
  readonly cpuBudget: number | null;
  /** The command's output as it comes; null = not shown. A callback that throws is not called again. */
  readonly stdout: ((chunk: Uint8Array) => void) | null;
  readonly stderr: ((chunk: Uint8Array) => void) | null;
  /** Ends the run when aborted; its reason is the name of a signal, or an error that names one. */
  readonly interrupt: AbortSignal;
  /** Called at most ten times a second. */
  readonly onProgress?: (view: LiveView) => void;
  /** Whether processes of the command load the probe. The caller checks that one did. */
  readonly probe: "auto" | "off" | "require";
  /** Present where the command is a service, which is put under load and then stopped. */
  readonly service?: ServiceRequest | undefined;
  /** Java virtual machines are made to collect their heaps all the time, so peaks are lower. Default false. */
  readonly collect?: boolean;
  /** The probe may write to the command's stderr. */
  readonly debug?: boolean;
  /** Canonical text of the scenario's definition; null for a command given on the spot. */
  readonly scenarioDefinition: string | null;
}

/** The argument vector that is started. */
export function argvOf(command: Command): readonly string[] {
  return command.kind === "argv" ? command.argv : ["sh", "-c", command.script];
}

/** Name of the signal behind an abort: "SIGINT", "SIGTERM", …; "SIGTERM" when the reason names none. */
export function interruptName(signal: AbortSignal): string {
  const reason: unknown = signal.reason;
  const text = typeof reason === "string" ? reason : reason instanceof Error ? reason.message : "";
  return /\bSIG[A-Z0-9]+\b/.exec(text)?.[0] ?? "SIGTERM";
}
