import { renderComment } from "../../../src/report/markdown/comment-markdown.ts";
import { renderSummary } from "../../../src/report/markdown/summary-markdown.ts";
import type { Section } from "../../../src/report/model/section.ts";

const HERE = "https://github.com/octo/model";

function optionsOf(text: string) {
  return {
    gateId: "default",
    repositoryUrl: HERE,
    runId: 501,
    images: new Map(),
    expected: null,
    notes: ["GitHub recorded run 501 as failure.", text],
    maxChars: 1_000_000,
  };
}

/** The comment of a single job, with a text in one of its notes. */
export function singleComment(section: Section, text: string): string {
  return renderComment([section], optionsOf(text));
}

/** All ways a section becomes markdown: alone, among legs, with a picture, cut to a comment, as a summary. */
export function comments(section: Section, text: string): readonly string[] {
  const options = optionsOf(text);
  const legs = [
    { ...section, leg: "one" },
    { ...section, leg: "two", report: { ...section.report, verdict: "pass" as const } },
  ];
  const picture = `${HERE}/blob/${"b".repeat(40)}/default.png?raw=true`;
  const pictures = new Map(section.report.scenarios.map(({ scenario }) => [scenario, picture]));
  return [
    singleComment(section, text),
    renderComment(legs, options),
    renderComment([section], { ...options, images: new Map([[section, pictures]]) }),
    renderComment([section], { ...options, maxChars: 60_000 }),
    renderSummary(section.report),
  ];
}
