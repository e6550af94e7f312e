import { type GateError, invalidInput } from "../../../core/errors.ts";
import { isObject } from "../../../core/json.ts";
import type { Counters } from "../../../telemetry/formats/stormlog/serialize.ts";
import { MAX_RANK } from "../../../telemetry/recording/model.ts";
import type { SourceRecord } from "./json-values.ts";

export const IDENTITY_FIELDS = ["job_id", "rank", "local_rank", "world_size"] as const;

/** Counters that version 2 allows to be null. */
export const NULLABLE_IN_V2: ReadonlySet<string> = new Set([
  "allocator_active_bytes",
  "allocator_inactive_bytes",
  "device_free_bytes",
  "device_total_bytes",
]);

/** @throws RecordProblem for a negative count of bytes, which only a change may be */
export function checkSigns(counters: Partial<Counters>): void {
  for (const [field, value] of Object.entries(counters)) {
    if (value === null || value >= 0 || field === "allocator_change_bytes") continue;
    const suffix = NULLABLE_IN_V2.has(field) ? " when provided" : "";
    throw new RecordProblem(`${field} must be >= 0${suffix}`, "NEGATIVE_BYTES");
  }
}

/** @throws RecordProblem for more used or free memory than there is */
export function checkTotal(counters: Counters): void {
  const total = counters.device_total_bytes;
  for (const field of ["device_used_bytes", "device_free_bytes"] as const) {
    const value = counters[field];
    if (total === null || value === null || value <= total) continue;
    throw new RecordProblem(`${field} cannot exceed device_total_bytes`);
  }
}

/** Typed access to one record with Stormlog's own messages. A missing key reads as undefined. */
export class Fields {
  readonly values: Readonly<Record<string, unknown>>;
  readonly #fractions: ReadonlySet<string>;

  constructor(record: SourceRecord) {
    this.values = record.values;
    this.#fractions = record.fractions;
  }

  has(field: string): boolean {
    return Object.hasOwn(this.values, field);
  }

  isInteger(field: string): boolean {
    const value = this.values[field];
    return (
      (typeof value === "number" && Number.isInteger(value) && !this.#fractions.has(field)) || typeof value === "bigint"
    );
  }

  /** `<field> must be an integer` for null, text, booleans and anything written as a fraction. */
  integer(field: string): number {
    return Number(this.exactInteger(field));
  }

  exactInteger(field: string): bigint | number {
    const value = this.values[field];
    if (!this.isInteger(field)) throw new RecordProblem(`${field} must be an integer`);
    return typeof value === "bigint" ? value : Number(value);
  }

  optionalInteger(field: string): number | null {
    return this.values[field] === null || this.values[field] === undefined ? null : this.integer(field);
  }

  /** A number of any notation; null for other values. */
  number(field: string): number | null {
    const value = this.values[field];
    return typeof value === "number" && Number.isFinite(value)
      ? value
      : typeof value === "bigint"
        ? Number(value)
        : null;
  }

  /** `<field> must be a non-empty string` / `<field> must be a string`. */
  requiredText(field: string): string {
    const value = this.values[field];
    if (value === null || value === undefined) throw new RecordProblem(`${field} must be a non-empty string`);
    if (typeof value !== "string") throw new RecordProblem(`${field} must be a string`);
    if (value.trim() === "") throw new RecordProblem(`${field} must be a non-empty string`);
    return value;
  }

  optionalText(field: string): string | null {
    const value = this.values[field];
    if (value === null || value === undefined) return null;
    if (typeof value !== "string") throw new RecordProblem(`${field} must be a string`);
    return value;
  }

  metadata(): Record<string, unknown> {
    const value = this.values.metadata;
    if (!isObject(value)) throw new RecordProblem("metadata must be an object");
    return value;
  }
}

/** Identity of an event. */
export interface Identity {
  readonly jobId: string | null;
  readonly rank: number;
  readonly localRank: number;
  readonly worldSize: number;
}

/** An event's own fields, then its metadata (legacy), then rank 0 of 1. A missing local rank is the rank. */
export function identityOf(fields: Fields, metadata: Readonly<Record<string, unknown>> = {}): Identity {
  const chosen = (field: string): Fields => {
    const own = fields.values[field];
    return own === null || own === undefined ? new Fields({ values: metadata, fractions: new Set() }) : fields;
  };
  const present = (field: string) => chosen(field).optionalInteger(field);
  const jobFields = chosen("job_id");
  const rawJob = jobFields.values.job_id;
  const jobId = rawJob === null || rawJob === undefined ? null : jobFields.requiredText("job_id");
  const rank = notNegative(present("rank") ?? 0, "rank");
  const localRank = notNegative(present("local_rank") ?? rank, "local_rank");
  const worldSize = present("world_size") ?? 1;
  if (worldSize < 1) throw new RecordProblem("world_size must be >= 1");
  if (rank > MAX_RANK) throw new RecordProblem(`rank must be <= ${MAX_RANK}`);
  if (rank >= worldSize) throw new RecordProblem("rank must be < world_size");
  if (localRank >= worldSize) throw new RecordProblem("local_rank must be < world_size");
  return { jobId, rank, localRank, worldSize };
}

function notNegative(value: number, field: string): number {
  if (value < 0) throw new RecordProblem(`${field} must be >= 0`);
  return value;
}

/** Reason for the rejection of a telemetry record, in the words of Stormlog's own loader. */
export class RecordProblem extends Error {
  readonly code: "INPUT_SCHEMA_VERSION" | "NEGATIVE_BYTES" | "TELEMETRY_INVALID";

  constructor(message: string, code: RecordProblem["code"] = "TELEMETRY_INVALID") {
    super(message);
    this.code = code;
  }
}

/** The problem as an invalid-input error that names file and record. */
export function atRecord(problem: RecordProblem, name: string, record: string): GateError {
  return invalidInput(
    problem.code,
    problem.message,
    `${name}: ${record}`,
    {
      INPUT_SCHEMA_VERSION: "Supported: telemetry versions 2, 3 and 4, and records without a version.",
      NEGATIVE_BYTES: "A byte counter is 0 or more, or null where the schema allows it.",
      TELEMETRY_INVALID: "Export the events again, or correct the record.",
    }[problem.code],
  );
}
