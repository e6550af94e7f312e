import { escapeHtml } from "../../core/escape.ts";
import { countedNotes } from "../../core/text.ts";
import { readAsset } from "../drawing/assets.ts";
import { htmlPage } from "../drawing/page.ts";
import { VERDICT_LOOK } from "../drawing/palette.ts";
import { byUrgency, type GateReport, type ScenarioReport } from "../model/gate-report.ts";
import type { AcceptCommand } from "../wording/next-steps.ts";
import { costText } from "../wording/wording.ts";
import { pageData } from "./page-data.ts";
import { list, sectionHtml } from "./page-section.ts";

/** The whole report as one HTML page that works offline, with interactive charts. */
export function renderTimelineHtml(report: GateReport, accept?: AcceptCommand): string {
  const scenarios = byUrgency(report.scenarios);
  const look = VERDICT_LOOK[report.verdict];
  const name = scenarios.length === 1 ? scenarios[0]!.scenario : `${scenarios.length} scenarios`;
  const notes = countedNotes(report.warnings);
  return htmlPage({
    title: `${look.label} ${name}: memory over time`,
    styles: [readAsset("uPlot.min.css").toString("utf8")],
    scripts: [readAsset("uPlot.iife.min.js").toString("utf8"), readAsset("timeline-viewer.js").toString("utf8")],
    data: pageData(scenarios),
    body: `<header><span class="verdict ${report.verdict}">${look.sign} ${look.label}</span><h1>${escapeHtml(name)}</h1></header>
${scenarios.length > 1 ? switcher(scenarios) : ""}
${scenarios.map((scenario, index) => sectionHtml(scenario, index, scenarios.length > 1, accept)).join("\n")}
${notes.length > 0 ? `<details><summary>Notes (${notes.length})</summary>${list(notes.map(escapeHtml))}</details>` : ""}
<footer class="soft">${footer(report)}</footer>`,
  });
}

function switcher(scenarios: readonly ScenarioReport[]): string {
  const buttons = scenarios.map(
    (scenario, index) =>
      `<button type="button" data-scenario="${index}" aria-pressed="${index === 0}">${VERDICT_LOOK[scenario.verdict].sign} ${escapeHtml(scenario.scenario)}</button>`,
  );
  return `<nav>${buttons.join("")}</nav>`;
}

function footer(report: GateReport): string {
  const parts = [`stormlog-gate ${report.tool.version}`, costText(report.cost), report.generated_at_utc];
  if (report.commit !== null) parts.splice(1, 0, `commit ${report.commit.slice(0, 10)}`);
  return parts.map(escapeHtml).join(" · ");
}
