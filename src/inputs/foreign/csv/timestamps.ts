import { invalidInput } from "../../../core/errors.ts";

/** Timestamps from this value on (March 1973) are Unix time, below it time since an unnamed start. */
const EPOCH_FROM_S = 1e8;
const ZERO = 0x30;
const MAX_DIGITS = 19;

/**
 * Timestamps as exact nanoseconds since the first, or since their own zero if they are not Unix time. Unix times
 * exceed 2^53, so they are split before they become numbers.
 */
export class TimeStamps {
  /** Unix nanoseconds of time zero; null when the timestamps are relative or none was read. */
  epochNs: bigint | null = null;
  #baseSeconds = 0;
  #baseNanos = 0;
  #started = false;

  /** Timestamps of whole nanoseconds; NaN when the cell is not 1 to 19 digits (then {@link nanoseconds}). */
  digits(bytes: Uint8Array, start: number, end: number): number {
    if (end <= start || end - start > MAX_DIGITS) return Number.NaN;
    const cut = Math.max(start, end - 9);
    let seconds = 0;
    let nanos = 0;
    for (let at = start; at < end; at++) {
      const digit = bytes[at]! - ZERO;
      if (digit < 0 || digit > 9) return Number.NaN;
      if (at < cut) seconds = seconds * 10 + digit;
      else nanos = nanos * 10 + digit;
    }
    return this.split(seconds, nanos);
  }

  /** A timestamp in nanoseconds that is not plain digits (`1.7e18`). @throws GateError TIMESTAMP_INVALID */
  nanoseconds(value: number, line: number, column: string, name: string): number {
    if (!Number.isFinite(value) || value < 0) throw badStamp(String(value), line, column, name);
    const seconds = Math.floor(value / 1e9);
    return this.split(seconds, Math.round(value - seconds * 1e9));
  }

  /** @throws GateError TIMESTAMP_INVALID */
  seconds(value: number, line: number, column: string, name: string): number {
    if (!Number.isFinite(value) || value < 0) throw badStamp(String(value), line, column, name);
    const whole = Math.floor(value);
    return this.split(whole, Math.round((value - whole) * 1e9));
  }

  /** A timestamp split into whole seconds and nanoseconds. */
  split(seconds: number, nanos: number): number {
    if (!this.#started) {
      this.#started = true;
      if (seconds >= EPOCH_FROM_S) {
        this.#baseSeconds = seconds;
        this.#baseNanos = nanos;
        this.epochNs = BigInt(seconds) * BigInt(1e9) + BigInt(nanos);
      }
    }
    return (seconds - this.#baseSeconds) * 1e9 + (nanos - this.#baseNanos);
  }
}

function badStamp(text: string, line: number, column: string, name: string): Error {
  return invalidInput(
    "TIMESTAMP_INVALID",
    `line ${line}, column "${column}": ${JSON.stringify(text.slice(0, 60))} is not a timestamp`,
    name,
    "Write nanoseconds or seconds as a plain number.",
  );
}
