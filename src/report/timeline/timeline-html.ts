import { createHash } from "node:crypto";
import { escapeHtml } from "../../core/escape.ts";
import { detectable } from "../answer/detectable.ts";
import { answerSentence } from "../answer/sentence.ts";
import { readAsset } from "../assets.ts";
import type { GateReport, ScenarioReport } from "../documents/model.ts";
import { nextSteps } from "../next-steps.ts";
import { byUrgency } from "../urgency.ts";
import {
  baselineText,
  checkCells,
  checkName,
  costText,
  countedNotes,
  differenceText,
  findingName,
  findingSeries,
  sortChecks,
} from "../wording.ts";
import { pageData } from "./page-data.ts";
import { VERDICT_LOOK } from "./palette.ts";

const MAX_CHECKS = 200;
const MAX_FINDINGS = 50;

/**
 * The whole report as one HTML page that works offline, with interactive charts. It loads nothing: its content security
 * policy allows only its two scripts and two styles, by their digests.
 */
export function renderTimelineHtml(report: GateReport): string {
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
  const look = VERDICT_LOOK[report.word];
  const name = scenarios.length === 1 ? scenarios[0]!.scenario : `${scenarios.length} scenarios`;
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
<header><span class="verdict ${report.word}">${look.sign} ${look.label}</span><h1>${escapeHtml(name)}</h1></header>
${scenarios.length > 1 ? switcher(scenarios) : ""}
${scenarios.map((scenario, index) => section(scenario, index, scenarios.length > 1)).join("\n")}
${report.warnings.length > 0 ? `<h2>Notes</h2>${list(countedNotes(report.warnings))}` : ""}
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
      `<button type="button" data-scenario="${index}" aria-pressed="${index === 0}">${VERDICT_LOOK[scenario.word].sign} ${escapeHtml(scenario.scenario)}</button>`,
  );
  return `<nav>${buttons.join("")}</nav>`;
}

function section(scenario: ScenarioReport, index: number, named: boolean): string {
  const { judgement } = scenario;
  const parts = [`<p class="reason">${escapeHtml(answerSentence(scenario))}</p>`];
  const sees = judgement === null ? null : detectable(scenario);
  if (sees !== null) parts.push(`<p class="soft">${escapeHtml(`This run would have detected ${sees}.`)}</p>`);
  if (scenario.timeline === null) {
    parts.push(`<p class="soft">No memory samples were recorded.</p>`);
  } else {
    parts.push(
      `<div class="chart"></div><p class="soft">Drag to zoom, double-click to reset, click a name to hide its line.</p>`,
    );
  }
  if (judgement !== null && judgement.checks.length > 0) parts.push(`<h2>Checks</h2>${checksTable(scenario)}`);
  if (scenario.findings.length > 0) parts.push(`<h2>Findings</h2>${findings(scenario)}`);
  const steps = nextSteps(scenario);
  if (steps.length > 0) {
    const items = steps.map(
      (step) => escapeHtml(step.text) + (step.command ? ` <code>${escapeHtml(step.command)}</code>` : ""),
    );
    parts.push(`<h2>What to do next</h2><ul>${items.map((item) => `<li>${item}</li>`).join("")}</ul>`);
  }
  const environment = [baselineText(scenario), ...(judgement?.fingerprint ?? []).map(differenceText)];
  parts.push(`<h2>Baseline and environment</h2>${list(environment)}`);
  const title = named ? `<h2>${VERDICT_LOOK[scenario.word].label} ${escapeHtml(scenario.scenario)}</h2>` : "";
  return `<section data-scenario="${index}"${index === 0 ? "" : " hidden"}>${title}${parts.join("\n")}</section>`;
}

function checksTable(scenario: ScenarioReport): string {
  const checks = scenario.judgement?.checks ?? [];
  const rows = sortChecks(checks)
    .slice(0, MAX_CHECKS)
    .map((check) => {
      const cells = checkCells(check);
      const look = VERDICT_LOOK[check.verdict];
      const name = `<span class="mark ${check.verdict}" title="${look.label}">${look.sign}</span>${escapeHtml(checkName(check, checks))}`;
      const numbers = [cells.candidate, cells.baseline, cells.limit, cells.sees];
      return `<tr><td>${name}</td>${numbers.map((value) => `<td>${escapeHtml(value)}</td>`).join("")}<td>${escapeHtml(check.reason)}</td></tr>`;
    });
  const head = ["Check", "Candidate", "Baseline", "Limit", "Detects changes ≥", "Why"];
  return `<div class="scroll"><table class="checks"><thead><tr>${head.map((text) => `<th>${text}</th>`).join("")}</tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

function findings(scenario: ScenarioReport): string {
  const items = scenario.findings.slice(0, MAX_FINDINGS).map((finding) => {
    const series = findingSeries(finding);
    const where = series === "" ? "" : ` (${series})`;
    const hint = finding.remediation.map((text) => `<br><span class="soft">${escapeHtml(text)}</span>`).join("");
    return `<li><strong>${escapeHtml(findingName(finding))}</strong>${escapeHtml(where)}: ${escapeHtml(finding.description)}${hint}</li>`;
  });
  return `<ul>${items.join("")}</ul>`;
}

function footer(report: GateReport): string {
  const parts = [`stormlog-gate ${report.tool.version}`, costText(report.cost), report.generated_at_utc];
  if (report.commit !== null) parts.splice(1, 0, `commit ${report.commit.slice(0, 10)}`);
  return parts.map(escapeHtml).join(" · ");
}

function list(items: readonly string[]): string {
  return `<ul>${items.map((item) => `<li>${escapeHtml(item)}</li>`).join("")}</ul>`;
}

function digest(text: string): string {
  return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}
