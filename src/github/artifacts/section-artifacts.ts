import { writeFileSync } from "node:fs";
import { GateError } from "../../core/errors.ts";
import { MAX_SECTION_BYTES, parseSection, type Section, sectionText } from "../../report/documents/section.ts";
import { degradedWarning } from "../degrade.ts";
import type { ArtifactJob, ArtifactStore, Upload } from "./artifact.ts";
import { uploadRaw } from "./artifact.ts";
import type { ListedArtifact } from "./artifact-read.ts";

/** More legs than GitHub allows a matrix to have. */
export const MAX_SECTIONS = 256;

/** Concurrent downloads. */
const AT_ONCE = 6;

const PREFIX = "stormlog-section-";

/** Name of a section's artifact, without the `.json` that its file has. */
export function sectionName(gateId: string, leg: string | null): string {
  return `${PREFIX}${gateId}${leg === null ? "" : `-${leg}`}`;
}

/** Upload this job's section unzipped. @param scratch existing directory, which stays for an upload that is late */
export async function uploadSection(
  job: Omit<ArtifactJob, "name">,
  section: Section,
  scratch: string,
): Promise<Upload> {
  try {
    const text = sectionText(section);
    return await uploadRaw({ ...job, name: sectionName(section.gateId, section.leg) }, ".json", scratch, (file) =>
      writeFileSync(file, text),
    );
  } catch (error) {
    const instead = "The other jobs of this gate will not know of this one; its own summary and bundle are whole.";
    return { ok: false, warning: degradedWarning({ what: "upload the section", permission: null, instead }, error) };
  }
}

export interface SectionReader {
  /** Newest attempt of every leg in this run, sorted by leg; fetches each only once. @throws client errors */
  read(): Promise<readonly Section[]>;
  /** One sentence for each artifact that was named like a section of this gate and could not be taken for one. */
  refused(): readonly string[];
}

/** Sections of one gate in the workflow run of this job, through its own artifact service: no permission is needed. */
export function sectionReader(store: ArtifactStore, gateId: string): SectionReader {
  const read = new Map<number, Section | null>();
  const refused = new Map<number, string>();

  const take = async (artifact: ListedArtifact): Promise<void> => {
    try {
      const section = parseSection(await store.read(artifact, MAX_SECTION_BYTES), artifact.name);
      // "a" with the leg "b-c" and "a-b" with the leg "c" have the same name; the content decides.
      read.set(artifact.id, section.gateId === gateId ? section : null);
    } catch (error) {
      // What cannot be fetched now may be fetched in the next round. What is not a section will never be one.
      if (!(error instanceof GateError)) throw error;
      read.set(artifact.id, null);
      refused.set(artifact.id, error.message);
    }
  };

  return {
    async read() {
      const named = (await store.list())
        .filter(({ name }) => isNamedLike(name, gateId))
        .sort((a, b) => b.id - a.id)
        .slice(0, MAX_SECTIONS * 2);
      const unread = named.filter(({ id }) => !read.has(id));
      const worker = async (): Promise<void> => {
        for (let next = unread.shift(); next !== undefined; next = unread.shift()) await take(next);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      return newestSections(named.flatMap(({ id }) => read.get(id) ?? []));
    },
    refused: () => [...refused.values()],
  };
}

function isNamedLike(name: string, gateId: string): boolean {
  const start = `${PREFIX}${gateId}`;
  return name.endsWith(".json") && name.startsWith(start) && /^[.-]/.test(name.slice(start.length));
}

/** Newest attempt of each leg, with all jobs that share a leg's name. @param sections newest first */
export function newestSections(sections: readonly Section[]): readonly Section[] {
  const newest = new Map<string | null, number>();
  for (const { leg, runAttempt } of sections) newest.set(leg, Math.max(runAttempt, newest.get(leg) ?? 0));
  return sections
    .filter(({ leg, runAttempt }) => newest.get(leg) === runAttempt)
    .slice(0, MAX_SECTIONS)
    .reverse()
    .sort((a, b) => compareLegs(a.leg, b.leg));
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

function compareLegs(a: string | null, b: string | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1;
  return COLLATOR.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}
