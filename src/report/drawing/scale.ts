import { BINARY_UNITS, KIB } from "../../core/units.ts";

/** Tick positions in data units, with their numbers in `unit`. */
export interface Ticks {
  readonly values: readonly number[];
  readonly labels: readonly string[];
  readonly unit: string;
}

/** At most `count` intervals of 1, 2 or 5 times a power of ten, and of `least` or more; all in units of `scale`. */
export function ticks(low: number, high: number, count: number, { unit = "", scale = 1, least = 0 } = {}): Ticks {
  const raw = Math.max((high - low) / scale / count, least);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5].find((factor) => factor * power >= raw * (1 - 1e-9)) ?? 10) * power;
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const [first, last] = [Math.ceil(low / scale / step - 1e-9), Math.floor(high / scale / step + 1e-9)];
  const numbers = Array.from({ length: last - first + 1 }, (_, k) => (first + k) * step);
  return {
    values: numbers.map((number) => number * scale),
    labels: numbers.map((number) => (number === 0 ? "0" : number.toFixed(decimals))),
    unit,
  };
}

/** Ticks of an axis of bytes; 1023 would be a number of four digits, so it is 1.0 of the next unit. */
export function byteTicks(low: number, high: number, count: number): Ticks {
  const power = BINARY_UNITS.findLastIndex((_, at) => at === 0 || high >= 1000 * KIB ** (at - 1));
  return ticks(low, high, count, { unit: BINARY_UNITS[power] ?? "B", scale: KIB ** power });
}

/** Ticks of an axis of seconds from 0. */
export function timeTicks(high: number, count: number): Ticks {
  const unit = [
    { unit: "ms", scale: 1e-3, upTo: 2 },
    { unit: "s", scale: 1, upTo: 180 },
    { unit: "min", scale: 60, upTo: 180 * 60 },
    { unit: "h", scale: 3600, upTo: 72 * 3600 },
  ].find(({ upTo }) => high <= upTo) ?? { unit: "d", scale: 86_400 };
  return ticks(0, high, count, unit);
}

/** The numbers with their unit. */
export const labelsWithUnit = ({ labels, unit }: Ticks): readonly string[] =>
  labels.map((label) => (label === "0" ? label : `${label} ${unit}`));
