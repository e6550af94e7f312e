import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MAX_SECTION_BYTES, type Section, sectionText } from "../../report/model/section.ts";
import { sampleReport } from "../../report/testing/sample-report.ts";
import { runContext } from "../api/run-context.ts";
import type { ArtifactStore, ListedArtifact } from "./artifact.ts";
import { MAX_SECTIONS, newestSections, sectionReader, uploadSection } from "./section-artifacts.ts";

const BASE: Section = {
  gateId: "default",
  leg: null,
  headSha: null,
  runAttempt: 1,
  bundleArtifact: null,
  timelineArtifact: null,
  report: sampleReport("pass"),
};
const section = (overrides: Partial<Section> = {}): Section => ({ ...BASE, ...overrides });

/** Artifacts as a service keeps them: by name, immutable. */
class Shelf implements ArtifactStore {
  readonly stored: { artifact: ListedArtifact; bytes: Uint8Array }[] = [];
  readonly reads: number[] = [];
  failure: Error | null = null;

  put(name: string, bytes: Uint8Array, size = bytes.byteLength): number {
    if (this.stored.some(({ artifact }) => artifact.name === name)) {
      throw new Error("(409) Conflict: an artifact with this name already exists on the workflow run");
    }
    const id = 500 + this.stored.length;
    this.stored.push({ artifact: { id, name, size, digest: null }, bytes });
    return id;
  }

  async upload(name: string, [file = ""]: readonly string[]): Promise<number> {
    return this.put(name, readFileSync(file));
  }

  async list(): Promise<readonly ListedArtifact[]> {
    if (this.failure !== null) throw this.failure;
    return this.stored.map(({ artifact }) => artifact);
  }

  async read({ id }: ListedArtifact): Promise<Uint8Array> {
    if (this.failure !== null) throw this.failure;
    this.reads.push(id);
    return this.stored.find(({ artifact }) => artifact.id === id)?.bytes ?? new Uint8Array();
  }

  get names(): readonly string[] {
    return this.stored.map(({ artifact }) => artifact.name);
  }
}

let directory: string;
let shelf: Shelf;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "section-artifacts-"));
  shelf = new Shelf();
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const upload = (given: Section, attempt = 1) =>
  uploadSection(
    {
      store: shelf,
      context: runContext({ GITHUB_RUN_ATTEMPT: String(attempt) }),
      retentionDays: null,
      deadline: { ms: 5000 },
    },
    given,
    directory,
  );

const RUN = { headSha: null, attempt: 2 };
const reader = (gateId: string) => sectionReader(shelf, gateId, RUN);

const legs = (sections: readonly Section[]) => sections.map(({ leg, report }) => [leg, report.verdict]);

describe("sections as artifacts", () => {
  it("sections are named after gate and leg, and are read in the order of the legs", async () => {
    for (const leg of ["leg-10", "leg-9", null]) await upload(section({ leg }));
    expect(shelf.names).toEqual([
      "stormlog-section-default-leg-10.json",
      "stormlog-section-default-leg-9.json",
      "stormlog-section-default.json",
    ]);
    expect(legs(await reader("default").read()).map(([leg]) => leg)).toEqual([null, "leg-9", "leg-10"]);
  });

  it("the section of a leg that ran again is its newest attempt's", async () => {
    await upload(section({ leg: "a", report: sampleReport("fail") }));
    await upload(section({ leg: "b" }));
    await upload(section({ leg: "a", runAttempt: 2 }), 2);
    expect(shelf.names).toContain("stormlog-section-default-a-attempt-2.json");
    expect(legs(await reader("default").read())).toEqual([
      ["a", "pass"],
      ["b", "pass"],
    ]);
  });

  it("sections of jobs with the same name are all kept", async () => {
    await upload(section({ report: sampleReport("fail") }));
    await upload(section());
    expect(legs(await reader("default").read())).toEqual([
      [null, "fail"],
      [null, "pass"],
    ]);
  });

  it("sections belong to the gate in their content when their name is ambiguous", async () => {
    await upload(section({ gateId: "gpu", leg: "big-a" }));
    await upload(section({ gateId: "gpu-big", leg: "a" }));
    expect(shelf.names).toEqual(["stormlog-section-gpu-big-a.json", "stormlog-section-gpu-big-a-2.json"]);
    expect((await reader("gpu-big").read()).map(({ leg }) => leg)).toEqual(["a"]);
    expect((await reader("gpu").read()).map(({ leg }) => leg)).toEqual(["big-a"]);
    expect(await reader("gp").read()).toEqual([]);
  });

  it("sections are fetched once, however often they are read", async () => {
    await upload(section({ leg: "a" }));
    const sections = reader("default");
    await sections.read();
    await upload(section({ leg: "b" }));
    await sections.read();
    expect(await sections.read()).toHaveLength(2);
    expect(shelf.reads).toEqual([500, 501]);
  });

  it("artifacts that are not sections are refused with a reason, and the others are read", async () => {
    await upload(section({ leg: "a" }));
    shelf.put("stormlog-section-default-b.json", Buffer.from("<html>"));
    shelf.put("stormlog-section-default-c.json", new Uint8Array(MAX_SECTION_BYTES + 1));
    shelf.put("stormlog-default", Buffer.from("a bundle"));
    const sections = reader("default");
    expect((await sections.read()).map(({ leg }) => leg)).toEqual(["a"]);
    expect(sections.refused().map((line) => line.split(" ")[0])).toEqual([
      "stormlog-section-default-c.json",
      "stormlog-section-default-b.json",
    ]);
  });

  it("a reader of sections fails while the service does not answer, and reads them later", async () => {
    await upload(section());
    const sections = reader("default");
    shelf.failure = new Error("no answer");
    await expect(sections.read()).rejects.toThrow("no answer");
    shelf.failure = null;
    expect(await sections.read()).toHaveLength(1);
  });

  it("newestSections returns at most as many sections as a matrix has legs", () => {
    const many = Array.from({ length: 400 }, (_, n) => section({ leg: `leg-${n}` }));
    expect(newestSections(many)).toHaveLength(MAX_SECTIONS);
  });

  it("a section that cannot be uploaded gives one warning", async () => {
    shelf.put = () => {
      throw new Error("Failed to CreateArtifact: insufficient usage");
    };
    expect(await upload(section())).toEqual({
      ok: false,
      warning: expect.stringContaining("Could not upload the section: the artifact storage of this account is full"),
    });
  });

  it("a section is stored as the text that is read", async () => {
    await upload(section());
    expect(Buffer.from(shelf.stored[0]?.bytes ?? []).toString()).toBe(sectionText(section()));
  });
});
