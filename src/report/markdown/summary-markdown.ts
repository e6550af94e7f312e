import { plural } from "../../core/text.ts";
import type { GateReport } from "../documents/model.ts";
import { urgency, worstScenario } from "../timeline/timeline-model.ts";
import { costText } from "../wording.ts";
import { fitParts, type Part } from "./comment-fit.ts";
import { linkTarget, md } from "./markdown-text.ts";
import { SIGN } from "./summary-markdown-checks.ts";
import { scenarioDetails } from "./summary-markdown-details.ts";
import { policyText } from "./summary-markdown-people.ts";
import { errorText, leadText, pictureParts, scenarioParts, scenarioTable } from "./summary-markdown-scenario.ts";

export interface SummaryOptions {
  /** Address (or relative path) of the timeline picture of the worst scenario. */
  readonly timelineImageUrl?: string | null;
  readonly bundleUrl?: string | null;
  readonly htmlUrl?: string | null;
  /** Draw a mermaid chart where there is no picture (default true); otherwise a sparkline. */
  readonly mermaid?: boolean;
  /** Characters of the whole text; the least important parts go first (default 60,000). */
  readonly maxChars?: number;
  /** Name of the gate where it has one of its own. */
  readonly gate?: string | null;
  /** Page of the repository; a page that somebody names is linked only below it. */
  readonly repositoryUrl?: string | null;
  /** Sentences for a box below the verdict; plain text. */
  readonly notes?: readonly string[];
}

const DEFAULT_MAX_CHARS = 60_000;
const MAX_WARNINGS = 10;

/**
 * What the pull request comment and the job summary say, as GitHub-flavoured markdown: the verdict first, then the picture, then
 * what gated and why, then what to do. A pass stays short, with everything else folded away.
 */
export function renderSummary(report: GateReport, options: SummaryOptions = {}): string {
  const parts: Part[] = [{ kind: "title", at: 0, text: title(report, options) }];
  if (options.notes !== undefined && options.notes.length > 0) parts.push(notesPart(options.notes));
  parts.push(...reportParts(report, { ...options, at: 0, heading: "###" }));
  parts.push({ kind: "footer", at: 0, text: footer(report, options) });
  return fitParts(parts, options.maxChars ?? DEFAULT_MAX_CHARS);
}

export interface ReportContext extends SummaryOptions {
  /** Place among the reports of a comment: of two parts of a kind the later goes first when room runs out. */
  readonly at: number;
  /** Of a scenario, where there are several. */
  readonly heading: "###" | "####";
}

/** Everything of one report between its title and its footer. */
export function reportParts(report: GateReport, place: ReportContext): Part[] {
  const scenarios = [...report.scenarios].sort((a, b) => urgency(a) - urgency(b));
  const only = scenarios.length === 1;
  const shown = worstScenario(report);
  const parts: Part[] = [];
  if (!only && scenarios.length > 0) parts.push({ kind: "overview", at: place.at, text: scenarioTable(scenarios) });
  scenarios.forEach((scenario, index) => {
    if (!only && scenario.word === "pass") return;
    const at = place.at + index;
    const heading = only ? "" : `${place.heading} ${SIGN[scenario.word]} ${md(scenario.scenario, 120)}\n\n`;
    parts.push({ kind: "reason", at, text: `${heading}${leadText(scenario)}` });
    const failure = errorText(scenario);
    if (failure !== null) parts.push({ kind: "error", at, text: failure });
    if (scenario === shown) parts.push(...pictureParts(scenario, place));
    parts.push(...scenarioParts(scenario, { ...place, at }));
  });
  if (!only && shown?.word === "pass") parts.push(...pictureParts(shown, place));
  const policy = policyText(report);
  if (policy !== null) parts.push({ kind: "policy", at: place.at, text: policy });
  scenarios.forEach((scenario, index) => {
    parts.push({ kind: "details", at: place.at + index, text: scenarioDetails(scenario, !only) });
  });
  const warnings = warningsText(report);
  if (warnings !== null) parts.push({ kind: "warnings", at: place.at, text: warnings });
  return parts;
}

function title(report: GateReport, { gate }: SummaryOptions): string {
  const counts = report.scenarios.length > 1 ? ` (${report.scenarios.length} scenarios)` : "";
  const name = report.scenarios.length === 1 ? (report.scenarios[0]?.scenario ?? "") : "";
  const only = name === "" ? "" : ` · ${md(name, 120)}`;
  return `## ${SIGN[report.word]} ${gateName(gate)}: ${report.word}${qualifier([report])}${only}${counts}`;
}

/** What has to be known of a verdict at once: that a failure was not confirmed, or that a person took what would fail. */
export function qualifier(reports: readonly GateReport[]): string {
  const failed = reports.filter(({ word }) => word === "fail");
  if (failed.length > 0) return failed.every(({ confirmed }) => confirmed) ? "" : ", unconfirmed";
  const isAccepted = reports.some(({ scenarios }) => scenarios.some(({ accepted }) => accepted !== undefined));
  return isAccepted && reports.every(({ word }) => word === "warn" || word === "pass") ? ", accepted" : "";
}

/** "Memory gate", with the name of a gate that is not the only one. */
export function gateName(gate: string | null | undefined): string {
  return gate ? `Memory gate ${md(gate, 64)}` : "Memory gate";
}

/** A box that every reader sees. */
export function notesPart(notes: readonly string[]): Part {
  return { kind: "notes", at: 0, text: box(notes) };
}

function box(lines: readonly string[]): string {
  const shown = lines.slice(0, MAX_WARNINGS).map((line) => `> ${md(line, 400)}`);
  if (lines.length > shown.length) shown.push(`> …and ${lines.length - shown.length} more in the bundle.`);
  return `> [!NOTE]\n${shown.join("\n>\n")}`;
}

/** What changes nothing of the verdict; below a pass nobody has to read it. */
function warningsText(report: GateReport): string | null {
  const { warnings } = report;
  if (warnings.length === 0) return null;
  if (report.word !== "pass") return box(warnings);
  const count = plural(warnings.length, "notice");
  return `<details><summary>${count}</summary>\n\n${box(warnings)}\n\n</details>`;
}

function footer(report: GateReport, options: SummaryOptions): string {
  const links = evidenceLinks(options);
  links.push(`stormlog-gate ${md(report.tool.version, 30)}`);
  if (report.commit !== null) links.push(md(report.commit.slice(0, 10)));
  links.push(costText(report));
  return `<sub>${links.join(" · ")}</sub>`;
}

/** Links to what was uploaded, as far as it was. */
export function evidenceLinks({ htmlUrl, bundleUrl }: Pick<SummaryOptions, "htmlUrl" | "bundleUrl">): string[] {
  const html = linkTarget(htmlUrl);
  const bundle = linkTarget(bundleUrl);
  return [
    ...(html === null ? [] : [`[Interactive timeline](${html})`]),
    ...(bundle === null ? [] : [`[Evidence bundle](${bundle})`]),
  ];
}
