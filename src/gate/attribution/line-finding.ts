import type { Finding, Severity } from "../../analysis/document.ts";
import { formatBytes } from "../../core/units.ts";
import { LEAK_LINE } from "../../report/source-line.ts";
import type { AttributedLine } from "../../snapshot/attribution.ts";
import { relativePath } from "../../snapshot/frames.ts";

/** What a finding needs besides the line. */
interface LineContext {
  /** Directory of the repository; null when the command does not run in one. */
  readonly root: string | null;
  readonly severity: Severity;
  /** Rank the line grows in; null when it grows in several, or the run has no ranks. */
  readonly rank: number | null;
  /** The line's own text, trimmed; null when the file cannot be read. */
  readonly code: string | null;
}

const MAX_FRAMES = 8;

/** "97 %", or "under 1 %". */
function percent(share: number): string {
  return share < 0.01 ? "under 1 %" : `${Math.round(100 * share)} %`;
}

function rate({ bytesPerStep, bytesPerSecond, growthBytes }: AttributedLine): string {
  if (bytesPerStep !== null) return `${formatBytes(Math.max(0, bytesPerStep))} more with every step`;
  if (bytesPerSecond !== null) return `${formatBytes(Math.max(0, bytesPerSecond))} more every second`;
  return `${formatBytes(growthBytes)} more`;
}

/** The finding of a line whose memory grows: location, share, what retains the memory, and the usual remedy. */
export function lineFinding(line: AttributedLine, context: LineContext): Finding {
  const location = ({ file, line: number }: { readonly file: string; readonly line: number }): string =>
    `${relativePath(file, context.root)}:${number}`;
  const at = location(line);
  const kept = line.keptBy === null ? "" : ` in ${line.keptBy}`;
  const made =
    line.placed === "kept" && line.allocatedAt !== null && location(line.allocatedAt) !== at
      ? `, allocated at ${location(line.allocatedAt)}`
      : "";
  const verb = line.placed === "kept" ? "keeps" : "allocates and something keeps";
  const known = line.hint === null ? "" : `: ${line.hint.sentence.replace(/[.]$/, "")}`;
  return {
    classification: LEAK_LINE,
    severity: context.severity,
    confidence: Math.max(0, Math.min(1, line.share)),
    rank: context.rank,
    device: line.device,
    metric: null,
    evidence: {
      line: at,
      function: line.function,
      code: context.code,
      bytes_per_step: line.bytesPerStep,
      bytes_per_s: line.bytesPerSecond,
      growth_bytes: line.growthBytes,
      objects: line.countGrowth,
      share: line.share,
      placed: line.placed,
      kept_by: line.keptBy,
      allocated_at: line.allocatedAt === null ? null : location(line.allocatedAt),
      pattern: line.hint?.code ?? null,
      pattern_evidence: line.hint === null ? null : line.hint.evidence.join("; "),
      stack: line.stack
        .slice(0, MAX_FRAMES)
        .map((frame) => `${location(frame)} ${frame.function}`)
        .join(" < "),
    },
    description: `${at} ${verb} ${rate(line)}${kept}, ${percent(line.share)} of the growth${made}${known}`,
    remediation: line.hint === null ? [] : [...line.hint.remediation],
  };
}
