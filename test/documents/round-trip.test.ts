import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { MeasurementsSchema } from "../../src/analysis/measurements.ts";
import { parseState, serializeState } from "../../src/nightly/state.ts";
import { BundleManifestSchema } from "../../src/report/bundle/bundle.ts";
import { stormlogReport } from "../../src/report/documents/envelope.ts";
import { parseStormlogReport } from "../../src/report/documents/parse-report.ts";
import { payloadOf } from "../../src/report/model/payload.ts";
import { parseSection, sectionText } from "../../src/report/model/section.ts";
import { parseRecordingInfo } from "../../src/telemetry/recording/run-info.ts";
import { JudgementSchema } from "../../src/verdict/model/judgement.ts";

/** Documents that an earlier version of the gate wrote, with their timelines thinned. */
const FIXTURES = fileURLToPath(new URL("fixtures", import.meta.url));

const textOf = (name: string): string => readFileSync(path.join(FIXTURES, name), "utf8");
const named = (prefix: string): string[] => readdirSync(FIXTURES).filter((name) => name.startsWith(prefix));

/**
 * An envelope without its sentences and ids: it is made of the payload each time it is written, its wording may change,
 * and earlier ids had a hyphen, which Stormlog's readers reject.
 */
function withoutSentences(envelope: ReturnType<typeof stormlogReport>): unknown {
  return {
    ...envelope,
    verdict: { ...envelope.verdict, summary: "" },
    findings: envelope.findings.map((finding) => ({ ...finding, id: "", title: "", message: "" })),
  };
}

describe("a document of an earlier version is read and written again without a change", () => {
  test.each(named("report-"))("%s keeps every field of its payload when it is read and written again", (name) => {
    const document = JSON.parse(textOf(name));
    const { report } = parseStormlogReport(document, name);
    expect(JSON.parse(JSON.stringify(payloadOf(report)))).toEqual(document.payload);
    const ids = stormlogReport(report).findings.map(({ id }) => id);
    expect(ids.filter((id) => !/^[a-z][a-z0-9_.]*$/.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(withoutSentences(JSON.parse(JSON.stringify(stormlogReport(report))))).toEqual(withoutSentences(document));
  });

  test.each(named("report-"))("%s gives the same report as the section of a job", (name) => {
    const { report } = parseStormlogReport(JSON.parse(textOf(name)), name);
    const none = { leg: null, headSha: null, bundleArtifact: null, timelineArtifact: null };
    const text = sectionText({ gateId: "gate", runAttempt: 1, ...none, report });
    expect(JSON.parse(text).report).toEqual(JSON.parse(textOf(name)).payload);
    expect(parseSection(Buffer.from(text), name).report.scenarios).toEqual(report.scenarios);
  });

  test.each(named("measurements-"))("%s of an earlier version is read without a change", (name) => {
    const document = JSON.parse(textOf(name));
    expect(v.parse(MeasurementsSchema, document)).toEqual(document);
  });

  test.each(named("recording"))("%s of an earlier version is read without a change", (name) => {
    expect(parseRecordingInfo(textOf(name), name)).toEqual(JSON.parse(textOf(name)));
  });

  test("manifest.json of an earlier version is read without a change", () => {
    const document = JSON.parse(textOf("manifest.json"));
    expect(v.parse(BundleManifestSchema, document)).toEqual(document);
  });

  test("the state of nightly runs is read and written again without a change", () => {
    const read = parseState(textOf("nightly-state.json"));
    if (read.kind !== "state") throw new Error(`the state is ${read.kind}`);
    expect(JSON.parse(serializeState(read.state))).toEqual(JSON.parse(textOf("nightly-state.json")));
  });

  test.each(["judge.json", "compare.json"])("%s of an earlier version is read without a change", (name) => {
    const { a: _a, b: _b, ...judgement } = JSON.parse(textOf(name));
    expect(v.parse(JudgementSchema, judgement)).toEqual(judgement);
  });
});
