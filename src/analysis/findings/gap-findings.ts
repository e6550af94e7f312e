import { formatBytes } from "../../core/units.ts";
import { tenantLimit } from "../../telemetry/devices/device-attribution.ts";
import type { GapShares } from "../../telemetry/recording/recorded-device.ts";
import type { AnalysedSeries } from "../growth/series-analysis.ts";
import type { Finding } from "../series/document.ts";
import { locationKey } from "./device-evidence.ts";
import { growthEvidence, span, where } from "./findings.ts";
import type { AnalysedGap } from "./gap-series.ts";

const REMEDIATION = [
  "Device memory grows while the allocator's does not: look at native extensions, graph captures, communicators and other processes.",
  "The framework's memory tools do not see this memory. Bisect by disabling components.",
];

/** Components of the gap, as evidence; empty when no source reports them. */
function sharesEvidence(shares: GapShares | null): Finding["evidence"] {
  if (shares === null) return {};
  return {
    gap_level: shares.level,
    gap_peak_bytes: shares.peak_bytes,
    context_bytes: shares.context_bytes,
    library_bytes: shares.library_bytes,
    communicator_bytes: shares.communicator_bytes,
    later_bytes: shares.later_bytes,
  };
}

const NAMES = [
  ["context_bytes", "the context"],
  ["library_bytes", "libraries"],
  ["communicator_bytes", "communicators"],
] as const;

/** " Before that: 420.00 MiB the context, 210.00 MiB libraries." */
function beforeText(shares: GapShares | null): string {
  const parts = NAMES.flatMap(([key, name]) => {
    const bytes = shares?.[key] ?? null;
    return bytes === null || bytes <= 0 ? [] : [`${formatBytes(bytes)} ${name}`];
  });
  return parts.length === 0 ? "" : ` Before that: ${parts.join(", ")}.`;
}

/** Growth after warm-up, above the limit of other processes, that is still present in the last quarter; else null. */
function lastingGrowth({ shares, lateBytes, totalBytes }: AnalysedGap): number | null {
  const { later_bytes: later, peak_bytes: peak } = shares ?? { later_bytes: null, peak_bytes: null };
  if (later === null || peak === null || lateBytes === null || later <= tenantLimit(totalBytes)) return null;
  return lateBytes >= peak - later / 2 ? later : null;
}

/** Device memory that grows while the allocator's does not: per rank and device, with its earlier components. */
export function hiddenGapFindings(gaps: readonly AnalysedGap[], all: readonly AnalysedSeries[]): Finding[] {
  const reservedAt = new Map(
    all.flatMap(({ analysis }) => (analysis.metric === "reserved" ? [[locationKey(analysis), analysis] as const] : [])),
  );
  return gaps.flatMap((gap): Finding[] => {
    const { analysis, shares } = gap;
    const evidence = {
      ...growthEvidence(analysis),
      reserved_class: reservedAt.get(locationKey(analysis))?.class ?? null,
      ...sharesEvidence(shares),
    };
    const finding = { classification: "hidden_gap", ...where(analysis), evidence, remediation: REMEDIATION } as const;
    if (analysis.class === "leak") {
      const description = `Device memory outside the allocator grows by ${formatBytes(analysis.growth_bytes ?? 0)} over ${span(analysis)}.${beforeText(shares)}`;
      return [{ ...finding, severity: "critical", confidence: 0.99, description }];
    }
    const grown = lastingGrowth(gap);
    if (grown === null) return [];
    const description = `Device memory outside the allocator grew by ${formatBytes(grown)} after warm-up and stayed.${beforeText(shares)}`;
    return [{ ...finding, severity: "warning", confidence: 0.8, description }];
  });
}
