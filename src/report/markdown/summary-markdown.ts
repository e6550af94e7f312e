import { countedNotes, plural } from "../../core/text.ts";
import { byUrgency, type GateReport, worstScenario } from "../model/gate-report.ts";
import type { Scaling } from "../model/report-schema.ts";
import {
  decidingScaling,
  fitsTexts,
  lawText,
  pointText,
  scalingBreach,
  scalingTitle,
  withoutRepeated,
} from "../wording/scaling-text.ts";
import { costText } from "../wording/wording.ts";
import { countsText, headingText, type LineLink, leadText, reproduceText, SIGN } from "./answer.ts";
import { fitParts, type Part } from "./comment-fit.ts";
import { folded, noteList, scenarioDetails } from "./details.ts";
import { evidenceLinks, md, table } from "./markdown-text.ts";
import { errorText, type PictureOptions, pictureParts, policyText, scenarioParts, scenarioTable } from "./scenario.ts";

export interface SummaryOptions extends PictureOptions {
  readonly bundleUrl?: string | null;
  /** Maximum characters of the whole text; the least important parts are dropped first (default 60,000). */
  readonly maxChars?: number;
  /** Name of the gate where the repository has several. */
  readonly gate?: string | null;
  /** Page of the repository; a page from outside text is linked only if it is below this one. */
  readonly repositoryUrl?: string | null;
  /** Sentences for a box below the verdict; plain text. */
  readonly notes?: readonly string[];
}

/** The job summary and a single job's comment in GitHub-flavoured markdown; the details of a pass are folded. */
export function renderSummary(report: GateReport, options: SummaryOptions = {}): string {
  const parts: Part[] = [{ kind: "title", at: 0, text: title(report, options) }];
  parts.push(...notesParts(options.notes ?? []));
  parts.push(...reportParts(report, { ...options, at: 0, heading: "####" }));
  parts.push({ kind: "footer", at: 0, text: footer(report, options) });
  return fitParts(parts, options.maxChars ?? 60_000);
}

interface ReportContext extends SummaryOptions {
  /** Position among the reports of a comment: of two parts of a kind, the later is dropped first. */
  readonly at: number;
  /** Level of a scenario's heading, where there are several. */
  readonly heading: "####" | "#####";
}

/** Links to lines of the measured commit, below the repository's page; to none where one of them is not known. */
function lineLinks({ commit }: GateReport, repositoryUrl: string | null): LineLink {
  if (repositoryUrl === null || commit === null || !/^[0-9a-f]{40,64}$/.test(commit)) return () => null;
  const pathOf = (file: string): string => file.split("/").map(encodeURIComponent).join("/");
  return ({ file, line }) => `${repositoryUrl}/blob/${commit}/${pathOf(file)}#L${line}`;
}

/** The parts of one report between its title and its footer. */
export function reportParts(report: GateReport, context: ReportContext): Part[] {
  const scenarios = byUrgency(withoutRepeated(report));
  const only = report.scenarios.length === 1;
  const shown = worstScenario(report);
  const link = lineLinks(report, context.repositoryUrl ?? null);
  const parts: Part[] = [];
  scenarios.forEach((scenario, index) => {
    if (!only && scenario.verdict === "pass" && scenario.interference === undefined) return;
    const at = context.at + index;
    const heading = only ? "" : `${context.heading} ${SIGN[scenario.verdict]} ${headingText(scenario)}\n\n`;
    const interference = scenario.interference === undefined ? "" : `\n\n${box("WARNING", scenario.interference)}`;
    parts.push({ kind: "reason", at, text: `${heading}${leadText(scenario, link)}${interference}` });
    const failure = errorText(scenario);
    if (failure !== null) parts.push({ kind: "error", at, text: failure });
    if (scenario.verdict !== "pass") parts.push(...pictureParts(scenario, { ...context, at }));
    parts.push(...scenarioParts(scenario, at, context.repositoryUrl ?? null));
    const reproduce = reproduceText(report, scenario);
    if (reproduce !== null) parts.push({ kind: "reproduce", at, text: reproduce });
  });
  for (const one of report.scaling ?? []) parts.push({ kind: "checks", at: context.at, text: scalingText(one) });
  const passed = scenarios.filter(({ verdict }) => verdict === "pass");
  const picture = shown?.verdict === "pass" ? pictureParts(shown, context).map(({ text }) => text) : [];
  if (!only && passed.length > 0) {
    const names = passed.map(({ scenario }) => md(scenario, 80)).join(", ");
    const text = folded(
      `${plural(passed.length, "scenario")} passed`,
      [...picture, scenarioTable(passed)].join("\n\n"),
    );
    parts.push({ kind: "passed", at: context.at, text, short: names });
  }
  const policy = policyText(report);
  if (policy !== null) parts.push({ kind: "policy", at: context.at, text: policy });
  const notes = only ? countedNotes(report.warnings) : [];
  scenarios.forEach((scenario, index) => {
    if (!only && scenario.verdict === "pass") return;
    parts.push({
      kind: "details",
      at: context.at + index,
      text: scenarioDetails(scenario, !only, notes, only ? picture : []),
    });
  });
  if (!only) parts.push(...warningParts(report, context.at));
  return parts;
}

function title(report: GateReport, { gate }: SummaryOptions): string {
  const [only, ...others] = report.scenarios;
  const scaling = decidingScaling(report);
  if (scaling !== null) return `### ${SIGN[report.verdict]} ${gateName(gate)}: ${md(scaling, 300)}`;
  const text =
    only === undefined
      ? "nothing was measured"
      : others.length > 0
        ? `${countsText(report.scenarios, report.verdict)}${qualifier([report])}`
        : headingText(only);
  return `### ${SIGN[report.verdict]} ${gateName(gate)}: ${text}`;
}

/** Qualifies a verdict in the title: a failure is unconfirmed, or a difference that would fail was accepted. */
export function qualifier(reports: readonly GateReport[]): string {
  const failed = reports.filter(({ verdict }) => verdict === "fail");
  if (failed.length > 0) return failed.every(isCertain) ? "" : ", unconfirmed";
  if (!reports.every(({ verdict }) => verdict === "warn" || verdict === "pass")) return "";
  const scenarios = reports.flatMap((report) => report.scenarios);
  if (scenarios.some(({ accepted }) => accepted !== undefined)) return ", accepted";
  return scenarios.some(({ known_leaks: known }) => known !== undefined) ? ", known leak" : "";
}

/** A limit on scaling fails by an interval, which further runs do not confirm. */
function isCertain(report: GateReport): boolean {
  return report.confirmed || decidingScaling(report) !== null;
}

/** "Memory", with the gate's name where the repository has several. */
export function gateName(gate: string | null | undefined): string {
  return gate ? `Memory (${md(gate, 64)})` : "Memory";
}

/** A box below the verdict; empty without notes. */
export function notesParts(notes: readonly string[]): Part[] {
  return notes.length === 0 ? [] : [{ kind: "notes", at: 0, text: box("NOTE", countedNotes(notes)) }];
}

function box(kind: "NOTE" | "WARNING", lines: readonly string[]): string {
  const shown = lines.slice(0, 10).map((line) => `> ${md(line, 400)}`);
  if (lines.length > shown.length) shown.push(`> …and ${lines.length - shown.length} more in the bundle.`);
  return `> [!${kind}]\n${shown.join("\n>\n")}`;
}

/** Notes that do not affect the verdict, folded. */
export function warningParts({ warnings }: Pick<GateReport, "warnings">, at: number): Part[] {
  if (warnings.length === 0) return [];
  const notes = countedNotes(warnings);
  return [{ kind: "warnings", at, text: folded(plural(notes.length, "note"), noteList(notes)) }];
}

function footer(report: GateReport, options: SummaryOptions): string {
  const links = evidenceLinks(options, { html: "Interactive timeline", bundle: "Evidence bundle" });
  links.push(`stormlog-gate ${md(report.tool.version, 30)}`);
  if (report.commit !== null) links.push(md(report.commit.slice(0, 10)));
  links.push(costText(report.cost));
  return `<sub>${links.join(" · ")}</sub>`;
}

/** Peaks over the values of `--vary`: what breached, a table, the law and what fits. */
export function scalingText(scaling: Scaling): string {
  const { scenario, name, points } = scaling;
  const breach = scalingBreach(scaling);
  const rows = points.map((point) => [md(point.value, 60), pointText(point, "–")]);
  return [
    `**${md(scenario, 80)}: ${md(scalingTitle(scaling), 120)}**`,
    ...(breach === null ? [] : [`**${md(breach, 300)}**`]),
    table([md(name, 60), "Peak"], ["r", "r"], rows),
    [lawText(scaling), ...fitsTexts(scaling)].map((text) => `- ${md(text, 300)}`).join("\n"),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}
