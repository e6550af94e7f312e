import { formatBytes } from "../core/units.ts";
import type { GateReport, Scaling, ScenarioReport } from "./documents/model.ts";

/** Digits of a value that was predicted: its interval allows no more. */
const DIGITS = 3;

const shown = (value: number): string => Number(value.toPrecision(DIGITS)).toLocaleString("en-US");

/** The scenarios as they are shown: of those that `--vary` made and that have no baseline, the first for all. */
export function withoutRepeated({ scenarios, scaling = [] }: GateReport): readonly ScenarioReport[] {
  const isOpen = (one: ScenarioReport, { scenario, name }: Scaling): boolean =>
    one.word === "unjudged" && one.baseline === null && one.scenario.startsWith(`${scenario}@${name}=`);
  return scenarios.flatMap((one) => {
    const law = scaling.find((each) => isOpen(one, each));
    if (law === undefined) return [one];
    const alike = scenarios.filter((other) => isOpen(other, law));
    if (alike[0] !== one) return [];
    return alike.length === 1 ? [one] : [{ ...one, scenario: `${one.scenario} and ${alike.length - 1} more` }];
  });
}

/** "host peak over BATCH", or "allocated peak of the device over BATCH". Not escaped. */
export function scalingTitle({ metric, device, name }: Scaling): string {
  return `${metric} peak ${device === "host" ? "" : "of the device "}over ${name}`;
}

/** "peak = 281 MiB + 1.31 MiB x BATCH^1.02 (exponent 0.97 to 1.08)", or why there is none. Not escaped. */
export function lawText({ fit, name, no_fit: why }: Scaling): string {
  if (fit === null) return `no fit: ${why ?? "unknown"}`;
  const { a_bytes: a, b_bytes: b, exponent, low, high } = fit;
  const interval = `exponent ${low.toFixed(2)} to ${high.toFixed(2)}`;
  return `peak = ${formatBytes(a)} + ${formatBytes(b)} x ${name}^${exponent.toFixed(2)} (${interval})`;
}

/** "80GB fits BATCH up to about 61,000 (58,000 to 64,000), beyond what was measured" for each size. Not escaped. */
export function fitsTexts({ fits, name, points }: Scaling): readonly string[] {
  const most = Math.max(
    ...points.map(({ value, bytes }) => (bytes === null ? Number.NEGATIVE_INFINITY : Number(value))),
  );
  return fits.map(({ name: size, largest }) => {
    if (largest === null) return `${size} fits no ${name}: less than the constant part`;
    const beyond = largest.value > most ? ", beyond what was measured" : "";
    return `${size} fits ${name} up to about ${shown(largest.value)} (${shown(largest.low)} to ${shown(largest.high)})${beyond}`;
  });
}

/** What breaches or cannot be judged; null without limits, or within them. Not escaped. */
export function scalingBreach({ verdict, reason }: Scaling): string | null {
  return verdict === "fail" || verdict === "unjudged" ? `scaling ${verdict}: ${reason ?? "unknown"}` : null;
}
