import * as v from "valibot";
import type { DeepReadonly } from "../../core/json.ts";
import type { Command } from "../../core/process/command.ts";

/** Stands for a free port of the machine in all texts of a service, another one in each run. */
export const PORT_PLACE = "{PORT}";

/** The sign that a service takes requests. */
export type Ready =
  | { readonly kind: "url"; readonly url: string }
  /** The port's number, or {@link PORT_PLACE}. */
  | { readonly kind: "port"; readonly port: string }
  /** A text in a line of its output. */
  | { readonly kind: "line"; readonly text: string };

/** What the gate's own generator sends. */
export interface HttpLoad {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Requests under way at a time. */
  readonly concurrency: number;
  /** Requests a second; null = as fast as they are answered. */
  readonly rate: number | null;
}

/** What sends the requests of a cycle. */
export type Load =
  /** Null: as many as are answered in some seconds. */
  | { readonly kind: "http"; readonly http: HttpLoad; readonly requests: number | null }
  /** `pattern`: finds the number of requests in its output; null = the reports of known load generators. */
  | { readonly kind: "command"; readonly command: Command; readonly pattern: string | null };

/** Cycles of load at most where their number is not given. */
export const MAX_CYCLES = 24;

/** A service, and the cycles of load and rest that it is measured in. The service itself is the run's command. */
export interface ServicePlan {
  readonly ready: Ready;
  readonly load: Load;
  /** Seconds without load after each cycle. */
  readonly restS: number;
  /** Null: as many as the decision needs. */
  readonly cycles: number | null;
  /** Run after the load of each cycle, before the rest. */
  readonly reset: Command | null;
  readonly stop: "SIGTERM" | "SIGINT";
}

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const span = v.tuple([v.number(), v.number()]);

/** A service's run. Texts come from the service and its load: escape them in print. */
export const ServiceSchema = v.object({
  port: v.nullable(count),
  /** Rests after the warm-up and after each cycle, nanoseconds of the recording. */
  rests: v.array(
    v.object({
      at_ns: span,
      /** All requests before it; null where the load does not report them. */
      requests: v.nullable(count),
      /** Length of the load before it, seconds; absent in those of earlier commits. */
      load_s: v.exactOptional(v.number()),
    }),
  ),
  /** What the collector of its language may hold, by its command or environment, bytes; absent = not known. */
  limits: v.exactOptional(v.array(v.object({ of: v.picklist(["-Xmx", "GOMEMLIMIT"]), bytes: v.number() }))),
  requests: v.nullable(count),
  /** Null where the load does not report them. */
  failed: v.nullable(count),
  /** The first answers that count as failures, or the end of the report of a command. */
  failures: v.array(v.string()),
  /** Why the load was not run to its end; absent when it was. */
  problem: v.optional(v.object({ code: v.string(), message: v.string(), hint: v.nullable(v.string()) })),
});
export type RecordedService = DeepReadonly<v.InferOutput<typeof ServiceSchema>>;
