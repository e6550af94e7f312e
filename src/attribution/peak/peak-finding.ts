import path from "node:path";
import type { Finding, LinePackage, Severity } from "../../analysis/series/document.ts";
import { formatBytes } from "../../core/units.ts";
import { packageText, percent } from "../../report/headline/line-answer.ts";
import { HELD_AT_PEAK, PEAK_LINE } from "../../report/wording/source-line.ts";
import type { NamedPeakLine } from "./name-peak-lines.ts";

/** A named line with what is known of where it allocates. */
export interface PlacedPeakLine extends NamedPeakLine {
  /** The installed package that allocates; null for none, or where it is unknown. */
  readonly package: LinePackage | null;
  /** The function of the module that allocates, as the linker names it; null when unknown. */
  readonly symbol: string | null;
}

interface PeakContext {
  /** "host", "cuda:0", … */
  readonly device: string;
  /** The program's phase at the peak; null where it named none, or that is not known. */
  readonly phase: string | null;
  readonly severity: Severity;
  /** What the line is compared with. */
  readonly comparedWith: "base" | "baseline" | null;
}

/** "train.py:9", or the module where no line is known. */
function nameOf({ line, symbol }: PlacedPeakLine): string {
  if (line.at.line > 0) return `${line.at.file}:${line.at.line}`;
  const module = path.posix.basename(line.at.file);
  return symbol === null ? module : `\`${symbol}\` in ${module}`;
}

function sentence(placed: PlacedPeakLine, { phase, comparedWith }: PeakContext): string {
  const { line, before, share, package: found } = placed;
  const peak = phase === null ? "the peak" : `the peak in phase ${phase}`;
  const owner = found === null ? "" : `, ${packageText(found, "allocated")},`;
  if (before === null)
    return `${nameOf(placed)}${owner} holds ${formatBytes(line.bytes)} at ${peak}, ${percent(share)} of it`;
  const than = before === 0 ? "nothing" : formatBytes(before);
  return `${nameOf(placed)}${owner} holds ${formatBytes(line.bytes)} at ${peak} and ${than} ${comparedWith === "baseline" ? "in the baseline" : "on the base"}, ${percent(share)} of the difference`;
}

/** The finding of a line that holds more at the peak than on the base or, without a base, much of it. */
export function peakFinding(placed: PlacedPeakLine, context: PeakContext): Finding {
  const { device, phase, severity, comparedWith } = context;
  const { line, before, share, symbol } = placed;
  return {
    classification: before === null ? HELD_AT_PEAK : PEAK_LINE,
    severity: before === null ? "info" : severity,
    confidence: share,
    rank: null,
    device,
    metric: null,
    evidence: {
      line: line.at.line > 0 ? `${line.at.file}:${line.at.line}` : null,
      function: line.at.function,
      code: line.code,
      peak_bytes: Math.round(line.bytes),
      base_peak_bytes: before === null ? null : Math.round(before),
      difference_bytes: before === null ? null : Math.round(line.bytes - before),
      share,
      compared_with: comparedWith,
      category: line.category,
      allocated_in: line.phase,
      phase,
      native_module: line.place?.path ?? null,
      native_symbol: symbol,
      native_called: line.called,
      stack: line.stack
        .slice(0, 8)
        .map(({ file, line: number, function: name }) => `${file}:${number} ${name}`)
        .join(" < "),
    },
    description: sentence(placed, context),
    ...(placed.package === null ? {} : { package: placed.package }),
    remediation: [],
  };
}
