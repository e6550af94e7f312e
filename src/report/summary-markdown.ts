import type { Finding } from "../analysis/document.ts";
import { codeBlock, linkTarget, md, table, tail } from "./markdown-text.ts";
import { renderMermaid } from "./mermaid.ts";
import type { GateReport, GateWord, ScenarioReport } from "./model.ts";
import { VERDICT_LOOK } from "./palette.ts";
import { sparkline } from "./sparkline.ts";
import { rankSeries, urgency, worstScenario } from "./timeline-model.ts";
import {
  baselineText,
  checkCells,
  checkName,
  costText,
  differenceText,
  exitText,
  headlineOf,
  nextSteps,
  sensitivity,
  sortChecks,
} from "./wording.ts";

export interface SummaryOptions {
  /** Address (or relative path) of the timeline picture of the worst scenario. */
  readonly timelineImageUrl?: string | null;
  readonly bundleUrl?: string | null;
  readonly htmlUrl?: string | null;
  /** Draw a mermaid chart where there is no picture (default true); otherwise a sparkline. */
  readonly mermaid?: boolean;
  /** Characters of the whole text; the least important parts go first (default 60,000). */
  readonly maxChars?: number;
}

const SIGN: Readonly<Record<GateWord, string>> = { pass: "✅", warn: "⚠️", fail: "❌", unjudged: "❔", error: "💥" };
const DEFAULT_MAX_CHARS = 60_000;
const MOST_CHECKS = 24;
const MOST_FINDINGS = 6;
const MOST_SCENARIOS = 60;
const TAIL_CHARS = 3000;

/** A part of the text; smaller `rank` is more important and is dropped later. */
interface Part {
  readonly rank: number;
  readonly text: string;
}

/**
 * What the pull request comment and the job summary say, as GitHub-flavoured markdown: the verdict first, then the picture, then
 * what gated and why, then what to do. A pass stays short, with everything else folded away.
 */
export function renderSummary(report: GateReport, options: SummaryOptions = {}): string {
  const scenarios = [...report.scenarios].sort((a, b) => urgency(a) - urgency(b));
  const parts: Part[] = [{ rank: 0, text: title(report) }];
  if (scenarios.length > 1) parts.push({ rank: 2, text: scenarioTable(scenarios) });
  const shown = worstScenario(report);
  scenarios.forEach((scenario, index) => {
    const only = scenarios.length === 1;
    if (!only && scenario.word === "pass") return;
    const base = index === 0 ? 0 : 10 + index;
    if (!only) parts.push({ rank: base + 1, text: `### ${SIGN[scenario.word]} ${md(scenario.scenario, 120)}` });
    if (only || index > 0 || scenario.word !== "pass") parts.push({ rank: base + 1, text: lead(scenario) });
    if (scenario === shown) parts.push(...picture(scenario, options));
    parts.push(...scenarioParts(scenario, base));
  });
  if (scenarios.length > 1 && shown?.word === "pass") parts.push(...picture(shown, options));
  for (const scenario of scenarios) {
    const folded = details(scenario, scenarios.length > 1);
    if (folded !== null) parts.push({ rank: 200, text: folded });
  }
  if (report.warnings.length > 0) {
    const lines = report.warnings.slice(0, 10).map((warning) => `> ${md(warning, 400)}`);
    parts.push({ rank: 8, text: ["> [!NOTE]", lines.join("\n>\n")].join("\n") });
  }
  parts.push({ rank: 1, text: footer(report, options) });
  return assemble(parts, options.maxChars ?? DEFAULT_MAX_CHARS);
}

function title(report: GateReport): string {
  const counts = report.scenarios.length > 1 ? ` (${report.scenarios.length} scenarios)` : "";
  const only = report.scenarios.length === 1 ? ` · ${md(report.scenarios[0]!.scenario, 120)}` : "";
  const unconfirmed = report.word === "fail" && !report.confirmed ? ", unconfirmed" : "";
  return `## ${SIGN[report.word]} Memory gate: ${report.word}${unconfirmed}${only}${counts}`;
}

function lead(scenario: ScenarioReport): string {
  const lines = [`**${capital(md(headlineOf(scenario), 600))}.**`];
  if (scenario.judgement !== null) {
    const sees = sensitivity(scenario.judgement);
    if (sees !== null) lines.push(`This run would have noticed ${sees}.`);
  }
  return lines.join(" ");
}

function picture(scenario: ScenarioReport, options: SummaryOptions): Part[] {
  const { timeline } = scenario;
  if (timeline === null) return [];
  const address = linkTarget(options.timelineImageUrl);
  if (address !== null) {
    const alt = md(`Memory over time, ${VERDICT_LOOK[timeline.verdict].label}: ${timeline.subtitle}`, 250);
    const html = linkTarget(options.htmlUrl);
    const image = `![${alt}](${address})`;
    return [{ rank: 3, text: html === null ? image : `[${image}](${html})` }];
  }
  const chart = options.mermaid === false ? null : renderMermaid(timeline);
  if (chart !== null) return [{ rank: 9, text: `\`\`\`mermaid\n${chart}\n\`\`\`` }];
  const line = spark(scenario, 48);
  return line === "" ? [] : [{ rank: 9, text: `\`${line}\`` }];
}

function spark(scenario: ScenarioReport, width: number): string {
  const main = scenario.timeline === null ? null : rankSeries(scenario.timeline).main;
  return main === null ? "" : sparkline(main.series.bytes, width);
}

function scenarioTable(scenarios: readonly ScenarioReport[]): string {
  const rows = scenarios.slice(0, MOST_SCENARIOS).map((scenario) => {
    const line = spark(scenario, 16);
    return [
      `${SIGN[scenario.word]} ${scenario.word}`,
      md(scenario.scenario, 80),
      line === "" ? "" : `\`${line}\``,
      md(headlineOf(scenario), 160),
    ];
  });
  const more = scenarios.length - rows.length;
  const text = table(["", "Scenario", "Memory", "Why"], ["l", "l", "l", "l"], rows);
  return more > 0 ? `${text}\n\n…and ${more} more in the bundle.` : text;
}

/** Everything about one scenario that is not folded. */
function scenarioParts(scenario: ScenarioReport, base: number): Part[] {
  const parts: Part[] = [];
  if (scenario.error !== null) parts.push({ rank: base + 2, text: errorText(scenario) });
  if (scenario.word !== "pass" && scenario.judgement !== null && scenario.judgement.checks.length > 0) {
    parts.push({ rank: base + 4, text: checksText(scenario) });
  }
  if (scenario.word !== "pass") {
    const found = findingsText(scenario.findings);
    if (found !== null) parts.push({ rank: base + 6, text: found });
    const identity = scenario.judgement?.fingerprint.filter((difference) => difference.kind === "identity") ?? [];
    if (identity.length > 0) {
      const lines = identity.slice(0, 12).map((difference) => `- ${md(differenceText(difference))}`);
      parts.push({ rank: base + 5, text: `**The environment is not the baseline's:**\n\n${lines.join("\n")}` });
    }
  }
  const next = nextText(scenario);
  if (next !== null) parts.push({ rank: base + 3, text: next });
  return parts;
}

function errorText(scenario: ScenarioReport): string {
  const { error } = scenario;
  const exit = scenario.runs.findLast((run) => run.info.exit.kind !== "exited" || run.info.exit.code !== 0)?.info.exit;
  const lines: string[] = [];
  const state = exit === undefined ? "" : ` · ${md(exitText(exit), 200)}`;
  lines.push(`\`${(error?.code ?? "").replace(/[^A-Z0-9_]/g, "")}\`${state}`);
  if (error?.output_tail) lines.push(`The last lines it printed:\n\n${codeBlock(tail(error.output_tail, TAIL_CHARS))}`);
  return lines.join("\n\n");
}

function checksText(scenario: ScenarioReport): string {
  const checks = scenario.judgement?.checks ?? [];
  const sorted = sortChecks(checks);
  const rows = sorted.slice(0, MOST_CHECKS).map((check) => {
    const cells = checkCells(check);
    const gates = check.gating || check.verdict === "pass" ? "" : " (advisory)";
    return [
      `${SIGN[check.verdict]} ${md(checkName(check, checks), 80)}${gates}`,
      check.verdict === "fail" ? `**${unbroken(cells.candidate)}**` : unbroken(cells.candidate),
      unbroken(cells.baseline),
      unbroken(cells.limit),
      unbroken(cells.sees),
    ];
  });
  const out = [table(["Check", "Candidate", "Baseline", "Limit", "Sees changes ≥"], ["l", "r", "r", "r", "r"], rows)];
  if (sorted.length > rows.length) out.push(`…and ${sorted.length - rows.length} more in the bundle.`);
  const reasons = sorted
    .filter((check) => check.verdict !== "pass" && check.reason !== headlineOf(scenario))
    .slice(0, 5);
  if (reasons.length > 0) {
    out.push(reasons.map((check) => `- ${md(checkName(check, checks), 80)}: ${md(check.reason, 300)}`).join("\n"));
  }
  return out.join("\n\n");
}

/** A size that does not wrap between its number and its unit. */
function unbroken(cell: string): string {
  return cell.replace(/(\d) (?=[KMGTP]?i?B)/g, "$1&nbsp;");
}

const SEVERITY_SIGN = { critical: "🔴", warning: "🟠", info: "🔵" } as const;

function findingsText(findings: readonly Finding[]): string | null {
  if (findings.length === 0) return null;
  const lines = findings.slice(0, MOST_FINDINGS).map((finding) => {
    const where = [finding.rank === null ? null : `rank ${finding.rank}`, finding.device]
      .filter((part) => part !== null)
      .join(", ");
    const hint = finding.remediation[0] === undefined ? "" : `  \n  ↳ ${md(finding.remediation[0], 300)}`;
    return `- ${SEVERITY_SIGN[finding.severity]} **${md(finding.classification.replaceAll("_", " "), 60)}**${where === "" ? "" : ` (${md(where, 80)})`}: ${md(finding.description, 400)}${hint}`;
  });
  if (findings.length > MOST_FINDINGS) lines.push(`- …and ${findings.length - MOST_FINDINGS} more in the bundle`);
  return `**Findings**\n\n${lines.join("\n")}`;
}

function nextText(scenario: ScenarioReport): string | null {
  const steps = nextSteps(scenario);
  if (steps.length === 0) return null;
  const lines = steps.map(
    (step) => `- ${md(step.text, 400)}${step.command === undefined ? "" : ` \`${step.command}\``}`,
  );
  return `**What to do next**\n\n${lines.join("\n")}`;
}

function details(scenario: ScenarioReport, named: boolean): string | null {
  const blocks: string[] = [];
  if (scenario.word === "pass" && (scenario.judgement?.checks.length ?? 0) > 0) blocks.push(checksText(scenario));
  if (scenario.word === "pass") {
    const found = findingsText(scenario.findings);
    if (found !== null) blocks.push(found);
  }
  blocks.push(`Baseline: ${md(baselineText(scenario), 200)}`);
  const context = scenario.judgement?.fingerprint.filter((difference) => difference.kind === "context") ?? [];
  if (context.length > 0) {
    blocks.push(
      `Differs, but does not hinder a comparison:\n\n${context
        .slice(0, 12)
        .map((d) => `- ${md(differenceText(d))}`)
        .join("\n")}`,
    );
  }
  const environment = Object.entries(scenario.fingerprint).filter(([, value]) => value !== null);
  if (environment.length > 0) {
    blocks.push(
      environment
        .slice(0, 30)
        .map(([field, value]) => `${md(field, 60)} **${md(String(value), 120)}**`)
        .join(" · "),
    );
  }
  if (scenario.runs.length > 0) blocks.push(runsTable(scenario));
  const lost = [...new Set(scenario.runs.flatMap((run) => run.info.lost))].slice(0, 8);
  if (lost.length > 0) blocks.push(`Not recorded:\n\n${lost.map((text) => `- ${md(text)}`).join("\n")}`);
  const name = named ? `${md(scenario.scenario, 80)}: ` : "";
  const label = scenario.word === "pass" ? "checks, environment and runs" : "environment and runs";
  return `<details><summary>${named ? name + label : capital(label)}</summary>\n\n${blocks.join("\n\n")}\n\n</details>`;
}

function runsTable(scenario: ScenarioReport): string {
  const rows = scenario.runs.slice(0, 20).map((run) => {
    const { clock, sampler, exit } = run.info;
    const rate = sampler.host_rate_hz === null ? "–" : `${Math.round(sampler.host_rate_hz)} Hz, ${sampler.kind}`;
    return [
      `${run.role} ${run.info.run}`,
      clock.duration_s === null ? "–" : `${clock.duration_s.toFixed(1)} s`,
      md(exitText(exit), 120),
      rate,
    ];
  });
  return table(["Run", "Time", "Ended", "Sampled"], ["l", "r", "l", "r"], rows);
}

function footer(report: GateReport, options: SummaryOptions): string {
  const links: string[] = [];
  const html = linkTarget(options.htmlUrl);
  const bundle = linkTarget(options.bundleUrl);
  if (html !== null) links.push(`[Interactive timeline](${html})`);
  if (bundle !== null) links.push(`[Evidence bundle](${bundle})`);
  links.push(`stormlog-gate ${md(report.tool.version, 30)}`);
  if (report.commit !== null) links.push(md(report.commit.slice(0, 10)));
  links.push(costText(report));
  return `<sub>${links.join(" · ")}</sub>`;
}

const NOTICE = "…some parts did not fit here; the evidence bundle has everything.";
const BREAK = "\n\n";

/** Join the parts within `most` characters: the least important of them go first, and a line says that they went. */
function assemble(parts: readonly Part[], most: number): string {
  const kept = new Set(parts);
  let length = parts.reduce((total, part) => total + part.text.length + BREAK.length, 0);
  for (const part of [...parts].sort((a, b) => b.rank - a.rank)) {
    if (length <= most || part.rank === 0) break;
    if (kept.size === parts.length) length += NOTICE.length + BREAK.length;
    kept.delete(part);
    length -= part.text.length + BREAK.length;
  }
  const blocks = parts.filter((part) => kept.has(part)).map((part) => part.text);
  if (kept.size < parts.length) blocks.push(NOTICE);
  return `${blocks.join(BREAK)}\n`.slice(0, Math.max(0, most));
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
