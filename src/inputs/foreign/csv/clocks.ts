/** Clocks of loggers, best first, with the unit of their numbers in seconds; null where the name has none. */
export const CLOCKS: ReadonlyMap<string, number | null> = new Map([
  ["timestamp", null],
  ["elapsed_sec", 1],
  ["elapsed_s", 1],
  ["elapsed_seconds", 1],
  ["elapsed", null],
  ["time_s", 1],
  ["time_sec", 1],
  ["seconds", 1],
  ["time", null],
  ["elapsed_ms", 1e-3],
  ["time_ms", 1e-3],
]);

/** Note on calendar times without a time zone, as nvidia-smi prints them. */
export const NO_ZONE = "timestamps have no time zone and are read as UTC";

const CALENDAR = /^(\d{4})[/-](\d\d)[/-](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:(Z)|([+-])(\d\d):?(\d\d))?$/;

/** A calendar time as seconds and nanoseconds of Unix time. */
interface CalendarTime {
  readonly seconds: number;
  readonly nanos: number;
  /** False without a time zone: such a time is read as UTC, since only differences matter. */
  readonly zoned: boolean;
}

/** Parse `2026-03-01T12:00:00.5Z`, or `2026/03/01 12:00:00.500` as nvidia-smi prints it; null for any other text. */
export function calendarTime(text: string): CalendarTime | null {
  const parts = CALENDAR.exec(text);
  if (parts === null) return null;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number);
  const [fraction = "", utc, sign, hours = "0", minutes = "0"] = parts.slice(7);
  const offset = (sign === "-" ? -60 : 60) * (Number(hours) * 60 + Number(minutes));
  return {
    seconds: Date.UTC(year!, month! - 1, day, hour, minute, second) / 1000 - offset,
    nanos: Number(fraction.padEnd(9, "0")),
    zoned: utc !== undefined || sign !== undefined,
  };
}

/** The unit of a number of a clock in seconds. Without a stated one it is seconds, or what makes it a Unix time. */
export function clockUnit(clock: string, value: number): number {
  const stated = CLOCKS.get(clock) ?? null;
  if (stated !== null) return stated;
  if (value >= 1e17) return 1e-9;
  if (value >= 1e14) return 1e-6;
  return value >= 1e11 ? 1e-3 : 1;
}
