import { describe, expect, it } from "vitest";
import { annotationsOf } from "../../../src/github/comment/annotations.ts";
import { renderJUnit } from "../../../src/report/documents/junit.ts";
import { renderSarif } from "../../../src/report/documents/sarif.ts";
import { renderTerminal } from "../../../src/report/terminal/terminal.ts";
import { renderTimelineHtml } from "../../../src/report/timeline/timeline-html.ts";
import { renderTimelinePng } from "../../../src/report/timeline/timeline-png.ts";
import { renderTimelineSvg } from "../../../src/report/timeline/timeline-svg.ts";
import { hostileSection } from "./full-report.ts";
import { plainProblems, sourceProblems, xmlProblems } from "./oracle.ts";
import { COMBINED, PAYLOADS } from "./payloads.ts";
import { comments } from "./rendered-comments.ts";

/** The same texts in the page, the picture, the terminal, annotations and the files of the bundle. */
const SVG = [
  "svg",
  "g",
  "path",
  "rect",
  "line",
  "circle",
  "text",
  "tspan",
  "title",
  "defs",
  "clipPath",
  "polyline",
  "polygon",
  "linearGradient",
  "stop",
];

const JUNIT = ["testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out"];

describe("a name in the timeline's page that", () => {
  const tags = (html: string): string => [...html.matchAll(/<\/?[a-z][a-z0-9]*/gi)].map(([tag]) => tag).join("");
  const harmlessTags = tags(renderTimelineHtml(hostileSection("x").report));

  it.each(PAYLOADS)("a name in the timeline's page that %s stays text", (_title, text) => {
    const html = renderTimelineHtml(hostileSection(text).report);
    // Scripts and styles come from the package, and the other elements do not depend on the text.
    if (text.trim() !== "") expect(tags(html)).toBe(harmlessTags);
    expect(html).toContain("default-src 'none'");
    expect(html.match(/<script/g)).toHaveLength(3);
    expect(html).not.toMatch(/<[a-z][^<>]*\son[a-z]+=/i);
    expect(html).not.toMatch(/<(?:img|image|iframe|a|link|base|form|object|embed)\b/i);
  });
});

describe("a name in the picture that", () => {
  const svgs = PAYLOADS.map(([, text]) => renderTimelineSvg(hostileSection(text).report.scenarios[0]!.timeline!));
  const problems = xmlProblems(svgs, SVG);

  it.each(PAYLOADS.map(([title], at) => [title, at] as const))(
    "a name that %s stays text in the SVG, which stays well-formed",
    (_title, at) => {
      expect(problems[at]).toEqual([]);
      expect(plainProblems(svgs[at]!)).toEqual([]);
      expect(svgs[at]).not.toMatch(/url\((?!#)|@import|<!|<\?/);
    },
  );

  it.each(COMBINED.map((text, at) => [at, text] as const))(
    "a name from combination %i gives a PNG of the usual size",
    async (_at, text) => {
      const { timeline } = hostileSection(text).report.scenarios[0]!;
      const png = Buffer.from(await renderTimelinePng(timeline!));
      expect(png.subarray(1, 4).toString("latin1")).toBe("PNG");
      expect(png.readUInt32BE(16)).toBe(1200);
      expect(png.length).toBeLessThan(400_000);
    },
  );
});

describe("a name in a terminal or a log that", () => {
  it.each(PAYLOADS)("a name that %s has no effect in a terminal or a log", (_title, text) => {
    const { report } = hostileSection(text);
    expect(plainProblems(renderTerminal(report, { color: false, width: 100 }))).toEqual([]);
    const coloured = renderTerminal(report, { color: true, width: 100 });
    expect(plainProblems(coloured.replace(/\u001b\[[\d;]*m/g, ""))).toEqual([]);
    expect(coloured).not.toMatch(/\u001b(?!\[[\d;]*m)/);
  });

  it.each(PAYLOADS)("a name that %s is plain text in an annotation", (_title, text) => {
    const annotations = annotationsOf(hostileSection(text).report);
    expect(annotations.length).toBeLessThanOrEqual(20);
    for (const { title, message, place } of annotations) {
      expect(plainProblems(title)).toEqual([]);
      expect(plainProblems(message)).toEqual([]);
      expect(message.length).toBeLessThanOrEqual(4000);
      if (place !== undefined) expect(place.file).not.toMatch(/^[/\\]|^[a-z]+:|(^|[/\\])\.\.([/\\]|$)/i);
    }
  });
});

describe("a long name of letters outside the basic plane", () => {
  it.each(["", "x"])("the name after %j is cut between characters in annotations and charts", (start) => {
    const section = hostileSection(`${start}${"\u{1F600}".repeat(3000)}`);
    for (const { title, message } of annotationsOf(section.report))
      expect([...plainProblems(title), ...plainProblems(message)]).toEqual([]);
    for (const markdown of comments(section, "")) expect(plainProblems(markdown)).toEqual([]);
  });
});

describe("a name in the files of the bundle that", () => {
  const junits = PAYLOADS.map(([, text]) => renderJUnit(hostileSection(text).report));
  const problems = xmlProblems(junits, JUNIT);

  it.each(PAYLOADS.map(([title], at) => [title, at] as const))("a name that %s stays text in JUnit", (_title, at) => {
    expect(problems[at]).toEqual([]);
  });

  it.each(PAYLOADS)("a name that %s stays text in SARIF", (_title, text) => {
    const sarif = JSON.parse(renderSarif(hostileSection(text).report));
    for (const { message, locations } of sarif.runs[0].results) {
      // "[text](address)" is a link in a message of SARIF.
      expect(message.text).not.toMatch(/\]\(/);
      expect(plainProblems(message.text)).toEqual([]);
      const { uri } = locations[0].physicalLocation.artifactLocation;
      expect(uri).not.toMatch(/^\/|^[a-z]+:|(^|\/)\.\.(\/|$)|[<>"\\\s]/i);
    }
  });
});

describe("a path that a finding names", () => {
  const paths = [
    "/etc/passwd:1",
    "../../x:1",
    "a/../../x:1",
    "C:\\x:1",
    "\\\\evil.example\\x:1",
    "//evil.example/x:1",
    "https://evil.example/x:1",
    "javascript:alert(1):1",
    "file:///etc/passwd:1",
    "src/\u202Egnp.py:1",
    "src/a\nb.py:1",
    "src/a,b::c.py:1",
    "src/%2e%2e/%2e%2e/x:1",
    "src/x.py:99999999999999999999",
    "src/x.py:-1",
    "x:0",
  ];
  it.each(paths)("the path %j does not lead outside the repository", (line) => {
    const section = hostileSection(line, ["report.scenarios[].findings[].evidence.line"]);
    for (const { place } of annotationsOf(section.report)) {
      if (place === undefined) continue;
      expect(place.file).not.toMatch(/^[/\\]|^[a-z]+:|(^|[/\\])\.\.([/\\]|$)/i);
      expect(plainProblems(place.file)).toEqual([]);
      expect(place.line).toBeGreaterThanOrEqual(1);
    }
    for (const { locations } of JSON.parse(renderSarif(section.report)).runs[0].results) {
      const { uri } = locations[0].physicalLocation.artifactLocation;
      expect(uri).not.toMatch(/^\/|^[a-z]+:|(^|\/)\.\.(\/|$)/i);
    }
    for (const markdown of comments(section, "")) expect(sourceProblems(markdown)).toEqual([]);
  });
});
