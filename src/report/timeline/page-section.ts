import { type SeriesAnalysis, stepNoun } from "../../analysis/series/document.ts";
import { escapeHtml } from "../../core/escape.ts";
import { formatDuration } from "../../core/units.ts";
import { formatSize } from "../../telemetry/recording/metrics.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import { THEMES, VERDICT_LOOK } from "../drawing/palette.ts";
import { fixOf, lineNote, lockText, peakLines, percent } from "../headline/line-answer.ts";
import { peakNotes, peakTables, stackedRows } from "../headline/peak-answer.ts";
import { answerSentence, projectionNote } from "../headline/sentence.ts";
import { rowCells, shownRows } from "../headline/shown-rows.ts";
import { newestAnalysis } from "../model/decisive-run.ts";
import type { ScenarioReport } from "../model/gate-report.ts";
import { ACCEPT, type AcceptCommand, nextSteps, RUN } from "../wording/next-steps.ts";
import {
  baselineText,
  capital,
  checkCells,
  checkName,
  differenceText,
  excuseNotes,
  exitText,
  findingName,
  findingSeries,
  processTable,
  seriesLabel,
  shownRunText,
  sizeCell,
  sortChecks,
  type TextTable,
} from "../wording/wording.ts";
import { drawComposition, renderFlame } from "./composition-svg.ts";
import { type PagePanel, panelsOf } from "./page-data.ts";

const MAX_CHECKS = 200;

/** One scenario: the sentence, its picture, its line, what failed and what to do; the rest is folded. */
export function sectionHtml(scenario: ScenarioReport, index: number, isNamed: boolean, accept?: AcceptCommand): string {
  const panels = panelsOf(scenario);
  const look = VERDICT_LOOK[scenario.verdict];
  const title = isNamed ? `<h2>${look.label} ${escapeHtml(scenario.scenario)}</h2>` : "";
  const sentence = answerSentence(scenario);
  const projection = projectionNote(scenario);
  const parts = [
    title,
    `<p class="reason">${escapeHtml(capital(sentence))}</p>`,
    projection === null ? "" : `<p>${escapeHtml(capital(projection))}.</p>`,
    ...excuseNotes(scenario).map((text) => `<p>${escapeHtml(text)}</p>`),
    panels.length === 0 ? `<p class="soft">No memory samples were recorded.</p>` : charts(panels, "deciding"),
    shownRunLine(scenario),
    causeLines(scenario),
    peakSection(scenario),
    failedTable(scenario),
    steps(scenario, accept),
    ...folds(scenario, panels),
  ];
  return `<section data-scenario="${index}"${index === 0 ? "" : " hidden"}>${parts.filter((part) => part !== "").join("\n")}</section>`;
}

function charts(panels: readonly PagePanel[], place: PagePanel["place"]): string {
  return panels
    .map((panel, at) => {
      if (panel.place !== place) return "";
      const far = panel.far.map(({ name, bytes }) => `${name} ${panel.counted ? bytes : sizeCell(bytes)}`).join(", ");
      const above = far === "" ? "" : ` <span class="soft">${escapeHtml(far)}, above the chart</span>`;
      return `<figure><figcaption>${escapeHtml(panel.label)}${above}</figcaption><div class="chart" data-panel="${at}"></div></figure>`;
    })
    .join("");
}

function shownRunLine({ timeline }: ScenarioReport): string {
  const shown = shownRunText(timeline);
  return shown === null ? "" : `<p class="soft">The picture and the deciding sizes are those of ${shown}.</p>`;
}

/** The line of the growth, or the lines of a higher peak. */
function causeLines({ timeline, findings }: ScenarioReport): string {
  const cause = timeline?.cause ?? null;
  if (cause === null) {
    const peak = peakLines(findings).map((line) => causeLine(line.location, line.code, lineNote(line)));
    return peak.join("\n");
  }
  const note = cause.share === null ? null : `${percent(cause.share)} of the growth`;
  return causeLine(cause.location, cause.code, note);
}

function causeLine(location: string, text: string | null, note: string | null): string {
  const code = text === null ? "" : `<code>${escapeHtml(text)}</code>`;
  const share = note === null ? "" : `<span class="soft">${escapeHtml(note)}</span>`;
  return `<p class="cause"><code class="soft">${escapeHtml(location)}</code>${code}${share}</p>`;
}

const PAGE_BARS = {
  left: 0,
  right: 1200,
  top: 0,
  theme: { ...THEMES.light, text: "currentColor", soft: "currentColor", band: "#8c959f" },
};

/** What the peak consists of: its bars, and one click away its flame graph and tables. */
function peakSection({ peak }: ScenarioReport): string {
  if (peak === undefined) return "";
  const { bytes, compared_bytes } = peak;
  const { svg, bottom } = drawComposition({ rows: stackedRows(peak), bytes, compared_bytes }, PAGE_BARS);
  const bars = `<svg viewBox="0 0 1200 ${bottom}" width="100%" font-family="DejaVu Sans, sans-serif">${svg}</svg>`;
  const tables = peakTables(peak).map(namedRows);
  const notes = peakNotes(peak).map(escapeHtml);
  const flame =
    peak.flame.length === 0 ? "" : `<details><summary>The peak by stack</summary>${renderFlame(peak.flame)}</details>`;
  const more = `<details><summary>The peak by category, phase and line</summary>${tables.join("")}${list(notes)}</details>`;
  return `${bars}${flame}${more}`;
}

interface TableColumn<Row> {
  readonly head: string;
  /** Text of outside; escaped here. */
  readonly cell: (row: Row) => string;
  /** Written as it is instead. */
  readonly html?: (row: Row) => string;
  readonly isText?: boolean;
}

/** A table whose rows a narrow screen shows one below the other; columns without any value are left out. */
function table<Row>(rows: readonly Row[], all: readonly TableColumn<Row>[]): string {
  const columns = all.filter(({ cell, html }) => html !== undefined || rows.some((row) => !isBlank(cell(row))));
  const kind = ({ isText }: TableColumn<Row>) => (isText ? ' class="text"' : "");
  const head = columns.map((column) => `<th${kind(column)}>${column.head}</th>`).join("");
  const body = rows.map((row) => {
    const cells = columns.map((column) => {
      const text = column.cell(row);
      const blank = isBlank(text) && column.html === undefined ? " data-blank" : "";
      return `<td data-label="${column.head}"${blank}${kind(column)}><span>${column.html?.(row) ?? escapeHtml(text)}</span></td>`;
    });
    return `<tr>${cells.join("")}</tr>`;
  });
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table>`;
}

function isBlank(text: string): boolean {
  return text === "" || text === "–";
}

function checkColumns(
  all: readonly Check[],
  cells: (check: Check) => ReturnType<typeof rowCells> = checkCells,
): readonly TableColumn<Check>[] {
  return [
    {
      head: "Check",
      isText: true,
      cell: (check) => checkName(check, all),
      html: (check) => {
        const look = VERDICT_LOOK[check.verdict];
        return `<span class="mark ${check.verdict}" title="${look.label}">${look.sign}</span>${escapeHtml(checkName(check, all))}`;
      },
    },
    { head: "This change", cell: (check) => cells(check).candidate },
    { head: "Baseline", cell: (check) => cells(check).baseline },
    { head: "Limit", cell: (check) => cells(check).limit },
  ];
}

/** The checks that made the verdict; nothing for a pass. */
function failedTable(scenario: ScenarioReport): string {
  const { judgement, verdict } = scenario;
  if (judgement === null || verdict === "pass") return "";
  const rows = shownRows(scenario);
  const decided = rows.length > 0 ? rows : judgement.checks.filter(({ verdict }) => verdict === judgement.verdict);
  if (decided.length === 0) return "";
  const heading = { fail: "What failed", warn: "What warns", unjudged: "What was not judged", pass: "Checks" };
  // Rows of the table of what failed; the others are in the fold of all checks.
  return `<h2>${heading[judgement.verdict]}</h2><div class="decided">${table(decided.slice(0, 8), checkColumns(judgement.checks, rowCells))}</div>`;
}

function steps(scenario: ScenarioReport, accept: AcceptCommand | undefined): string {
  const fix = fixOf(scenario);
  // The page does not repeat the measured command: it is kept, and the command may contain a secret.
  const complete = (command: string) => (command === ACCEPT ? (accept?.(scenario) ?? command) : command);
  const items = nextSteps(scenario).map(
    ({ name, text, command }) =>
      escapeHtml(`${name}: ${text}`) +
      (command && command !== RUN ? ` <code>${escapeHtml(complete(command))}</code>` : ""),
  );
  if (fix !== null) items.unshift(escapeHtml(`Fix: ${fix}`));
  return items.length === 0 ? "" : `<h2>What to do next</h2>${list(items)}`;
}

function folds(scenario: ScenarioReport, panels: readonly PagePanel[]): string[] {
  const checks = scenario.judgement?.checks ?? [];
  const others = panels.filter(({ place }) => place === "other").length;
  const processes = processTable(scenario);
  const locked = lockText(scenario);
  const environment = [
    ...(locked === null ? [] : [locked]),
    baselineText(scenario),
    ...(scenario.judgement?.fingerprint ?? []).map(differenceText),
  ];
  for (const [field, value] of Object.entries(scenario.fingerprint)) {
    if (value !== null) environment.push(`${field}: ${value}`);
  }
  const texts: readonly (readonly [string, string])[] = [
    [`All checks (${checks.length})`, checks.length === 0 ? "" : checksTable(checks)],
    [`Other series (${others})`, charts(panels, "other")],
    [`Findings (${scenario.findings.length})`, findings(scenario)],
    [`Processes (${processes.rows.length})`, processes.rows.length === 0 ? "" : namedRows(processes)],
    [`Runs (${scenario.runs.length})`, runsTable(scenario)],
    ["Environment", list(environment.map(escapeHtml))],
    ["Statistics", statistics(scenario)],
  ];
  const folded = texts.flatMap(([summary, html]) =>
    html === "" ? [] : [`<details><summary>${escapeHtml(summary)}</summary>${html}</details>`],
  );
  return [accountFold(scenario, panels), ...folded];
}

/** What host memory consists of, open where host memory decided. */
function accountFold({ verdict }: ScenarioReport, panels: readonly PagePanel[]): string {
  const account = panels.find(({ place }) => place === "account");
  if (account === undefined) return "";
  const open = account.isLinked && verdict !== "pass" ? " open" : "";
  const note = "In use and kept: by heaps that have a counter. The rest is in none of them.";
  return `<details${open}><summary>What host memory consists of</summary><p class="soft">${note}</p>${charts(panels, "account")}</details>`;
}

function checksTable(checks: readonly Check[]): string {
  const rows = sortChecks(checks).slice(0, MAX_CHECKS);
  const note =
    checks.length > rows.length ? `<p class="soft">…and ${checks.length - rows.length} more in report.json.</p>` : "";
  const more: readonly TableColumn<Check>[] = [
    { head: "Would detect", cell: (check) => checkCells(check).sees },
    { head: "Why", isText: true, cell: ({ reason }) => reason },
  ];
  return table(rows, [...checkColumns(checks), ...more]) + note;
}

function namedRows({ head, rows }: TextTable): string {
  return table(
    rows,
    head.map((name, i) => ({ head: capital(name), isText: i === 0, cell: (row) => row[i] ?? "" })),
  );
}

function runsTable({ runs }: ScenarioReport): string {
  if (runs.length === 0) return "";
  return table(runs.slice(0, 100), [
    { head: "Run", isText: true, cell: ({ directory }) => directory },
    { head: "Of", isText: true, cell: ({ role }) => role },
    { head: "Ended", isText: true, cell: ({ info }) => capital(exitText(info.exit)) },
    {
      head: "Time",
      cell: ({ info }) => (info.clock.duration_s === null ? "–" : formatDuration(info.clock.duration_s)),
    },
    { head: "Commit", cell: ({ info }) => info.commit?.slice(0, 10) ?? "–" },
  ]);
}

/** What the newest candidate run showed of each series, and what it would have. */
function statistics({ runs }: ScenarioReport): string {
  const series = (newestAnalysis(runs)?.series ?? []).slice(0, MAX_CHECKS);
  if (series.length === 0) return "";
  const ranks = new Set(series.map(({ rank }) => rank)).size > 1;
  const slope = (one: SeriesAnalysis) => {
    const { metric, slope_interval: interval, steps } = one;
    if (interval === null) return "–";
    const unit = steps === null ? "second" : stepNoun(one);
    return `${formatSize(metric, interval[0], "delta")} to ${formatSize(metric, interval[1], "delta")} a ${unit}`;
  };
  return table(series, [
    { head: "Series", isText: true, cell: (one) => seriesLabel(one, ranks) },
    { head: "Class", cell: (one) => one.class },
    { head: "Samples", cell: ({ samples }) => samples.toLocaleString("en-US") },
    { head: "Slope, 95 %", cell: slope },
    { head: "Growth", cell: ({ metric, growth_bytes }) => sizeCell(growth_bytes, metric) },
    { head: "Would detect", cell: ({ metric, mde_bytes }) => sizeCell(mde_bytes, metric) },
  ]);
}

function findings(scenario: ScenarioReport): string {
  const items = scenario.findings.slice(0, 50).map((finding) => {
    const series = findingSeries(finding);
    const where = series === "" ? "" : ` (${series})`;
    const hint = finding.remediation.map((text) => `<br><span class="soft">${escapeHtml(text)}</span>`).join("");
    return `<strong>${escapeHtml(findingName(finding))}</strong>${escapeHtml(where)}: ${escapeHtml(finding.description)}${hint}`;
  });
  return items.length === 0 ? "" : list(items);
}

/** Items are HTML. */
export function list(items: readonly string[]): string {
  return `<ul>${items.map((item) => `<li>${item}</li>`).join("")}</ul>`;
}
