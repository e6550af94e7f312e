import { formatBytes } from "../../core/units.ts";
import { md, table } from "../../report/markdown/markdown-text.ts";
import type { LabDocument, LabOutcome, LabPattern, LabState } from "./document.ts";

/** Unknown, which is never 0. */
export const UNKNOWN = "–";

/** Label of an outcome. */
export const OUTCOME_TEXT: Readonly<Record<LabOutcome, string>> = {
  caught: "caught",
  warned: "warned of",
  "not-visible": "not visible at this size",
  "false-alarm": "FALSE ALARM",
  broken: "could not be judged",
  skipped: "skipped",
};

/** Label and reason of a pattern's outcome; of a leak that is not visible, the smallest visible growth. */
export function outcomeText({ outcome, leaky, reason }: LabPattern): string {
  const words = OUTCOME_TEXT[outcome];
  if (outcome === "not-visible" && leaky !== null && leaky.mde_bytes !== null)
    return `${words}: growth of ${formatBytes(leaky.mde_bytes)} would be`;
  return reason === null || outcome === "caught" ? words : `${words}: ${reason}`;
}

/** A state's peak; of one that ran out of memory, the bytes it held. */
export function peakText(state: LabState | null | undefined): string {
  if (!state?.out_of_memory) return sizeText(state?.peak_bytes);
  const { at_bytes: held } = state.out_of_memory;
  return held === null ? "out of memory" : `out of memory at ${formatBytes(held)}`;
}

/** "2.93x"; of a leak that ran out of memory, the lower bound. */
export function patternRatioText({ ratio, leaky }: LabPattern): string {
  return leaky?.out_of_memory && ratio !== null ? `≥ ${ratioText(ratio)}` : ratioText(ratio);
}

function sizeText(bytes: number | null | undefined): string {
  return bytes === null || bytes === undefined ? UNKNOWN : formatBytes(bytes);
}

/** "128.37 KiB a step", or per second where there are no steps. */
function slopeOf(state: LabState | null): string {
  if (state === null) return UNKNOWN;
  if (state.slope_bytes_per_step !== null) return `${formatBytes(state.slope_bytes_per_step)} a step`;
  return state.slope_bytes_per_s === null ? UNKNOWN : `${formatBytes(state.slope_bytes_per_s)}/s`;
}

export function ratioText(ratio: number | null): string {
  return ratio === null ? UNKNOWN : `${ratio.toFixed(2)}x`;
}

function percent(share: number | null | undefined): string {
  return share === null || share === undefined ? UNKNOWN : `${(100 * share).toFixed(1)} %`;
}

/** "98.4 % → 9.0 %": fixed, then leaky. */
function accuracyText({ leaky, fixed }: LabPattern): string {
  const [before, after] = [percent(fixed?.accuracy), percent(leaky?.accuracy)];
  return before === UNKNOWN && after === UNKNOWN ? UNKNOWN : `${before} → ${after}`;
}

/** "fail, pass": leaky, then fixed. */
function verdictsText({ leaky, fixed }: LabPattern): string {
  return leaky === null || fixed === null ? UNKNOWN : `${leaky.verdict}, ${fixed.verdict}`;
}

/** The line without the common directory, with ✓ inside the leak and ✗ outside. */
function lineText({ line, line_in_leak: inside }: LabPattern): string {
  if (line === null) return UNKNOWN;
  return `${line.split("/").at(-1)}${inside === null ? "" : inside ? " ✓" : " ✗"}`;
}

export const CATALOGUE_COLUMNS = [
  ["pattern", "l"],
  ["kept a step", "r"],
  ["leaky peak", "r"],
  ["fixed peak", "r"],
  ["ratio", "r"],
  ["slope", "r"],
  ["class", "l"],
  ["verdicts", "l"],
  ["accuracy fixed → leaky", "r"],
  ["line named first", "l"],
  ["outcome", "l"],
] as const satisfies readonly (readonly [string, "l" | "r"])[];

/** A row of the catalogue's table, unescaped. */
export function catalogueRow(pattern: LabPattern): readonly string[] {
  const { leaky, fixed } = pattern;
  return [
    pattern.name,
    sizeText(pattern.leak_bytes_per_step),
    peakText(leaky),
    peakText(fixed),
    patternRatioText(pattern),
    slopeOf(leaky),
    leaky?.class ?? UNKNOWN,
    verdictsText(pattern),
    accuracyText(pattern),
    lineText(pattern),
    outcomeText(pattern),
  ];
}

/** "cpu (AMD EPYC), torch 1.13, scale tiny" */
export function roundTitle(document: LabDocument): string {
  const { backend, device_model: model, framework_version: framework, scale } = document;
  const where = model === null ? (backend ?? "nothing measured") : `${backend ?? "unknown"} (${model})`;
  const parts = [where, ...(framework === null ? [] : [framework]), ...(scale === null ? [] : [`scale ${scale}`])];
  return parts.join(", ");
}

/** The catalogue's table of one round as markdown. */
export function catalogueMarkdown(document: LabDocument): string {
  const rows = document.patterns.map((pattern) => catalogueRow(pattern).map((text) => md(text, 160)));
  return [
    md(roundTitle(document)),
    "",
    table(
      CATALOGUE_COLUMNS.map(([name]) => name),
      CATALOGUE_COLUMNS.map(([, align]) => align),
      rows,
    ),
  ].join("\n");
}
