import { groupBy } from "../../core/group-by.ts";
import { plural } from "../../core/text.ts";
import { answerSentence } from "../headline/sentence.ts";
import {
  byUrgency,
  type ScenarioReport,
  type Timeline,
  type Verdict,
  verdictUrgency,
  worstScenario,
} from "../model/gate-report.ts";
import {
  type Leg,
  loadOfSection,
  nameLegs,
  type Section,
  type SectionsVerdict,
  tightestSection,
  verdictOfSections,
} from "../model/section.ts";
import { decidingScaling } from "../wording/scaling-text.ts";
import { capital, costText } from "../wording/wording.ts";
import { headingText, SIGN } from "./answer.ts";
import { fitParts, type Part } from "./comment-fit.ts";
import { folded } from "./details.ts";
import { evidenceLinks, evidenceUrls, md, type RunPages, table } from "./markdown-text.ts";
import { type PictureAddress, pictureParts, spark } from "./scenario.ts";
import { gateName, notesParts, qualifier, renderSummary, reportParts, warningParts } from "./summary-markdown.ts";

export interface CommentOptions {
  readonly gateId: string;
  /** `https://github.com/octo/model`: every link leads below it. */
  readonly repositoryUrl: string;
  /** Workflow run of the sections' artifact ids; null = no links to artifacts. */
  readonly runId: number | null;
  /** Addresses of the published pictures, by the scenario's name. */
  readonly images: ReadonlyMap<Section, ReadonlyMap<string, PictureAddress>>;
  /** Number of sections that a pass needs; null = as many as there are. */
  readonly expected: number | null;
  /** Sentences for a box below the verdict; plain text. */
  readonly notes: readonly string[];
  /** Maximum characters of the whole text; the least important parts are dropped first. */
  readonly maxChars: number;
}

/** Distance between the positions of two legs; more than a leg has scenarios. */
const POSITIONS_PER_LEG = 1000;

/** The comment of a gate: a single job's own summary, or the overall verdict, a table of the legs, and the red legs. */
export function renderComment(sections: readonly Section[], options: CommentOptions): string {
  const [first] = sections;
  const verdict = verdictOfSections(sections, options.expected);
  if (first !== undefined && sections.length === 1 && first.leg === null && verdict.missing === 0) {
    return renderSummary(first.report, {
      ...summaryOptions(first, options),
      gate: nameOf(options),
      maxChars: options.maxChars,
    });
  }
  return fitParts(partsOfLegs(nameLegs(sections), verdict, options), options.maxChars);
}

/** A timeline that a comment shows as a picture. */
export interface Pictured {
  readonly section: Section;
  /** Name of the scenario. */
  readonly scenario: string;
  readonly timeline: Timeline;
}

/** Pictures in one comment; further timelines are lines of block letters. */
const MAX_PICTURES = 6;

/** The timelines that the comment shows: the worst of each red section, the most urgent first, then their others. */
export function picturedTimelines(sections: readonly Section[]): readonly Pictured[] {
  const red = sections.filter(({ report }) => report.verdict !== "pass").sort(bySectionUrgency);
  const shown = red.length > 0 ? red : [tightestSection(sections)].filter((section) => section !== null);
  const worst = shown.map(({ report }) => worstScenario(report));
  const others = shown.map(({ report }, i) =>
    byUrgency(report.scenarios).filter((scenario) => scenario !== worst[i] && scenario.verdict !== "pass"),
  );
  const pictured = (scenario: ScenarioReport | null | undefined, i: number): Pictured[] => {
    const section = shown[i];
    return section === undefined || scenario?.timeline == null
      ? []
      : [{ section, scenario: scenario.scenario, timeline: scenario.timeline }];
  };
  return [
    ...worst.flatMap(pictured),
    ...others.flatMap((scenarios, i) => scenarios.flatMap((scenario) => pictured(scenario, i))),
  ].slice(0, MAX_PICTURES);
}

function bySectionUrgency(a: Section, b: Section): number {
  return verdictUrgency(a.report.verdict) - verdictUrgency(b.report.verdict);
}

function nameOf({ gateId }: CommentOptions): string | null {
  return gateId === "default" ? null : gateId;
}

function summaryOptions(section: Section, options: CommentOptions) {
  return {
    ...evidenceUrls(section, options),
    pictures: options.images.get(section) ?? new Map(),
    repositoryUrl: options.repositoryUrl,
    notes: options.notes,
  };
}

function partsOfLegs(legs: readonly Leg[], verdict: SectionsVerdict, options: CommentOptions): Part[] {
  const isQuiet = ({ section: { report } }: Leg): boolean =>
    report.verdict === "pass" && report.scenarios.every(({ interference }) => interference === undefined);
  const red = legs.filter((leg) => !isQuiet(leg)).sort((a, b) => bySectionUrgency(a.section, b.section));
  const green = legs.filter(isQuiet);
  const parts: Part[] = [{ kind: "title", at: 0, text: title(legs, verdict, options) }];
  parts.push({ kind: "reason", at: 0, text: countsText(legs, verdict) });
  parts.push(...notesParts(options.notes));
  if (red.length > 0) parts.push({ kind: "overview", at: 0, text: legTable(red, options) });
  if (green.length > 0) {
    const passed = `${green.length} passed`;
    const picture = red.length === 0 ? tightestParts(legs, options).map(({ text }) => text) : [];
    const text = folded(passed, [...picture, legTable(green, options)].join("\n\n"));
    const short = folded(passed, green.map(({ name }) => md(name, 80)).join(", "));
    parts.push({ kind: "passed", at: 0, text, short });
  }
  const shared = sharedWarnings(red);
  const isShared = new Set(shared);
  red.forEach(({ section, name }, index) => {
    const report = { ...section.report, warnings: section.report.warnings.filter((note) => !isShared.has(note)) };
    const summary = summaryOptions(section, options);
    const at = index * POSITIONS_PER_LEG;
    parts.push(...headed(name, section, reportParts(report, { ...summary, at, heading: "#####" })));
  });
  parts.push(...warningParts({ warnings: shared }, 0));
  parts.push({ kind: "footer", at: 0, text: footer(legs) });
  return parts;
}

/** Every occurrence of the notes that several legs report; they are printed once, below the legs. */
function sharedWarnings(legs: readonly Leg[]): readonly string[] {
  const all = legs.flatMap(({ section, name }) => section.report.warnings.map((note) => ({ note, name })));
  return [...groupBy(all, ({ note }) => note).values()]
    .filter((own) => own.some(({ name }) => name !== own[0]?.name))
    .flatMap((own) => own.map(({ note }) => note));
}

/** The parts of a leg, with its name above the part that is dropped last. */
function headed(name: string, { report }: Section, parts: readonly Part[]): Part[] {
  const [only, ...others] = report.scenarios;
  const single = only === undefined || others.length > 0 ? "" : `: ${headingText(only)}`;
  const scaling = decidingScaling(report);
  const what = scaling === null ? single : `: ${md(scaling, 300)}`;
  const heading = `#### ${SIGN[report.verdict]} ${md(name, 80)}${what}`;
  const at = parts.findIndex(({ kind }) => kind === "reason");
  if (at < 0) return [{ kind: "reason", at: parts[0]?.at ?? 0, text: heading }, ...parts];
  return parts.map((part, index) => (index === at ? { ...part, text: `${heading}\n\n${part.text}` } : part));
}

function title(legs: readonly Leg[], { verdict, counts, missing }: SectionsVerdict, options: CommentOptions): string {
  const how = missing > 0 && verdict !== "fail" ? "" : qualifier(legs.map(({ section }) => section.report));
  const same = counts.find((one) => one.verdict === verdict)?.count ?? 0;
  const all = legs.length + missing;
  const of = same === all || missing > 0 ? `${legs.length}` : `${same} of ${all}`;
  const legsText = missing > 0 ? `${of} of ${all} legs` : `${of} leg${all === 1 ? "" : "s"}`;
  const what = (missing > 0 && verdict === "unjudged" ? null : worstText(legs, verdict)) ?? verdict;
  return `### ${SIGN[verdict]} ${gateName(nameOf(options))}: ${what}${how} (${legsText})`;
}

/** What happened in the leg that decides: "leg-002: `train` leaks 281 KiB a step". Null where none has the verdict. */
function worstText(legs: readonly Leg[], verdict: Verdict): string | null {
  const worst = verdict === "pass" ? undefined : legs.find(({ section }) => section.report.verdict === verdict);
  if (worst === undefined) return null;
  const { report } = worst.section;
  const scenario = worstScenario(report);
  const scaling = decidingScaling(report);
  const text = scaling !== null ? md(scaling, 300) : scenario === null ? "nothing was measured" : headingText(scenario);
  return `${md(worst.name, 80)}: ${text}`;
}

function countsText(legs: readonly Leg[], { counts, missing }: SectionsVerdict): string {
  const [only, another] = counts;
  if (only?.verdict === "pass" && another === undefined && missing === 0) return nearestText(legs);
  const reported = counts.map((one) => `${one.count} ${one.verdict}`).join(", ");
  const gone =
    missing === 0 ? "" : ` ${plural(missing, "leg has", "legs have")} not reported. A missing leg is never a pass.`;
  return `**${legs.length === 0 ? "No leg has reported" : reported}.**${gone}`;
}

/** Where all legs passed, the one nearest to its limit, which the picture shows. */
function nearestText(legs: readonly Leg[]): string {
  const passed = "**Every leg is within its limits.**";
  const section = tightestSection(legs.map((leg) => leg.section));
  const name = legs.find((leg) => leg.section === section)?.name;
  const share = section === null ? 0 : loadOfSection(section);
  if (name === undefined || legs.length === 1 || share <= 0) return passed;
  return `${passed} Nearest to its limit: ${md(name, 80)}, with a peak at ${Math.round(100 * share)} % of it.`;
}

/** The timeline of the leg nearest to its limit. */
function tightestParts(legs: readonly Leg[], options: CommentOptions): Part[] {
  const section = tightestSection(legs.map((leg) => leg.section));
  const scenario = section === null ? null : worstScenario(section.report);
  if (section === null || scenario === null) return [];
  return pictureParts(scenario, { ...summaryOptions(section, options), at: 0 });
}

function footer(legs: readonly Leg[]): string {
  const reports = legs.map(({ section }) => section.report);
  const versions = [...new Set(reports.map(({ tool }) => tool.version))].slice(0, 3);
  const commits = [...new Set(reports.map(({ commit }) => commit))].filter((commit) => commit !== null).slice(0, 3);
  const cost = {
    runs: reports.reduce((sum, report) => sum + report.cost.runs, 0),
    minutes: reports.reduce((sum, report) => sum + report.cost.minutes, 0),
  };
  const items = [
    ...versions.map((version) => `stormlog-gate ${md(version, 30)}`),
    ...commits.map((commit) => md(commit.slice(0, 10))),
    costText(cost),
  ];
  return `<sub>${items.join(" · ")}</sub>`;
}

/** Rows of one table; further legs are named below it. */
const MAX_ROWS = 80;

/** A row per leg: its verdict, its memory as a line of block letters, the reason, and its evidence. */
function legTable(legs: readonly Leg[], links: RunPages): string {
  const shown = legs.slice(0, MAX_ROWS);
  const rows = shown.map(({ section, name }) => {
    const { report } = section;
    const worst = worstScenario(report);
    const line = worst === null ? "" : spark(worst, 12);
    const scenario = report.scenarios.length > 1 && worst !== null ? `${worst.scenario}: ` : "";
    const why =
      decidingScaling(report) ?? (worst === null ? "nothing was measured" : `${scenario}${answerSentence(worst)}`);
    return [
      `${SIGN[report.verdict]}&nbsp;${report.verdict}`,
      md(name, 80),
      line === "" ? "" : `\`${line}\``,
      md(capital(why), 140),
      evidenceLinks(evidenceUrls(section, links), { html: "timeline", bundle: "bundle" }).join(" · "),
    ];
  });
  const text = table(["", "Leg", "Memory", "Why", "Evidence"], ["l", "l", "l", "l", "l"], rows);
  const more = legs.slice(MAX_ROWS).map(({ section, name }) => `${SIGN[section.report.verdict]} ${md(name, 80)}`);
  return more.length === 0 ? text : `${text}\n\nAnd ${more.length} more: ${more.join(", ")}.`;
}
