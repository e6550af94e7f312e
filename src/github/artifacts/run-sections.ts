import { MAX_SECTION_BYTES, type Section } from "../../report/model/section.ts";
import { bounded } from "../api/degrade.ts";
import type { RecordedRun } from "../pull-request/resolve-pull-request.ts";
import { type ArtifactSource, downloadRunArtifact, listRunArtifacts, type RunArtifact } from "./artifact-download.ts";
import { knownSections, MAX_SECTIONS, namedLike, newestSections, type SectionReader } from "./section-artifacts.ts";
import { looksZipped, readOnlyEntry } from "./zip-entry.ts";

/** All sections of a gate together, bytes: they are kept in memory, and an untrusted author chooses their number. */
const MAX_BYTES = 64 * 1024 * 1024;

/** The newest ones, as many as may be held. */
function affordable(named: readonly RunArtifact[]): readonly RunArtifact[] {
  let bytes = 0;
  return named.slice(0, MAX_SECTIONS * 2).filter((artifact) => {
    bytes += Math.min(artifact.bytes, MAX_SECTION_BYTES);
    return bytes <= MAX_BYTES;
  });
}

/** A section whose links lead to evidence that GitHub lists for this very run, or nowhere. */
function withOwnEvidence(section: Section, ids: ReadonlySet<number>): Section {
  const own = (id: number | null): number | null => (id !== null && ids.has(id) ? id : null);
  return { ...section, bundleArtifact: own(section.bundleArtifact), timelineArtifact: own(section.timelineArtifact) };
}

/**
 * Sections of one gate in another workflow run, over the REST API (`actions: read`). The run may be untrusted: every
 * artifact is checked against what GitHub recorded of it, unpacked in memory within limits, and parsed; what does not
 * fit is refused with a sentence and none of its text.
 */
export function runSectionReader(source: ArtifactSource, run: RecordedRun, gateId: string): SectionReader {
  let leftOut = 0;
  // Sections of a run without a pull request, like that of a push, name no commit.
  const recorded = { headSha: /^pull_request(_target)?$/.test(run.event) ? run.headSha : null, attempt: run.attempt };
  const whereOf = ({ id }: RunArtifact): string => `artifact ${id}`;
  const bytesOf = async (artifact: RunArtifact): Promise<Buffer> => {
    const stored = await downloadRunArtifact(source, artifact, MAX_SECTION_BYTES);
    if (!looksZipped(stored)) return stored;
    return readOnlyEntry(stored, artifact.name, { maxBytes: MAX_SECTION_BYTES }, whereOf(artifact));
  };
  const known = knownSections({ gateId, run: recorded }, bytesOf, whereOf);
  return {
    async read() {
      const listed = await listRunArtifacts(source);
      const named = namedLike(listed, gateId);
      const wanted = affordable(named);
      leftOut = named.length - wanted.length;
      const ids = new Set(listed.map(({ id }) => id));
      const sections = await known.of(wanted);
      return newestSections(sections.map((section) => withOwnEvidence(section, ids)));
    },
    refused() {
      const many = `${leftOut} more artifacts look like sections and were not read: they are too many or too large`;
      return [...known.refused().map(bounded), ...(leftOut > 0 ? [many] : [])];
    },
  };
}
