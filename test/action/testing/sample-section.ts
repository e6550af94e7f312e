import { type Section, sectionText } from "../../../src/report/model/section.ts";
import { sampleReport } from "../../../src/report/testing/sample-report.ts";

export const HEAD = "a".repeat(40);
/** Name of the artifact of {@link sampleSection}. */
export const SECTION = "stormlog-section-default.json";

/** A section as the gate's job uploads it. */
export function sampleSection(overrides: Partial<Section> = {}): Section {
  return {
    gateId: "default",
    leg: null,
    headSha: HEAD,
    runAttempt: 1,
    bundleArtifact: null,
    timelineArtifact: null,
    report: sampleReport("fail"),
    ...overrides,
  };
}

export const sectionBytes = (overrides: Partial<Section> = {}): Buffer =>
  Buffer.from(sectionText(sampleSection(overrides)));
