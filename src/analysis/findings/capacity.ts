import { plural } from "../../core/text.ts";
import { formatBytes } from "../../core/units.ts";
import { METRIC } from "../../telemetry/recording/metrics.ts";
import type { AnalysedSeries } from "../growth/series-analysis.ts";
import type { Finding, SeriesAnalysis } from "../series/document.ts";
import { locationKey } from "./device-evidence.ts";

interface Speed {
  readonly bytes: number;
  readonly unit: "step" | "second";
  /** Measured growth, or the smallest detectable leak of this series. */
  readonly kind: "measured" | "smallest detectable";
}

/** Speed of the measured growth, else of the smallest detectable leak. */
function speedOf(allocated: SeriesAnalysis): Speed | null {
  const { slope_bytes_per_step: perStep, slope_bytes_per_s: perSecond, growth_bytes: growth } = allocated;
  if (allocated.class === "leak" || allocated.class === "rising") {
    if (perStep !== null && perStep > 0) return { bytes: perStep, unit: "step", kind: "measured" };
    if (perSecond !== null && perSecond > 0) return { bytes: perSecond, unit: "second", kind: "measured" };
  }
  if (allocated.mde_bytes === null || growth === null) return null;
  const { steps, duration_s: seconds } = allocated;
  if (steps !== null && steps > 1) {
    return { bytes: allocated.mde_bytes / (steps - 1), unit: "step", kind: "smallest detectable" };
  }
  return seconds === null || !(seconds > 0)
    ? null
    : { bytes: allocated.mde_bytes / seconds, unit: "second", kind: "smallest detectable" };
}

/**
 * Memory that the allocator holds without using it hides a leak from the driver until the leak has filled it. This
 * slack is the peak reserved minus the peak allocated, per rank and device where both are known. Not reported for the
 * host's heap, which no driver counts, below 16 MiB, or when the leak fills it within one step or second.
 */
export function slackFindings(all: readonly AnalysedSeries[]): Finding[] {
  const reservedPeaks = new Map(
    all.flatMap(({ analysis }) =>
      analysis.metric === "reserved" ? [[locationKey(analysis), analysis.peak_bytes] as const] : [],
    ),
  );
  return all.flatMap(({ analysis: allocated }): Finding[] => {
    if (allocated.metric !== "allocated" || allocated.device === "host" || allocated.peak_bytes === null) return [];
    const reserved = reservedPeaks.get(locationKey(allocated));
    const speed = speedOf(allocated);
    if (reserved === undefined || reserved === null || speed === null) return [];
    const slack = reserved - allocated.peak_bytes;
    if (!(slack > METRIC.reserved.floorBytes)) return [];
    const hidden = Math.floor(slack / speed.bytes);
    if (hidden === 0) return [];
    const count = plural(hidden, speed.unit);
    const leak = speed.kind === "measured" ? "The growth measured here," : "A leak of";
    return [
      {
        classification: "allocator_slack",
        severity: "info",
        confidence: 1,
        rank: allocated.rank,
        device: allocated.device,
        metric: "reserved",
        evidence: {
          slack_bytes: slack,
          reserved_peak_bytes: reserved,
          allocated_peak_bytes: allocated.peak_bytes,
          leak_bytes_per_unit: speed.bytes,
          unit: speed.unit,
          leak: speed.kind,
          hidden_units: hidden,
        },
        description: `The allocator holds ${formatBytes(slack)} more than it needs at its peak. ${leak} ${formatBytes(speed.bytes)} per ${speed.unit}${speed.kind === "measured" ? "," : ""} would stay hidden from the driver for ${count}.`,
        remediation: [
          "Judge growth by allocated memory: device-used and reserved memory show such a leak only when it has filled the slack.",
        ],
      },
    ];
  });
}
