import { answerSentence } from "../headline/sentence.ts";
import type { Section } from "../model/section.ts";
import { worstScenario } from "../model/severity.ts";
import { decidingScaling } from "../wording/scaling-text.ts";
import { capital } from "../wording/wording.ts";
import { SIGN } from "./answer.ts";
import { evidenceLinks, evidenceUrls, type RunPages } from "./comment-links.ts";
import { md, table } from "./markdown-text.ts";
import { spark } from "./scenario.ts";

/** Rows of one table; further legs are named below it. */
const MAX_ROWS = 80;

/** A section with the name of its leg. */
export interface Leg {
  readonly section: Section;
  /** Plain text, unique within the comment. */
  readonly name: string;
}

/** Sections with the names of their legs; jobs that share a name are numbered. */
export function nameLegs(sections: readonly Section[]): readonly Leg[] {
  const seen = new Map<string, number>();
  const several = (leg: string | null) => sections.filter((other) => other.leg === leg).length > 1;
  return sections.map((section) => {
    const base = section.leg ?? "job";
    const n = (seen.get(base) ?? 0) + 1;
    seen.set(base, n);
    return { section, name: several(section.leg) ? `${base} (${n})` : base };
  });
}

/** A row per leg: its verdict, its memory as a line of block letters, the reason, and its evidence. */
export function legTable(legs: readonly Leg[], links: RunPages): string {
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
