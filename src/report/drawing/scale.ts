import { KIB } from "../../core/units.ts";

/** Tick positions in data units with their labels. */
export interface Ticks {
  readonly values: readonly number[];
  readonly labels: readonly string[];
  /** Distance between ticks. */
  readonly step: number;
}

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] as const;

/** Between half of `count` and `count` ticks on a byte axis; the step is a power of two, so that labels are short. */
export function byteTicks(low: number, high: number, count: number): Ticks {
  const raw = Math.max((high - low) / count, 1 / 1024);
  const step = Math.max(2 ** Math.ceil(Math.log2(raw)), 1);
  const values = multiples(low, high, step, 0); // division by a power of two is exact
  // The largest unit in which the step needs at most two decimals: "0.25 GiB" rather than "256 MiB" next to "1 GiB",
  // but "38920 MiB" for 4 MiB steps near 38 GiB.
  let unit = unitOf(Math.max(Math.abs(low), Math.abs(high)));
  while (unit > 0 && decimalsFor(step / KIB ** unit) > 2) unit -= 1;
  const decimals = decimalsFor(step / KIB ** unit);
  const labels = values.map((value) =>
    value === 0 ? "0" : `${(value / KIB ** unit).toFixed(decimals)} ${BYTE_UNITS[unit]}`,
  );
  return { values, labels, step };
}

/** Ticks of an axis of bytes from 0 in one unit, which is named once beside it; the last tick is the axis' end. */
export function sizeTicks(high: number, count: number): Ticks & { readonly unit: string } {
  // 1023 would be a label of four digits: "1.0" of the next unit is shorter.
  let unit = 0;
  while (high >= 1000 * KIB ** unit && unit < BYTE_UNITS.length - 1) unit += 1;
  const scale = KIB ** unit;
  const step = roundStep(high / scale / count);
  const last = Math.max(1, Math.ceil(high / scale / step - 1e-9));
  const values = Array.from({ length: last + 1 }, (_, k) => k * step * scale);
  return { values, labels: decimalLabels(values, scale, step), step: step * scale, unit: BYTE_UNITS[unit]! };
}

/** Ticks of an axis of steps; the first label names the unit. */
export function stepTicks(low: number, high: number, count: number): Ticks {
  const step = Math.max(1, roundStep((high - low) / count));
  const values = multiples(low, high, step, 1e-9);
  const labels = values.map((value, i) => (i === 0 ? `step ${value}` : String(value)));
  return { values, labels, step };
}

/** The smallest of 1, 2 and 5 times a power of ten that is at least `raw`. */
function roundStep(raw: number): number {
  const power = 10 ** Math.floor(Math.log10(raw));
  return ([1, 2, 5, 10].find((factor) => factor * power >= raw * (1 - 1e-9)) ?? 10) * power;
}

function decimalLabels(values: readonly number[], scale: number, step: number): string[] {
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return values.map((value) => (value === 0 ? "0" : (value / scale).toFixed(decimals)));
}

const SECOND_STEPS = [1, 2, 5, 10, 20, 30];
const TIME_UNITS = [
  { name: "ms", seconds: 1e-3, upTo: 2, steps: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
  { name: "s", seconds: 1, upTo: 180, steps: SECOND_STEPS },
  { name: "min", seconds: 60, upTo: 180 * 60, steps: [0.5, ...SECOND_STEPS] },
  { name: "h", seconds: 3600, upTo: 72 * 3600, steps: [0.5, 1, 2, 3, 6, 12, 24] },
  { name: "d", seconds: 86400, upTo: Number.POSITIVE_INFINITY, steps: [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
] as const;

/** Ticks on a time axis from 0 to `high` seconds in one unit ("20 s", "0.5 h"); at most `count` intervals. */
export function timeTicks(high: number, count: number): Ticks {
  const unit = TIME_UNITS.find((candidate) => high <= candidate.upTo) ?? TIME_UNITS[4];
  const raw = high / unit.seconds / count;
  const largest = unit.steps[unit.steps.length - 1]!;
  const step = unit.steps.find((candidate) => candidate >= raw) ?? Math.ceil(raw / largest) * largest;
  const values = multiples(0, high, step * unit.seconds, 1e-9);
  const labels = values.map((value) =>
    value === 0 ? "0" : `${Number((value / unit.seconds).toFixed(1))} ${unit.name}`,
  );
  return { values, labels, step: step * unit.seconds };
}

function multiples(low: number, high: number, step: number, slack: number): number[] {
  const values: number[] = [];
  const first = Math.ceil(low / step - slack);
  const last = Math.floor(high / step + slack);
  for (let k = first; k <= last && values.length < 100; k++) values.push(k * step);
  return values;
}

function unitOf(bytes: number): number {
  let unit = 0;
  while (bytes >= KIB ** (unit + 1) && unit < BYTE_UNITS.length - 1) unit += 1;
  return unit;
}

function decimalsFor(step: number): number {
  for (let decimals = 0; decimals < 6; decimals++) {
    if (Math.abs(step - Number(step.toFixed(decimals))) < step * 1e-9) return decimals;
  }
  return 6;
}
