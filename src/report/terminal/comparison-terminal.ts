import type { Measurements } from "../../analysis/measurements.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { groupBy } from "../../core/group-by.ts";
import { plural } from "../../core/text.ts";
import { median } from "../../stats/order-statistics.ts";
import { formatSize, METRIC, metricLabel } from "../../telemetry/recording/metrics.ts";
import type { Check, CheckVerdict, Judgement } from "../../verdict/model/judgement.ts";
import {
  commonClass,
  indexSeries,
  type SeriesKey,
  type SeriesRun,
  seriesName,
} from "../../verdict/model/series-index.ts";
import { VERDICT_LOOK } from "../drawing/palette.ts";
import { renderJudgementTerminal } from "./terminal.ts";
import { alignRows, cell, painter, paintVerdict, safe } from "./terminal-table.ts";

interface ComparisonSide {
  readonly name: string;
  readonly measurements: Measurements;
}

const UNKNOWN: ReadonlySet<string> = new Set(["insufficient", "unavailable", "unknown"]);

/** A series in the runs of both sides, with its checks against the baseline. */
interface ComparedSeries {
  readonly key: SeriesKey;
  readonly a: readonly SeriesRun[];
  readonly b: readonly SeriesRun[];
  readonly checks: readonly Check[];
}

/** The series of A in the order of their keys, then those of B alone; what counts on request stands there if judged. */
function comparedSeries(a: Measurements, b: Measurements, checks: readonly Check[]): readonly ComparedSeries[] {
  const runsOf = (side: Measurements) => new Map(indexSeries(side).map((one) => [seriesName(one.key), one] as const));
  const [ofA, ofB] = [runsOf(a), runsOf(b)];
  const checksOf = groupBy(
    checks.filter(({ limit }) => limit === "baseline"),
    seriesName,
  );
  return [...new Map([...ofA, ...ofB])]
    .map(([name, { key }]) => ({
      key,
      a: ofA.get(name)?.runs ?? [],
      b: ofB.get(name)?.runs ?? [],
      checks: checksOf.get(name) ?? [],
    }))
    .filter(({ key, checks }) => checks.length > 0 || !METRIC[key.metric].isOnRequest);
}

/** The median of one feature over a side's runs; null when no run has it. */
function medianOf(runs: readonly SeriesRun[], feature: "peak_bytes" | "growth_bytes"): number | null {
  const known = runs.map(({ series }) => series[feature]).filter((value) => typeof value === "number");
  return known.length === 0 ? null : median(known);
}

const classOf = (runs: readonly SeriesRun[]): string => commonClass(runs) ?? "unknown";

/** "rank 1 allocated on cuda:0", with rank and device where they distinguish series. */
function labels(all: readonly SeriesKey[]): (key: SeriesKey) => string {
  const ranks = new Set(all.map((one) => one.rank)).size > 1;
  const devices = new Set(all.map((one) => one.device)).size > 1;
  return ({ rank, device, metric, phase }) => {
    const on = devices && device !== metric ? ` on ${device}` : "";
    return `${ranks ? `rank ${rank} ` : ""}${metricLabel(metric)}${on}${phase === undefined ? "" : ` in ${phase}`}`;
  };
}

/**
 * The values of a row: those that decided its check, so that the sentence below repeats them, and otherwise the medians
 * over the runs of each side.
 */
function valuesOf(
  { a, b, checks }: ComparedSeries,
  aspect: "peak" | "growth",
): readonly [number | null, number | null] {
  const feature = aspect === "peak" ? "peak_bytes" : "growth_bytes";
  const medians = [medianOf(a, feature), medianOf(b, feature)] as const;
  const own = checks.find(({ kind }) => kind === aspect);
  if (own !== undefined && own.verdict !== "unjudged")
    return [own.baseline_bytes ?? medians[0], own.candidate_bytes ?? medians[1]];
  // A leak whose growth is not judged has the value of the growth check, as `judge` and the document have it. The class
  // check has the largest growth of all runs.
  const leak = checks.find(({ kind, verdict }) => aspect === "growth" && kind === "class" && verdict === "fail");
  if (leak === undefined) return medians;
  return [medians[0], own?.candidate_bytes ?? leak.candidate_bytes ?? medians[1]];
}

/** Name and number of runs of a side, with its command where the two differ. */
function sideText({ name, measurements }: ComparisonSide, { fingerprint }: Judgement): string {
  const differs = fingerprint.some(({ field }) => field === "command");
  const command = differs ? `: ${measurements.fingerprint?.command}` : "";
  return safe(`${name} (${plural(measurements.runs.length, "run")})${command}`);
}

/** The answers for several scenarios under their names, then the worst verdict, that of the last one. */
export function renderScenariosTerminal(
  answers: readonly { readonly scenario: string; readonly verdict: CheckVerdict; readonly render: () => string }[],
  color: boolean,
): string {
  const paint = painter(color);
  const counts = [...groupBy(answers, ({ verdict }) => verdict)].reverse();
  const worst = answers.at(-1)?.verdict ?? "unjudged";
  const { sign, label } = VERDICT_LOOK[worst];
  const mark = paintVerdict(paint, worst, `${sign} ${label}`);
  return [
    ...answers.flatMap(({ scenario, render }) => [paint.bold(`Scenario ${safe(scenario)}`), render(), ""]),
    `${mark}  ${plural(answers.length, "scenario")}: ` +
      counts.map(([verdict, { length }]) => `${length} ${verdict}`).join(", "),
  ].join("\n");
}

/** Both sides in one table, each row with the limit it was judged by, then the judgement. */
export function renderComparisonTerminal(
  sides: { readonly a: ComparisonSide; readonly b: ComparisonSide },
  judgement: Judgement,
  options: { readonly color: boolean; readonly width: number },
): string {
  const compared = comparedSeries(sides.a.measurements, sides.b.measurements, judgement.checks);
  const labelOf = labels(compared.map(({ key }) => key));
  const rows = compared.flatMap((one) =>
    (["peak", "growth", "class"] as const).map((aspect) => {
      const check = one.checks.find(({ kind }) => kind === aspect);
      const head = (sign: string) => `${sign} ${escapeTerminal(labelOf(one.key))} ${aspect}`;
      const sign = check === undefined ? " " : VERDICT_LOOK[check.verdict].sign;
      if (aspect === "class") {
        const classes = [classOf(one.a), check?.candidate_class ?? classOf(one.b)];
        // A class that is not known on one side was not compared.
        const known = check?.verdict !== "pass" || classes.every((name) => !UNKNOWN.has(name));
        return [head(known ? sign : " "), ...classes, "", ""];
      }
      const { metric } = one.key;
      const size = (value: number | null) => (value === null ? "unknown" : formatSize(metric, value));
      const [left, right] = valuesOf(one, aspect);
      const delta = left === null || right === null ? "" : formatSize(metric, right - left, "delta");
      const limit = check?.threshold_bytes ?? null;
      return [head(sign), size(left), size(right), delta, limit === null ? "" : formatSize(metric, limit)];
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
