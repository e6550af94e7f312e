import { formatBytes } from "../core/units.ts";
import type { LabDocument, LabOutcome, LabPattern, LabState } from "./lab-document.ts";
import { md, table } from "./markdown-text.ts";

/** "–" stands for what is not known, which is never 0. */
const UNKNOWN = "–";

const OUTCOMES: Readonly<Record<LabOutcome, string>> = {
  caught: "caught",
  warned: "warned of",
  "not-visible": "not visible at this size",
  "false-alarm": "FALSE ALARM",
  broken: "could not be judged",
  skipped: "skipped",
};

/** What became of a pattern, in words; for one that is not visible the smallest growth that would have been. */
export function outcomeText({ outcome, leaky, reason }: LabPattern): string {
  const words = OUTCOMES[outcome];
  if (outcome === "not-visible" && leaky !== null && leaky.mde_bytes !== null)
    return `${words}: growth of ${formatBytes(leaky.mde_bytes)} would be`;
  return reason === null || outcome === "caught" ? words : `${words}: ${reason}`;
}

export function sizeText(bytes: number | null | undefined): string {
  return bytes === null || bytes === undefined ? UNKNOWN : formatBytes(bytes);
}

/** "128.37 KiB a step", or per second where there are no steps. */
export function slopeOf(state: LabState | null): string {
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
export function accuracyText({ leaky, fixed }: LabPattern): string {
  const [before, after] = [percent(fixed?.accuracy), percent(leaky?.accuracy)];
  return before === UNKNOWN && after === UNKNOWN ? UNKNOWN : `${before} → ${after}`;
}

/** The line, without the folder that all patterns lie in, and a sign for whether it lies in the leak: ✓ or ✗. */
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
    sizeText(leaky?.peak_bytes),
    sizeText(fixed?.peak_bytes),
    ratioText(pattern.ratio),
    slopeOf(leaky),
    leaky?.class ?? UNKNOWN,
    leaky === null || fixed === null ? UNKNOWN : `${leaky.verdict}, ${fixed.verdict}`,
    accuracyText(pattern),
    lineText(pattern),
    outcomeText(pattern),
  ];
}

/** "cpu (AMD EPYC), torch 1.13, scale tiny". */
export function roundTitle(document: LabDocument): string {
  const { backend, device_model: model, framework_version: framework, scale } = document;
  const where = model === null ? (backend ?? "nothing measured") : `${backend ?? "unknown"} (${model})`;
  return [where, ...(framework === null ? [] : [framework]), `scale ${scale}`].join(", ");
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
