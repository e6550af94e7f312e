import type { Interval } from "./intervals.ts";

/** One result of a bench. The limit holds for the upper end of the interval, or for the value where there is none. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  /** 95 %. */
  readonly interval: Interval | null;
  readonly limit: number | null;
  /** Empty for a ratio. */
  readonly unit: string;
  /** The parts that it was made of. */
  readonly note?: string;
  /** What else was measured, by the heading of its column. */
  readonly more?: Readonly<Record<string, string>>;
}

/** Something that was not measured here, with the reason. */
interface Skipped {
  readonly name: string;
  readonly skipped: string;
}

export type Result = Figure | Skipped;

export const isFigure = (result: Result): result is Figure => "value" in result;

export function isMissed(result: Result): boolean {
  if (!isFigure(result) || result.limit === null) return false;
  // Not "above": a value that is not a number misses its limit.
  return !((result.interval?.high ?? result.value) <= result.limit);
}

/** Three significant digits at least, without an exponent. */
export function shownNumber(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 0.995 ? 2 : 3;
  return value.toFixed(digits);
}

/** A ratio near 1 needs more digits than another. */
function digitsOf({ unit, value }: Figure): (one: number) => string {
  return unit === "" && value > 0.9 && value < 1.1 ? (one) => one.toFixed(3) : shownNumber;
}

export function shownFigure(figure: Figure): string {
  const shown = digitsOf(figure);
  const unit = figure.unit === "" ? "" : ` ${figure.unit}`;
  const { interval } = figure;
  return `${shown(figure.value)}${unit}${interval === null ? "" : ` (95 %: ${shown(interval.low)} to ${shown(interval.high)})`}`;
}

export function shownLine(result: Result): string {
  if (!isFigure(result)) return `${result.name}: skipped, ${result.skipped}`;
  const unit = result.unit === "" ? "" : ` ${result.unit}`;
  const limit = result.limit === null ? "" : `   limit ${result.limit}${unit}`;
  const more = Object.entries(result.more ?? {}).map(([name, text]) => `; ${name} ${text}`);
  const note = result.note === undefined ? "" : ` [${result.note}]`;
  return `${result.name}: ${shownFigure(result)}${more.join("")}${note}${limit}${isMissed(result) ? "   MISSED" : ""}`;
}
