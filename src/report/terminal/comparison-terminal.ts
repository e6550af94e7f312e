import type { MeasuredSeries, Measurements } from "../../analysis/measurements.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { plural } from "../../core/text.ts";
import { formatBytes, formatBytesDelta } from "../../core/units.ts";
import { median } from "../../stats/order-statistics.ts";
import type { Check, Judgement } from "../../verdict/judgement.ts";
import { commonClass, indexSeries, type SeriesKey, sameSeries } from "../../verdict/series-index.ts";
import { VERDICT_LOOK } from "../timeline/palette.ts";
import { renderJudgementTerminal } from "./terminal.ts";
import { alignRows, cell, safe } from "./terminal-table.ts";

interface ComparisonSide {
  readonly name: string;
  readonly measurements: Measurements;
}

type Aspect = "peak" | "growth" | "class";

const UNKNOWN: ReadonlySet<string> = new Set(["insufficient", "unavailable", "unknown"]);

/** The median of one feature over a side's runs; null when no run has it. */
function medianOf(side: Measurements, key: SeriesKey, feature: "peak_bytes" | "growth_bytes"): number | null {
  const values = side.runs.flatMap(({ series }) =>
    series.filter((one) => sameSeries(one, key)).map((one: MeasuredSeries) => one[feature]),
  );
  const known = values.filter((value) => typeof value === "number");
  return known.length === 0 ? null : median(known);
}

function classOf(side: Measurements, key: SeriesKey): string {
  const history = indexSeries(side).find((one) => sameSeries(one.key, key));
  return commonClass(history?.runs ?? []) ?? "unknown";
}

/** "rank 1 allocated on cuda:0", with rank and device where they distinguish series. */
function labelOf(key: SeriesKey, all: readonly SeriesKey[]): string {
  const rank = new Set(all.map((one) => one.rank)).size > 1 ? `rank ${key.rank} ` : "";
  const device = new Set(all.map((one) => one.device)).size > 1 && key.device !== key.metric ? ` on ${key.device}` : "";
  return `${rank}${key.metric}${device}`;
}

/**
 * The values of a row: those that decided its check, so that the sentence below repeats them, and otherwise the medians
 * over the runs of each side.
 */
function valuesOf(
  { a, b }: { readonly a: Measurements; readonly b: Measurements },
  key: SeriesKey,
  aspect: "peak" | "growth",
  checks: readonly Check[],
): readonly [number | null, number | null] {
  const feature = aspect === "peak" ? "peak_bytes" : "growth_bytes";
  const medians = [medianOf(a, key, feature), medianOf(b, key, feature)] as const;
  const own = checks.filter((check) => check.limit === "baseline" && sameSeries(check, key));
  const judged = own.find((check) => check.kind === aspect && check.verdict !== "unjudged");
  if (judged !== undefined) return [judged.baseline_bytes ?? medians[0], judged.candidate_bytes ?? medians[1]];
  // A leak without a judged growth is reported by its own size.
  const alone = own.find(({ kind, verdict }) => aspect === "growth" && kind === "class" && verdict === "fail");
  return [medians[0], alone?.candidate_bytes ?? medians[1]];
}

/** Name and number of runs of a side, with its command where the two differ. */
function sideText({ name, measurements }: ComparisonSide, { fingerprint }: Judgement): string {
  const differs = fingerprint.some(({ field }) => field === "command");
  const command = differs ? `: ${measurements.fingerprint?.command}` : "";
  return safe(`${name} (${plural(measurements.runs.length, "run")})${command}`);
}

/** Both sides in one table, each row with the limit it was judged by, then the judgement. */
export function renderComparisonTerminal(
  sides: { readonly a: ComparisonSide; readonly b: ComparisonSide },
  judgement: Judgement,
  options: { readonly color: boolean; readonly width: number },
): string {
  const measurements = { a: sides.a.measurements, b: sides.b.measurements };
  const found = [...indexSeries(measurements.a), ...indexSeries(measurements.b)].map(({ key }) => key);
  const keys = found.filter((key, at) => found.findIndex((one) => sameSeries(one, key)) === at);
  const size = (value: number | null) => (value === null ? "unknown" : formatBytes(value));
  const { checks } = judgement;
  const rows = keys.flatMap((key) =>
    (["peak", "growth", "class"] as const).map((aspect: Aspect) => {
      const check = checks.find((one) => one.kind === aspect && one.limit === "baseline" && sameSeries(one, key));
      const head = (sign: string) => `${sign} ${escapeTerminal(labelOf(key, keys))} ${aspect}`;
      const sign = check === undefined ? " " : VERDICT_LOOK[check.verdict].sign;
      if (aspect === "class") {
        const classes = [classOf(measurements.a, key), check?.candidate_class ?? classOf(measurements.b, key)];
        // A class that is not known on one side was not compared.
        const known = check?.verdict !== "pass" || classes.every((one) => !UNKNOWN.has(one));
        return [head(known ? sign : " "), ...classes, "", ""];
      }
      const [left, right] = valuesOf(measurements, key, aspect, checks);
      const delta = left === null || right === null ? "" : formatBytesDelta(right - left);
      const limit = check?.threshold_bytes ?? null;
      return [head(sign), size(left), size(right), delta, limit === null ? "" : formatBytes(limit)];
    }),
  );
  const table = [["", "A", "B", "difference", "limit"], ...rows].map((row) => row.map((text) => cell(text)));
  const lines = alignRows(table, [false, true, true, true, true]);
  // The rows above are those of the checks, and the commands stand beside the names.
  const fingerprint = judgement.fingerprint.filter(({ field }) => field !== "command");
  const answer = renderJudgementTerminal({ ...judgement, checks: [], fingerprint }, options).replace(/\n{3,}/g, "\n\n");
  return [`A  ${sideText(sides.a, judgement)}`, `B  ${sideText(sides.b, judgement)}`, "", ...lines, "", answer].join(
    "\n",
  );
}
