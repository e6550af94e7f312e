import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { runContext } from "../../src/github/api/run-context.ts";
import { type ListedArtifact, uploadTimeline } from "../../src/github/artifacts/artifact.ts";
import { checkedSection, sectionReader, uploadSection } from "../../src/github/artifacts/section-artifacts.ts";
import { parseExpected } from "../../src/merge/merge-legs.ts";
import { answerOfSections, uniteSections } from "../../src/merge/merge-sections.ts";
import type { Verdict } from "../../src/report/model/gate-report.ts";
import { MAX_SECTION_BYTES, type Section, sectionText } from "../../src/report/model/section.ts";
import { sampleReport } from "../../src/report/testing/sample-report.ts";
import { canBeHostile, HostileStep } from "../action/testing/hostile-step.ts";
import { ResultsDouble } from "../action/testing/results-double.ts";
import { actionNode, azuriteBlobScript } from "../action/testing/tools.ts";

/** Sections by which one leg speaks for another, and files that the change put where a section is written. */

const HEAD = "a".repeat(40);
const RUN = { headSha: HEAD, attempt: 2 };

const section = (leg: string | null, verdict: Verdict, more: Partial<Section> = {}): Section => ({
  gateId: "default",
  leg,
  headSha: HEAD,
  runAttempt: 1,
  bundleArtifact: null,
  timelineArtifact: null,
  report: sampleReport(verdict, { session: `session-${leg}` }),
  ...more,
});

/** The merged answer over artifacts, given by their names. */
async function merged(artifacts: Readonly<Record<string, Section>>) {
  const listed = Object.entries(artifacts).map(([name, one], at) => ({ id: at + 1, name, bytes: sectionText(one) }));
  const reader = sectionReader(
    {
      upload: () => Promise.reject(new Error("read only")),
      list: async () =>
        listed.map(({ id, name, bytes }): ListedArtifact => ({ id, name, size: bytes.length, digest: null })),
      read: async ({ id }) => Buffer.from(listed[id - 1]?.bytes ?? ""),
    },
    "default",
    RUN,
  );
  const given = await reader.read();
  const refused = reader.refused();
  return answerOfSections({
    ...{ given, united: uniteSections(given), expected: parseExpected("2"), refused, recorded: null },
    ...{ unjudged: "warn", argv: [], now: new Date(0) },
  });
}

const HONEST = {
  "stormlog-section-default-cpu.json": section("cpu", "pass"),
  "stormlog-section-default-gpu.json": section("gpu", "fail"),
};

describe("a leg that speaks for another", () => {
  it("legs with their own sections have the verdict of the worst, as a control", async () => {
    expect(await merged(HONEST)).toMatchObject({ missing: [], report: { verdict: "fail", exit_code: 4 } });
    const both = { ...HONEST, "stormlog-section-default-gpu.json": section("gpu", "pass") };
    expect(await merged(both)).toMatchObject({ missing: [], report: { verdict: "pass", exit_code: 0 } });
    const again = {
      ...HONEST,
      "stormlog-section-default-gpu-attempt-2.json": section("gpu", "pass", { runAttempt: 2 }),
    };
    expect(await merged(again)).toMatchObject({ missing: [], report: { verdict: "pass" } });
  });

  it.each<readonly [string, string, Partial<Section>]>([
    ["another artifact name and a later attempt", "zzz", { runAttempt: 999 }],
    ["another artifact name", "zzz", {}],
    ["another leg's artifact name", "cpu-2", {}],
    ["another head commit", "gpu-2", { headSha: "b".repeat(40) }],
    ["no head commit", "gpu-2", { headSha: null }],
    ["another head commit and the next attempt", "gpu-attempt-2", { headSha: "b".repeat(40), runAttempt: 2 }],
    ["a later attempt than the run's", "gpu-attempt-3", { runAttempt: 3 }],
    ["an attempt that its name does not have", "gpu-attempt-2", { runAttempt: 1 }],
    ["the next attempt under a name of the first", "gpu-2", { runAttempt: 2 }],
    ["the next attempt under another leg's name", "cpu-attempt-2", { runAttempt: 2 }],
    ["another gate", "gpu-2", { gateId: "other" }],
  ])("a pass for a failed leg under %s leaves the fail, and is reported", async (_how, name, more) => {
    const { report, missing } = await merged({
      ...HONEST,
      [`stormlog-section-default-${name}.json`]: section("gpu", "pass", more),
    });
    expect(report).toMatchObject({ verdict: "fail", exit_code: 4 });
    expect(missing.map(({ message }) => message).join()).toMatch(/1 section was rejected: stormlog-section-default-/);
  });

  it("a pass for a failed leg under its own name and attempt is one of two, and the worse one counts", async () => {
    const { report } = await merged({ ...HONEST, "stormlog-section-default-gpu-2.json": section("gpu", "pass") });
    expect(report).toMatchObject({ verdict: "fail", exit_code: 4 });
  });

  it("a refused section leaves its leg missing, which is never a pass, and gives the reason", async () => {
    const { report, missing } = await merged({
      "stormlog-section-default-cpu.json": section("cpu", "pass"),
      "stormlog-section-default-gpu.json": section("gpu", "pass", { headSha: "b".repeat(40) }),
    });
    expect(report).toMatchObject({ verdict: "unjudged", exit_code: 6 });
    expect(missing.at(-1)?.message).toContain("is about bbbbbbbbbb, and the run was about aaaaaaaaaa");
  });

  it("a refusal repeats nothing of the document that it refuses", () => {
    const text = JSON.stringify({
      ...JSON.parse(sectionText(section("a", "pass"))),
      schema: "EVIL",
      EVIL: { EVIL: 1 },
    });
    let message = "";
    try {
      checkedSection(Buffer.from(text), "stormlog-section-default-a.json", RUN, "artifact 7");
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toMatch(/^artifact 7: schema: expected /);
    expect(message).not.toContain("EVIL");
  });
});

describe("a file where a section is written", () => {
  let scratch: string;
  beforeEach(() => {
    scratch = mkdtempSync(path.join(tmpdir(), "scratch-"));
  });
  afterEach(() => rmSync(scratch, { recursive: true, force: true }));

  const seen: { readonly mode: number; readonly link: boolean; readonly text: string }[] = [];
  const job = {
    store: {
      upload: async (_name: string, [file = ""]: readonly string[]) => {
        const { mode } = lstatSync(path.dirname(file));
        seen.push({ mode: mode & 0o777, link: lstatSync(file).isSymbolicLink(), text: readFileSync(file, "utf8") });
        return 7;
      },
      list: async () => [],
      read: async () => new Uint8Array(),
    },
    context: runContext({}),
    retentionDays: null,
    deadline: { ms: 5000 },
  };

  it("a link under the section's name is not followed, and the section is written to a private directory", async () => {
    const target = path.join(scratch, "target");
    writeFileSync(target, "");
    symlinkSync(target, path.join(scratch, "stormlog-section-default.json"));
    const upload = await uploadSection(job, section(null, "pass"), scratch);
    expect(upload.ok).toBe(true);
    expect(readFileSync(target, "utf8")).toBe("");
    expect(seen.at(-1)).toMatchObject({ mode: 0o700, link: false, text: sectionText(section(null, "pass")) });
    expect(sectionText(section(null, "pass")).length).toBeLessThan(MAX_SECTION_BYTES);
  });

  it.each([
    ["a link to a file of this user", (file: string) => symlinkSync("/etc/hostname", file)],
    ["a device", (file: string) => symlinkSync("/dev/zero", file)],
  ])("a timeline that is %s is not uploaded", async (_what, plant) => {
    const page = path.join(scratch, "timeline.html");
    plant(page);
    const before = seen.length;
    expect(await uploadTimeline({ ...job, name: "bundle" }, page, scratch)).toMatchObject({ ok: false });
    expect(seen).toHaveLength(before);
  });
});

const azurite = azuriteBlobScript();

describe.skipIf(!canBeHostile || azurite === null)("a change that links a section's name to the runner's files", () => {
  const results = new ResultsDouble();
  let step: HostileStep;

  beforeAll(async () => {
    if (azurite === null) return;
    await results.startWithBlobs(actionNode(), azurite);
    step = await HostileStep.start({ resultsUrl: results.url });
  }, 120_000);
  afterAll(async () => {
    await step?.stop();
    await results.stop();
  });

  it("a link under every name that a section can have leads nowhere, and the section is uploaded", async () => {
    const attack = `import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
export const after = ({ temp, loot }) => {
  // A run is repeated where a busy machine makes it differ.
  if (existsSync(loot + "/path")) return;
  writeFileSync(loot + "/path", "");
  mkdirSync(temp + "/stormlog", { recursive: true });
  for (const end of ["", "-2", "-3", "-4"]) {
    symlinkSync(loot + "/path", temp + "/stormlog/stormlog-section-default" + end + ".json");
    symlinkSync(loot + "/path", temp + "/stormlog/stormlog-default" + end + ".html");
  }
};`;
    const result = await step.attempt({ attack });
    expect(result.code, result.log).toBe(0);
    expect(existsSync(path.join(step.paths.loot, "path"))).toBe(true);
    expect(step.loot().get("path")).toBe("");
    expect(results.artifacts.map(({ name }) => name)).toContain("stormlog-section-default.json");
  }, 120_000);
});
