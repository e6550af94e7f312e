import { createHash } from "node:crypto";
import { escapeHtml } from "../../core/escape.ts";
import { countedNotes } from "../../core/text.ts";
import { readAsset } from "../drawing/assets.ts";
import { VERDICT_LOOK } from "../drawing/palette.ts";
import { byUrgency, type GateReport, type ScenarioReport } from "../model/gate-report.ts";
import type { AcceptCommand } from "../wording/next-steps.ts";
import { costText } from "../wording/wording.ts";
import { pageData } from "./page-data.ts";
import { list, sectionHtml } from "./page-section.ts";

/**
 * The whole report as one HTML page that works offline, with interactive charts. It loads nothing: its content security
 * policy allows only its two scripts and two styles, by their digests.
 */
export function renderTimelineHtml(report: GateReport, accept?: AcceptCommand): string {
  const scenarios = byUrgency(report.scenarios);
  const library = readAsset("uPlot.iife.min.js").toString("utf8");
  const viewer = readAsset("timeline-viewer.js").toString("utf8");
  const libraryStyle = readAsset("uPlot.min.css").toString("utf8");
  const pageStyle = readAsset("timeline-page.css").toString("utf8");
  const policy = [
    "default-src 'none'",
    `script-src ${digest(library)} ${digest(viewer)}`,
    `style-src ${digest(libraryStyle)} ${digest(pageStyle)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const look = VERDICT_LOOK[report.verdict];
  const name = scenarios.length === 1 ? scenarios[0]!.scenario : `${scenarios.length} scenarios`;
  const notes = countedNotes(report.warnings);
  const json = JSON.stringify(pageData(scenarios)).replaceAll("<", "\\u003c");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(`${look.label} ${name}`)}: memory over time</title>
<style>${libraryStyle}</style>
<style>${pageStyle}</style>
</head>
<body>
<main>
<header><span class="verdict ${report.verdict}">${look.sign} ${look.label}</span><h1>${escapeHtml(name)}</h1></header>
${scenarios.length > 1 ? switcher(scenarios) : ""}
${scenarios.map((scenario, index) => sectionHtml(scenario, index, scenarios.length > 1, accept)).join("\n")}
${notes.length > 0 ? `<details><summary>Notes (${notes.length})</summary>${list(notes.map(escapeHtml))}</details>` : ""}
<footer class="soft">${footer(report)}</footer>
</main>
<script type="application/json" id="data">${json}</script>
<script>${library}</script>
<script>${viewer}</script>
</body>
</html>
`;
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

function digest(text: string): string {
  return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}
