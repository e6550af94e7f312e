import { GateError } from "../../core/errors.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { cutText } from "../../core/text.ts";
import { MAX_SECTION_BYTES, type Section } from "../../report/model/section.ts";
import type { RecordedRun } from "../pull-request/resolve-pull-request.ts";
import { type ArtifactSource, downloadRunArtifact, listRunArtifacts, type RunArtifact } from "./artifact-download.ts";
import { checkedSection, MAX_SECTIONS, newestSections, type SectionReader, sectionName } from "./section-artifacts.ts";
import { looksZipped, readOnlyEntry } from "./zip-entry.ts";

/** All sections of a gate together, bytes: they are kept in memory, and an untrusted author chooses their number. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Downloads at a time. */
const AT_ONCE = 4;
const SUFFIX = ".json";
const MAX_SHOWN = 300;

function shown(error: GateError): string {
  const line = escapeTerminal(error.message.replace(/\s+/g, " "));
  return cutText(line, MAX_SHOWN);
}

function namedLike(listed: readonly RunArtifact[], gateId: string): readonly RunArtifact[] {
  const start = sectionName(gateId, null);
  return listed.filter(
    ({ name }) => name.startsWith(start) && name.endsWith(SUFFIX) && /^[.-]/.test(name.slice(start.length)),
  );
}

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
  const known = new Map<number, Section | null>();
  const refusals = new Map<number, string>();
  let leftOut = 0;
  // Sections of a run without a pull request, like that of a push, name no commit.
  const recorded = { headSha: /^pull_request(_target)?$/.test(run.event) ? run.headSha : null, attempt: run.attempt };

  const take = async (artifact: RunArtifact): Promise<void> => {
    const where = `artifact ${artifact.id}`;
    try {
      const stored = await downloadRunArtifact(source, artifact, MAX_SECTION_BYTES);
      const bytes = looksZipped(stored)
        ? await readOnlyEntry(stored, artifact.name, { maxBytes: MAX_SECTION_BYTES }, where)
        : stored;
      const section = checkedSection(bytes, artifact.name, recorded, where);
      // Gate "a" with leg "b" and gate "a-b" look alike until they are read.
      known.set(artifact.id, section.gateId === gateId ? section : null);
    } catch (error) {
      // A hiccup of the network, or the end of our own time, is not what is to be remembered of an artifact.
      if (!(error instanceof GateError) || error.kind !== "invalid-input") throw error;
      known.set(artifact.id, null);
      refusals.set(artifact.id, shown(error));
    }
  };

  return {
    async read() {
      const listed = await listRunArtifacts(source);
      const named = namedLike(listed, gateId);
      const wanted = affordable(named);
      leftOut = named.length - wanted.length;
      const unread = wanted.filter(({ id }) => !known.has(id));
      const worker = async (): Promise<void> => {
        for (let next = unread.shift(); next !== undefined; next = unread.shift()) await take(next);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      const ids = new Set(listed.map(({ id }) => id));
      const sections = wanted.flatMap(({ id }) => known.get(id) ?? []);
      return newestSections(sections.map((section) => withOwnEvidence(section, ids)));
    },
    refused() {
      const many = `${leftOut} more artifacts look like sections and were not read: they are too many or too large`;
      return leftOut > 0 ? [...refusals.values(), many] : [...refusals.values()];
    },
  };
}
