import type { Section } from "../documents/section.ts";
import {
  loadOfSection,
  type SectionsVerdict,
  tightestSection,
  verdictOfSections,
  verdictUrgency,
} from "../documents/section-verdict.ts";
import { worstScenario } from "../timeline/timeline-model.ts";
import { runsText } from "../wording.ts";
import { fitParts, type Part } from "./comment-fit.ts";
import { type Leg, legTable, nameLegs } from "./comment-legs.ts";
import { evidenceUrls } from "./comment-links.ts";
import { md } from "./markdown-text.ts";
import { gateName, notesPart, qualifier, renderSummary, reportParts } from "./summary-markdown.ts";
import { SIGN } from "./checks.ts";
import { pictureParts } from "./scenario.ts";

export interface CommentOptions {
  readonly gateId: string;
  /** `https://github.com/octo/model`: links lead there and nowhere else. */
  readonly repositoryUrl: string;
  /** Workflow run the artifact ids of the sections belong to; null = no links to artifacts. */
  readonly runId: number | null;
  /** Addresses of pictures that can be shown. */
  readonly images: ReadonlyMap<Section, string>;
  /** Draw a mermaid chart where there is no picture; otherwise a sparkline. */
  readonly mermaid: boolean;
  /** How many sections there have to be; with fewer the whole is no pass. Null = as many as there are. */
  readonly expected: number | null;
  /** Sentences for a box below the verdict; plain text. */
  readonly notes: readonly string[];
  /** Characters of the whole text; the least important parts go first. */
  readonly maxChars: number;
}

/** Pictures in one comment; further legs get a chart or a line of block letters. */
const MAX_PICTURES = 6;
/** Charts in one comment: each is drawn by the reader's browser. */
const MAX_CHARTS = 4;
/** Scenarios of one leg, for the order of what goes first. */
const PLACES_PER_LEG = 1000;

/**
 * What the one comment of a gate says. Of a single job that is what the job itself says; of several first the verdict of all, then
 * a table of the legs, then every leg that is not green.
 */
export function renderComment(sections: readonly Section[], options: CommentOptions): string {
  const [first] = sections;
  const verdict = verdictOfSections(sections, options.expected);
  if (first !== undefined && sections.length === 1 && first.leg === null && verdict.missing === 0) {
    return renderSummary(first.report, {
      ...placeOf(first, options),
      gate: nameOf(options),
      maxChars: options.maxChars,
    });
  }
  return fitParts(partsOfLegs(nameLegs(sections), verdict, options), options.maxChars);
}

/** The sections whose timeline the comment shows, the most important first. */
export function picturedSections(sections: readonly Section[]): readonly Section[] {
  const red = sections.filter(({ report }) => report.word !== "pass").sort(byUrgency);
  const shown = red.length > 0 ? red : [tightestSection(sections)].filter((section) => section !== null);
  return shown.filter(({ report }) => worstScenario(report)?.timeline != null).slice(0, MAX_PICTURES);
}

function byUrgency(a: Section, b: Section): number {
  return verdictUrgency(a.report.word) - verdictUrgency(b.report.word);
}

function nameOf({ gateId }: CommentOptions): string | null {
  return gateId === "default" ? null : gateId;
}

function placeOf(section: Section, options: CommentOptions) {
  return {
    ...evidenceUrls(section, options),
    timelineImageUrl: options.images.get(section) ?? null,
    mermaid: options.mermaid,
    repositoryUrl: options.repositoryUrl,
    notes: options.notes,
  };
}

function partsOfLegs(legs: readonly Leg[], verdict: SectionsVerdict, options: CommentOptions): Part[] {
  const red = legs
    .filter(({ section }) => section.report.word !== "pass")
    .sort((a, b) => byUrgency(a.section, b.section));
  const green = legs.filter(({ section }) => section.report.word === "pass");
  const parts: Part[] = [{ kind: "title", at: 0, text: title(legs, verdict, options) }];
  parts.push({ kind: "reason", at: 0, text: countsText(legs, verdict) });
  if (options.notes.length > 0) parts.push(notesPart(options.notes));
  if (red.length === 0) parts.push(...tightestParts(legs, options));
  if (red.length > 0) parts.push({ kind: "overview", at: 0, text: legTable(red, options) });
  if (green.length > 0) {
    const passed = `${green.length} passed`;
    const text = folded(passed, legTable(green, options));
    const short = folded(passed, green.map(({ name }) => md(name, 80)).join(", "));
    parts.push({ kind: "passed", at: 0, text, short });
  }
  let charts = 0;
  red.forEach(({ section, name }, index) => {
    const { report } = section;
    const place = placeOf(section, options);
    const at = index * PLACES_PER_LEG;
    const mermaid = place.mermaid && charts < MAX_CHARTS;
    parts.push(...headed(name, section, reportParts(report, { ...place, mermaid, at, heading: "####" })));
    if (place.timelineImageUrl === null) charts += 1;
  });
  parts.push({ kind: "footer", at: 0, text: footer(legs) });
  return parts;
}

/** The parts of a leg, with its name over the first of those that stay longest. */
function headed(name: string, { report }: Section, parts: readonly Part[]): Part[] {
  const heading = `### ${SIGN[report.word]} ${md(name, 80)}`;
  const at = parts.findIndex(({ kind }) => kind === "reason");
  if (at < 0) return [{ kind: "reason", at: parts[0]?.at ?? 0, text: heading }, ...parts];
  return parts.map((part, index) => (index === at ? { ...part, text: `${heading}\n\n${part.text}` } : part));
}

function title(legs: readonly Leg[], verdict: SectionsVerdict, options: CommentOptions): string {
  const { word, counts, missing } = verdict;
  const how = missing > 0 && word !== "fail" ? "" : qualifier(legs.map(({ section }) => section.report));
  const same = counts.find((one) => one.word === word)?.count ?? 0;
  const all = legs.length + missing;
  const of = same === all || missing > 0 ? `${legs.length}` : `${same} of ${all}`;
  const legsText = missing > 0 ? `${of} of ${all} legs` : `${of} leg${all === 1 ? "" : "s"}`;
  return `## ${SIGN[word]} ${gateName(nameOf(options))}: ${word}${how} (${legsText})`;
}

function countsText(legs: readonly Leg[], { counts, missing }: SectionsVerdict): string {
  const [only, another] = counts;
  if (only?.word === "pass" && another === undefined && missing === 0) return nearestText(legs);
  const words = counts.map(({ word, count }) => `${count} ${word}`);
  const said = legs.length === 0 ? "No leg has said anything" : words.join(", ");
  const gone =
    missing === 0
      ? ""
      : ` ${missing} ${missing === 1 ? "leg has" : "legs have"} not reported, and what is missing is no pass.`;
  return `**${said}.**${gone}`;
}

/** Of legs that all passed, the one that came nearest to a limit: the picture is its own. */
function nearestText(legs: readonly Leg[]): string {
  const said = "**Every leg is within its limits.**";
  const section = tightestSection(legs.map((leg) => leg.section));
  const name = legs.find((leg) => leg.section === section)?.name;
  const share = section === null ? 0 : loadOfSection(section);
  if (name === undefined || legs.length === 1 || share <= 0) return said;
  return `${said} Nearest to one: ${md(name, 80)}, whose peak is at ${Math.round(100 * share)} % of its limit.`;
}

/** The timeline of the leg that came nearest to its limit, where all passed. */
function tightestParts(legs: readonly Leg[], options: CommentOptions): Part[] {
  const section = tightestSection(legs.map((leg) => leg.section));
  const scenario = section === null ? null : worstScenario(section.report);
  if (section === null || scenario === null) return [];
  return pictureParts(scenario, { ...placeOf(section, options), at: 0 });
}

function folded(summary: string, text: string): string {
  return `<details><summary>${summary}</summary>\n\n${text}\n\n</details>`;
}

function footer(legs: readonly Leg[]): string {
  const reports = legs.map(({ section }) => section.report);
  const versions = [...new Set(reports.map(({ tool }) => tool.version))].slice(0, 3);
  const commits = [...new Set(reports.map(({ commit }) => commit))].filter((commit) => commit !== null).slice(0, 3);
  const cost = {
    runs: reports.reduce((sum, report) => sum + report.cost.runs, 0),
    minutes: reports.reduce((sum, report) => sum + report.cost.minutes, 0),
  };
  const words = [
    ...versions.map((version) => `stormlog-gate ${md(version, 30)}`),
    ...commits.map((commit) => md(commit.slice(0, 10))),
    runsText(cost),
  ];
  return `<sub>${words.join(" · ")}</sub>`;
}
