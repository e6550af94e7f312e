import { formatBytes } from "../../core/units.ts";
import { metricLabel } from "../../telemetry/recording/metrics.ts";
import type { GateReport, ScenarioReport } from "../model/gate-report.ts";
import type { Scaling, ScalingPoint } from "../model/report-schema.ts";

/** Digits of a value that was predicted: its interval allows no more. */
const DIGITS = 3;

const shown = (value: number): string => Number(value.toPrecision(DIGITS)).toLocaleString("en-US");

/** The scenarios as they are shown: of those that `--vary` made and that have no baseline, the first for all. */
export function withoutRepeated({ scenarios, scaling = [] }: GateReport): readonly ScenarioReport[] {
  const isOpen = (one: ScenarioReport, { scenario, name }: Scaling): boolean =>
    one.verdict === "unjudged" && one.baseline === null && one.scenario.startsWith(`${scenario}@${name}=`);
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
  return `${metricLabel(metric)} peak ${device === "host" ? "" : "of the device "}over ${name}`;
}

/** The coefficient `b`, which may be a fraction of a byte: "1.31 MiB", "0.0213 B". */
export function coefficientText(bytes: number): string {
  // Below this a whole number of bytes has less than two digits.
  return Math.abs(bytes) < 10 ? `${Number(bytes.toPrecision(DIGITS))} B` : formatBytes(bytes);
}

/** The peak at one value; `missing` where none was measured. */
export function pointText({ bytes, failed }: ScalingPoint, missing: string): string {
  if (failed === true) return "failed";
  return bytes === null ? missing : formatBytes(bytes);
}

/** "peak = 281 MiB + 1.31 MiB x BATCH^1.02 (exponent 0.97 to 1.08)", or why there is none. Not escaped. */
export function lawText({ fit, name, no_fit: why }: Scaling): string {
  if (fit === null) return `no fit: ${why ?? "unknown"}`;
  const { a_bytes: a, b_bytes: b, exponent, low, high } = fit;
  const interval = `exponent ${low.toFixed(2)} to ${high.toFixed(2)}`;
  return `peak = ${formatBytes(a)} + ${coefficientText(b)} x ${name}^${exponent.toFixed(2)} (${interval})`;
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

/** What breaches or cannot be judged, with what was varied; null without limits, or within them. Not escaped. */
export function scalingSentence(scaling: Scaling): string | null {
  const breach = scalingBreach(scaling);
  return breach === null ? null : `${scaling.scenario} over ${scaling.name}: ${breach}`;
}

/** The same for a report whose verdict none of its scenarios has, which a limit on scaling then explains; else null. */
export function decidingScaling({
  verdict,
  scenarios,
  scaling = [],
}: Pick<GateReport, "verdict" | "scenarios" | "scaling">): string | null {
  if (scenarios.some((scenario) => scenario.verdict === verdict)) return null;
  const found = scaling.find((one) => one.verdict === verdict);
  return found === undefined ? null : scalingSentence(found);
}
