import { type SeriesAnalysis, stepNoun } from "../../analysis/series/document.ts";
import { cutText, plural } from "../../core/text.ts";
import { formatDuration, formatShort } from "../../core/units.ts";
import { formatSize, isCounted, METRIC, metricLabel, metricNoun } from "../../telemetry/recording/metrics.ts";
import { MEMORY_SETTINGS } from "../../telemetry/recording/model.ts";
import type { Check, Judgement } from "../../verdict/model/judgement.ts";
import { judgementDocument } from "../../verdict/model/judgement-document.ts";
import { sameSeries } from "../../verdict/model/series-index.ts";
import { comparedValue, type DecisiveRun, decisiveRun, growingProcess, newestAnalysis } from "../model/decisive-run.ts";
import type { ScenarioReport } from "../model/gate-report.ts";
import { projectionText } from "../wording/cycle-text.ts";
import { capital } from "../wording/wording.ts";
import { type Cause, causesOf } from "./causes.ts";
import { detectable } from "./detectable.ts";
import { type LineAnswer, leakLine, requestText } from "./line-answer.ts";
import { describingSeries, sizeFormat, withValue } from "./shown-rows.ts";

/** Maximum length of an answer's first line, characters. */
const MAX_SENTENCE = 100;

/** Classes of a series that does not go on growing. */
const STILL = new Set(["flat", "plateau", "step", "spike", "sawtooth", "shrink"]);

/** One sentence: what, how much, where or over what, how sure. Not escaped. */
export function answerSentence(scenario: ScenarioReport): string {
  const { judgement, error } = scenario;
  if (judgement === null || (scenario.verdict === "error" && error !== null)) {
    return error?.message ?? "nothing was measured";
  }
  switch (scenario.verdict) {
    case "pass":
      return passSentence(scenario, judgement);
    case "unjudged":
      return unjudgedSentence(scenario, judgement);
    case "warn":
    case "fail":
    case "error":
      return breachSentence(scenario, judgement);
  }
}

/** The sentence of a judgement without runs, as `judge` and `compare` print it. */
export function judgementSentence(judgement: Judgement): string {
  const [cause] = causesOf(judgement.checks);
  if (cause === undefined || (judgement.verdict !== "fail" && judgement.verdict !== "warn")) {
    return capital(judgement.reason);
  }
  return capital(`${breach(cause, judgement, null, null)}${certainty(cause.decisive, judgement, null)}`);
}

function breachSentence(scenario: ScenarioReport, judgement: Judgement): string {
  const [cause] = causesOf(judgement.checks);
  if (cause === undefined) return capital(judgement.reason);
  const found = decisiveRun(scenario.runs, cause.decisive);
  const isMemory = !isCounted(cause.decisive.metric);
  const line = cause.kind === "leak" && isMemory ? leakLine(scenario.findings) : null;
  const certain = certainty(cause.decisive, judgement, scenario);
  const withoutPackage = line === null ? null : { ...line, package: null };
  let text = "";
  for (const [named, brief] of [
    [line, false],
    [line, true],
    [withoutPackage, true],
  ] as const) {
    const request = cause.kind === "oom" ? requestText(scenario.findings, brief) : null;
    const sure = request === null ? certain : `: ${request}`;
    text = capital(`${breach(cause, judgement, found, named, brief)}${sure}`);
    if (text.length <= MAX_SENTENCE) break;
  }
  return `${cutText(text, MAX_SENTENCE)}${missingRunsText(judgement)}`;
}

/** "in validation on rank 3": with the device where the checks cover several; "" where there is one of each. */
function seriesOf({ decisive }: Cause, judgement: Judgement): string {
  const { rank, device, metric, phase } = decisive;
  const parts: string[] = [];
  if (judgement.checks.some((one) => one.rank > 0)) parts.push(`rank ${rank}${hostOf(rank, judgement)}`);
  const devices = new Set(judgement.checks.map((one) => one.device));
  if (devices.size > 1 && device !== metric && device !== "host") parts.push(device);
  const within = phase === undefined ? "" : ` in ${phase}`;
  return parts.length === 0 ? within : `${within} on ${parts.join(", ")}`;
}

/** " (node1)": the host of a rank, where the judgement's reason contains it. */
function hostOf(rank: number, { reason }: Judgement): string {
  const [, named, host] = /\brank (\d{1,7}) \(on ([^()]{1,80})\)/.exec(reason) ?? [];
  return host !== undefined && Number(named) === rank ? ` (${host})` : "";
}

/** What breached, and by how much; `brief` leaves out the baseline and the directories of a file. */
function breach(
  cause: Cause,
  judgement: Judgement,
  found: DecisiveRun | null,
  line: LineAnswer | null,
  brief = false,
): string {
  const { decisive } = cause;
  const process = cause.kind === "leak" || cause.kind === "growth" ? growingProcess(found, decisive) : null;
  const where = `${seriesOf(cause, judgement)}${process === null ? "" : ` in ${process}`}`;
  if (decisive.kept_bytes !== undefined)
    return `${metricNoun(decisive.metric)} grows by ${formatShort(decisive.kept_bytes)} that the C heap keeps${where}`;
  switch (cause.kind) {
    case "leak": {
      if (METRIC[decisive.metric].isLeftBehind)
        return `${formatShort(decisive.candidate_bytes ?? 0)} of files in RAM outlive the command${where}`;
      const at = line === null ? "" : ` at ${brief ? (line.location.split("/").at(-1) ?? "") : line.location}`;
      const owner = line === null || line.package === null ? "" : `, ${line.package}`;
      const only = decisive.verdict === "warn" && !isCounted(decisive.metric) ? `${metricLabel(decisive.metric)} ` : "";
      return `${only}leak of ${leakAmount(decisive, found)}${where}${at}${owner}`;
    }
    case "oom":
      return `${decisive.reason}${where}`;
    case "budget":
    case "growth":
    case "peak":
      return overLimit(withValue(decisive, found?.run ?? null), where, brief);
  }
}

/** The series whose rate is that of the leak: a heap's counter has one process of several, whose leak is larger. */
function wholeLeak(found: DecisiveRun | null): SeriesAnalysis | undefined {
  const series = found?.series;
  const analysis = found?.run.analysis;
  if (series === undefined || analysis?.processes === undefined || series.device !== "host") return series;
  const host = analysis.series.find(({ metric, rank }) => metric === "host" && rank === series.rank);
  const isLarger = host?.class === "leak" && (host.growth_bytes ?? 0) > (series.growth_bytes ?? 0);
  return isLarger ? host : series;
}

/** "281 KiB a step", "26.5 MiB/s" or "60.5 MiB in 2.4 s". */
export function leakAmount(check: Check, found: DecisiveRun | null): string {
  const series = wholeLeak(found);
  const size = (bytes: number): string => formatSize(check.metric, bytes, "short");
  const perStep = series?.slope_bytes_per_step ?? null;
  const perSecond = series?.slope_bytes_per_s ?? null;
  if (perStep !== null && perStep > 0) return `${size(perStep)} a ${stepNoun(series ?? {})}`;
  if (perSecond !== null && perSecond > 0) return `${size(perSecond)}/s`;
  const bytes = check.candidate_bytes ?? series?.growth_bytes ?? null;
  const seconds = series?.duration_s ?? null;
  const during = seconds === null ? "" : ` in ${formatDuration(seconds)}`;
  return bytes === null ? "unknown size" : `${size(bytes)}${during}`;
}

function overLimit(check: Check, where: string, brief: boolean): string {
  const { candidate_bytes: value, threshold_bytes: limit, baseline_bytes: baseline } = check;
  if (value === null || limit === null || value <= limit)
    return `${metricLabel(check.metric)}${where}: ${check.reason}`;
  const name = `${metricLabel(check.metric)} ${check.aspect}${check.horizon === undefined ? "" : ` ${check.horizon}`}`;
  const of = { budget: "the budget", baseline: "the limit", anchor: "the last release's limit" }[check.limit];
  const size = sizeFormat(check);
  const known = brief || baseline === null ? "" : ` (baseline ${size(baseline)})`;
  return `${name} ${size(value)}${where}, ${formatSize(check.metric, value - limit, "short")} above ${of} of ${size(limit)}${known}`;
}

/** ", confirmed in 4 of 4 runs"; "" where one run is enough, and for a warning. */
export function certainty(check: Check, { verdict }: Judgement, scenario: ScenarioReport | null): string {
  if (check.cache_unless !== undefined) return `, or a cache (${check.cache_unless} would decide)`;
  if (check.kept_bytes !== undefined) return "; what is in use stops growing";
  if (check.verdict === "warn") return check.gating ? ", not certain" : ", which does not gate";
  if (verdict !== "fail" || check.limit === "budget") return "";
  if (!check.confirmed) return ", unconfirmed";
  const shown = scenario === null ? [] : scenario.runs.flatMap((run) => decisiveRun([run], check)?.series ?? []);
  const breaching = shown.filter((series) => breaches(series, check)).length;
  return breaching > 1 ? `, confirmed in ${breaching} of ${shown.length} runs` : ", confirmed";
}

/** "; needs 2 more runs of the change and 1 of the base": what the limits left out; "" where nothing is missing. */
export function missingRunsText(judgement: Judgement): string {
  const { needs_more_runs: candidate, needs_base_runs: base } = judgementDocument(judgement);
  const needs = [
    ...(candidate > 0 ? [`${plural(candidate, "more run")} of the change`] : []),
    ...(base > 0 ? [candidate > 0 ? `${base} of the base` : `${plural(base, "run")} of the base`] : []),
  ];
  return needs.length === 0 ? "" : `; needs ${needs.join(" and ")}`;
}

/** Whether one run shows what a check fails by; false where that is not known, as for a projected growth. */
function breaches(series: SeriesAnalysis, check: Check): boolean {
  if (check.horizon !== undefined) return false;
  const { threshold_bytes: limit } = check;
  if (limit === null) return check.kind === "class" && series.class === "leak";
  const value = comparedValue(series, check);
  return value !== null && value > limit;
}

/** The peak that the sentence of a pass is about: an improved one, else the nearest to its limit. */
function peakOfPass({ checks }: Judgement): Check | undefined {
  const load = ({ candidate_bytes: value, threshold_bytes: limit }: Check): number =>
    value === null || limit === null || limit <= 0 ? Number.NEGATIVE_INFINITY : value / limit;
  return checks
    .filter(({ gating, aspect, candidate_bytes }) => gating && aspect === "peak" && candidate_bytes !== null)
    .sort((a, b) => Number(b.improved) - Number(a.improved) || load(b) - load(a))[0];
}

function passSentence(scenario: ScenarioReport, judgement: Judgement): string {
  const peak = peakOfPass(judgement);
  if (peak?.candidate_bytes == null) return capital(judgement.reason);
  const { candidate_bytes: value, threshold_bytes: limit, baseline_bytes: baseline } = peak;
  // Above its limit it passes for a reason, such as a base commit that is as high.
  if (limit !== null && value > limit) return cutText(capital(peak.reason), MAX_SENTENCE);
  const size = sizeFormat(peak);
  const gain =
    peak.improved && baseline !== null
      ? `, ${size(baseline - value)} below the baseline of ${size(baseline)}`
      : limit === null
        ? ""
        : ` (limit ${size(limit)})`;
  const parts = [`${metricLabel(peak.metric)} ${size(value)}${gain}${growthWords(scenario, peak)}`];
  const sees = detectable(scenario, peak);
  const whole = sees === null ? parts : [...parts, `Would detect ${sees}`];
  const text = whole.join(". ");
  return text.length <= MAX_SENTENCE ? text : parts.join(". ");
}

/** ", no growth" where the series was classified and is still; "" where nothing is known. */
function growthWords(scenario: ScenarioReport, check: Check): string {
  const label = decisiveRun(scenario.runs, check)?.series.class;
  if (label === undefined) return "";
  return STILL.has(label) ? ", no growth" : label === "leak" || label === "rising" ? ", growth within its limit" : "";
}

/** The peak of the command as it is, where runs in which V8 collected were judged in its place; else null. Bytes. */
function peakAsItIs({ runs }: ScenarioReport, check: Check): number | null {
  const plain = runs.find(({ role }) => role === "superseded")?.analysis?.series;
  return plain?.find((series) => sameSeries(series, check))?.peak_bytes ?? null;
}

/** The class in a sentence. */
function driftWords(label: string): string {
  return label === "insufficient" ? "too short to judge growth" : label;
}

function unjudgedSentence(scenario: ScenarioReport, judgement: Judgement): string {
  const open =
    scenario.caused_by === undefined
      ? judgement.checks.find(({ verdict, gating }) => verdict === "unjudged" && gating)
      : undefined;
  const reason = (open?.reason ?? judgement.reason).split(": ")[0] ?? judgement.reason;
  // A store is named as it is written: "file:baselines has no usable baseline …".
  const parts = [/^\w+:/.test(reason) ? reason : capital(reason)];
  const shown = describingSeries(newestAnalysis(scenario.runs));
  const peaks = judgement.checks.filter(
    ({ gating, candidate_bytes: bytes, aspect }) => gating && aspect === "peak" && bytes !== null,
  );
  const peak = peaks.find((check) => shown !== null && sameSeries(check, shown)) ?? peaks[0];
  if (peak?.candidate_bytes != null) {
    const label = decisiveRun(scenario.runs, peak)?.series.class;
    const plain = peakAsItIs(scenario, peak);
    const drift =
      label === undefined ? "" : `, ${driftWords(label)}${plain === null ? "" : " after garbage collection"}`;
    parts.push(
      `${capital(metricLabel(peak.metric))} peak ${formatSize(peak.metric, plain ?? peak.candidate_bytes, "short")}${drift}`,
    );
  } else if (judgement.checks.length === 0 && shown?.peak_bytes != null) {
    parts.push(
      `${capital(metricLabel(shown.metric))} peak ${formatShort(shown.peak_bytes)}, ${driftWords(shown.class)}`,
    );
  }
  const [cause] = causesOf(judgement.checks);
  if (cause?.decisive.cache_unless !== undefined) {
    const found = decisiveRun(scenario.runs, cause.decisive);
    const line = leakLine(scenario.findings);
    parts.push(
      `${capital(breach(cause, judgement, found, line, true))}${certainty(cause.decisive, judgement, scenario)}`,
    );
  }
  const sees = detectable(scenario, peak);
  if (sees !== null) parts.push(`A run like this would detect ${sees}`);
  return parts.join(". ");
}

/**
 * What stands below the sentence: when a leak fills the memory, the ranks of which nothing is known, how the baseline
 * was made, and the smallest change that a pass or a warning could show, where the sentence has no room for it. Not
 * escaped.
 */
export function sideNotes(scenario: ScenarioReport): readonly string[] {
  const { judgement, verdict } = scenario;
  // Beside a failure; where it decides, the sentence says it.
  const missing = judgement?.checks.find(
    ({ device, phase, verdict: one }) => device === "*" && phase === undefined && one === "unjudged",
  );
  const comparison = comparisonNote({ judgement });
  const settings = verdict === "fail" || verdict === "warn" ? changedSettings({ judgement }) : [];
  const projection = projectionNote(scenario);
  return [
    ...(projection === null ? [] : [projection]),
    ...settings,
    ...(missing === undefined || verdict === "unjudged" ? [] : [missing.reason]),
    ...(comparison === null ? [] : [comparison]),
    ...detectableNote(scenario),
  ];
}

/** When a leak of a service that fails fills its memory; null where that is not known. */
export function projectionNote({ judgement, verdict, runs }: ScenarioReport): string | null {
  const [cause] = causesOf(judgement?.checks ?? []);
  if (verdict !== "fail" || cause?.kind !== "leak" || isCounted(cause.decisive.metric)) return null;
  const projection = decisiveRun(runs, cause.decisive)?.run.analysis?.projection;
  return projection === undefined ? null : projectionText(projection);
}

/** "transparent hugepages: madvise in the baseline, always here": what may explain a change without one of the code. */
function changedSettings({ judgement }: Pick<ScenarioReport, "judgement">): readonly string[] {
  const of = (value: string | number | null) => (typeof value === "number" ? formatShort(value) : value);
  return (judgement?.fingerprint ?? []).flatMap(({ field, baseline, candidate }) =>
    MEMORY_SETTINGS.some((one) => one === field)
      ? [`${field.replace(/_bytes$/, "").replaceAll("_", " ")}: ${of(baseline)} in the baseline, ${of(candidate)} here`]
      : [],
  );
}

function detectableNote(scenario: ScenarioReport): readonly string[] {
  const { judgement, verdict } = scenario;
  if (judgement === null || (verdict !== "pass" && verdict !== "warn")) return [];
  const about = verdict === "pass" ? peakOfPass(judgement) : causesOf(judgement.checks)[0]?.decisive;
  const sees = about === undefined ? null : detectable(scenario, about);
  return sees === null || answerSentence(scenario).includes(sees) ? [] : [`would detect ${sees}`];
}

/**
 * How the baseline was measured, where that differs: "compared with a baseline of another command: python3 train.py
 * --steps 200". Null when it does not differ or is not known. Not escaped: the command is outside text.
 */
export function comparisonNote({ judgement }: Pick<ScenarioReport, "judgement">): string | null {
  const differences = judgement?.fingerprint ?? [];
  const command = differences.find(({ field }) => field === "command");
  const steps = differences.find(({ field }) => field === "steps");
  const made = steps === undefined ? "" : `${steps.baseline} steps there, ${steps.candidate} here`;
  if (command !== undefined) {
    return `compared with a baseline of another command: ${command.baseline}${made === "" ? "" : ` (${made})`}`;
  }
  return steps === undefined ? null : `compared with a baseline of another length: ${made}`;
}
