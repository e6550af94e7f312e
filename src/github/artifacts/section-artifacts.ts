import { GateError, invalidInput } from "../../core/errors.ts";
import { compareNames } from "../../core/text.ts";
import { MAX_SECTION_BYTES, parseSection, type Section, sectionText } from "../../report/model/section.ts";
import { askEach } from "../api/ask-each.ts";
import {
  type ArtifactJob,
  type ArtifactStore,
  type ListedArtifact,
  tried,
  type Upload,
  uploadRaw,
} from "./artifact.ts";
import { artifactNames } from "./artifact-name.ts";

/** More legs than GitHub allows a matrix to have. */
export const MAX_SECTIONS = 256;

/** Name of a section's artifact, without the `.json` that its file has. */
export function sectionName(gateId: string, leg: string | null): string {
  return `stormlog-section-${gateId}${leg === null ? "" : `-${leg}`}`;
}

/**
 * Upload this job's section unzipped.
 * @param scratch existing directory, in which a private one is made for the file
 */
export async function uploadSection(
  job: Omit<ArtifactJob, "name">,
  section: Section,
  scratch: string,
): Promise<Upload> {
  const instead = "Other jobs of this gate will miss this one. Its own summary and bundle are complete.";
  return tried("upload the section", instead, async () =>
    uploadRaw({ ...job, name: sectionName(section.gateId, section.leg) }, ".json", scratch, sectionText(section)),
  );
}

export interface SectionReader {
  /** Newest attempt of every leg in this run, sorted by leg; fetches each only once. @throws client errors */
  read(): Promise<readonly Section[]>;
  /** One sentence for each artifact that was named like a section of this gate and could not be taken for one. */
  refused(): readonly string[];
}

/** The run that sections are read of, by GitHub's record and never by theirs. */
export interface SectionRun {
  /** Head commit of the measured pull request; null outside one. */
  readonly headSha: string | null;
  readonly attempt: number;
}

/**
 * The section of an artifact, which must have the artifact's gate, leg and attempt, the run's commit and no later
 * attempt than the run's. So a section cannot replace that of another leg.
 * @throws GateError SECTION_MISLABELLED, and those of `parseSection` (exit 5)
 */
export function checkedSection(bytes: Uint8Array, artifact: string, run: SectionRun, where: string): Section {
  const section = parseSection(bytes, where);
  const refuse = (why: string) => invalidInput("SECTION_MISLABELLED", `${where} ${why}`, where);
  const { gateId, leg, headSha, runAttempt } = section;
  if (!artifactNames(sectionName(gateId, leg), runAttempt).some((name) => artifact === `${name}.json`)) {
    throw refuse("is labelled for another gate, leg or attempt than its name");
  }
  if (headSha !== run.headSha) {
    const short = (sha: string | null): string => sha?.slice(0, 10) ?? "no pull request";
    throw refuse(`is about ${short(headSha)}, and the run was about ${short(run.headSha)}`);
  }
  if (runAttempt > run.attempt) throw refuse("names a later attempt than this run's");
  return section;
}

/**
 * Sections of artifacts of one gate, each fetched once, with the reasons of those that are none.
 * @param whereOf how an artifact is named in a refusal
 */
export function knownSections<Artifact extends Named>(
  { gateId, run }: { readonly gateId: string; readonly run: SectionRun },
  bytesOf: (artifact: Artifact) => Promise<Uint8Array>,
  whereOf: (artifact: Artifact) => string,
) {
  const known = new Map<number, Section | null>();
  const refused = new Map<number, string>();
  const take = async (artifact: Artifact): Promise<void> => {
    const { id, name } = artifact;
    try {
      const section = checkedSection(await bytesOf(artifact), name, run, whereOf(artifact));
      // "a" with the leg "b-c" and "a-b" with the leg "c" have the same name; the content decides.
      known.set(id, section.gateId === gateId ? section : null);
    } catch (error) {
      // What cannot be fetched now may be fetched in the next round. What is not a section will never be one.
      if (!(error instanceof GateError) || error.kind !== "invalid-input") throw error;
      known.set(id, null);
      refused.set(id, error.message);
    }
  };
  const of = async (artifacts: readonly Artifact[]): Promise<readonly Section[]> => {
    await askEach(
      artifacts.filter(({ id }) => !known.has(id)),
      take,
    );
    return artifacts.flatMap(({ id }) => known.get(id) ?? []);
  };
  return { of, refused: () => [...refused.values()] };
}

/** Sections of one gate in the workflow run of this job, through its own artifact service: no permission is needed. */
export function sectionReader(store: ArtifactStore, gateId: string, run: SectionRun): SectionReader {
  const bytesOf = (artifact: ListedArtifact) => store.read(artifact, MAX_SECTION_BYTES);
  const known = knownSections({ gateId, run }, bytesOf, ({ name }) => name);
  const read = async () => {
    const named = namedLike(await store.list(), gateId).sort((a, b) => b.id - a.id);
    return newestSections(await known.of(named.slice(0, MAX_SECTIONS * 2)));
  };
  return { read, refused: known.refused };
}

type Named = Pick<ListedArtifact, "id" | "name">;

/** The artifacts that are named like a section of a gate. */
export function namedLike<Artifact extends Named>(listed: readonly Artifact[], gateId: string): Artifact[] {
  const start = sectionName(gateId, null);
  return listed.filter(
    ({ name }) => name.startsWith(start) && name.endsWith(".json") && /^[.-]/.test(name.slice(start.length)),
  );
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

function compareLegs(a: string | null, b: string | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1;
  return compareNames(a, b);
}
