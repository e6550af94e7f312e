import "../../testing/property-seed.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readOnlyEntry } from "../../../src/github/artifacts/zip-entry.ts";
import { renderJUnit } from "../../../src/report/documents/junit.ts";
import { renderSarif } from "../../../src/report/documents/sarif.ts";
import { parseSection } from "../../../src/report/model/section.ts";
import { renderTerminal } from "../../../src/report/terminal/terminal.ts";
import { renderTimelineHtml } from "../../../src/report/timeline/timeline-html.ts";
import { renderTimelineSvg } from "../../../src/report/timeline/timeline-svg.ts";
import { SECTION, sectionBytes } from "../testing/sample-section.ts";
import { FIELDS, hostileSection } from "./full-report.ts";
import { zip } from "./hostile-zip.ts";
import { HAS_CMARK, plainProblems, prerender, renderedProblems, sourceProblems } from "./oracle.ts";
import { PAYLOADS } from "./payloads.ts";
import { comments } from "./rendered-comments.ts";

/** Random attacks: pieces of the known ones put together, and archives with changed bytes. */
const TRIES = Number(process.env.STORMLOG_TEST_ATTACK_TRIES ?? 20);

const pieces = PAYLOADS.map(([, text]) => text.slice(0, 60)).filter((text) => text !== "");
const text = fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: "binary", maxLength: 8 })), {
  minLength: 1,
  maxLength: 4,
});

describe("texts put together at random", () => {
  it(`random texts stay text in every form of comment and in the terminal, ${TRIES} times`, () => {
    const fields = fc.subarray([...FIELDS.keys()], { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(text, fields, (parts, names) => {
        const section = hostileSection(parts.join(""), names);
        const rendered = comments(section, parts.join(""));
        if (HAS_CMARK) prerender(rendered);
        for (const markdown of rendered) {
          expect(sourceProblems(markdown)).toEqual([]);
          if (HAS_CMARK) expect(renderedProblems(markdown)).toEqual([]);
        }
        expect(plainProblems(renderTerminal(section.report, { color: false, width: 80 }))).toEqual([]);
      }),
      { numRuns: TRIES },
    );
  }, 600_000);

  it(`random texts stay text in picture, page, JUnit and SARIF, ${TRIES} times`, () => {
    const tags = (markup: string): readonly string[] => markup.match(/<[/!?]?[a-z][\w-]*/gi) ?? [];
    const harmless = new Set(tags(renderTimelineHtml(hostileSection("x").report)));
    const known = new Set(["testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out"]);
    fc.assert(
      fc.property(text, (parts) => {
        const { report } = hostileSection(parts.join(""));
        const svg = renderTimelineSvg(report.scenarios[0]!.timeline!);
        expect(plainProblems(svg)).toEqual([]);
        expect(svg).not.toMatch(/<(?:image|script|foreignObject|a|use|style)\b|<!|<\?|url\((?!#)/);
        expect(tags(renderTimelineHtml(report)).filter((tag) => !harmless.has(tag))).toEqual([]);
        const junit = renderJUnit(report);
        expect(plainProblems(junit)).toEqual([]);
        for (const [, tag = ""] of junit.matchAll(/<\/?([a-z][\w-]*)/g)) expect(known).toContain(tag);
        for (const { message } of JSON.parse(renderSarif(report)).runs[0].results) {
          expect(message.text).not.toMatch(/\]\(/);
          expect(plainProblems(message.text)).toEqual([]);
        }
      }),
      { numRuns: TRIES },
    );
  }, 600_000);
});

describe("archives with bytes changed", () => {
  const good = sectionBytes();
  const archive = zip([{ name: SECTION, content: good }]);

  it(`archives with changed bytes give the one file unchanged or nothing, ${TRIES * 20} times`, async () => {
    const change = fc.record({ at: fc.nat(archive.length - 1), to: fc.nat(255) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { minLength: 1, maxLength: 6 }),
        fc.nat(archive.length),
        async (changes, cut) => {
          const bytes = Buffer.from(archive);
          for (const { at, to } of changes) bytes[at] = to;
          const shown = changes.length % 3 === 0 ? bytes.subarray(0, cut) : bytes;
          try {
            expect(await readOnlyEntry(shown, SECTION, { maxBytes: 4 << 20 })).toEqual(good);
          } catch (error) {
            expect(error).toMatchObject({ code: "ARCHIVE_REFUSED" });
          }
        },
      ),
      { numRuns: TRIES * 20 },
    );
  }, 600_000);

  it(`documents with changed bytes are read or refused, ${TRIES * 5} times`, () => {
    const change = fc.record({ at: fc.nat(good.length - 1), to: fc.nat(255) });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const bytes = Buffer.from(good);
        for (const { at, to } of changes) bytes[at] = to;
        try {
          parseSection(bytes, "the section");
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(/^SECTION_/) });
        }
      }),
      { numRuns: TRIES * 5 },
    );
  }, 600_000);
});
