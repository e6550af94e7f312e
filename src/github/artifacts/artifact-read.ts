import { lstat, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { invalidInput } from "../../core/errors.ts";

export interface ListedArtifact {
  readonly id: number;
  readonly name: string;
  /** Stored bytes. */
  readonly size: number;
  /** `sha256:…` of the stored bytes; null where the service did not report it. */
  readonly digest: string | null;
}

function tooLarge(name: string, bytes: number, maxBytes: number): never {
  throw invalidInput("ARTIFACT_TOO_LARGE", `the artifact ${name} has ${bytes} bytes, more than ${maxBytes}`, name);
}

/**
 * The stored bytes of an artifact of this workflow run, never unpacked. The client only writes files, so they pass
 * through a directory of their own that is removed again.
 * @param maxBytes larger ones are refused before anything is fetched, and again by what arrived
 * @throws GateError ARTIFACT_TOO_LARGE, ARTIFACT_DIGEST (exit 5), and what the client throws
 */
export async function readArtifact(artifact: ListedArtifact, maxBytes: number): Promise<Uint8Array> {
  const { id, name, size, digest } = artifact;
  if (!(size <= maxBytes)) tooLarge(name, size, maxBytes);
  const { DefaultArtifactClient } = await import("@actions/artifact");
  const directory = await mkdtemp(path.join(tmpdir(), "stormlog-artifact-"));
  try {
    const { digestMismatch } = await new DefaultArtifactClient().downloadArtifact(id, {
      path: directory,
      skipDecompress: true,
      ...(digest === null ? {} : { expectedHash: digest }),
    });
    if (digestMismatch === true) {
      throw invalidInput("ARTIFACT_DIGEST", `the artifact ${name} is not what was stored: its digest differs`, name);
    }
    const [file, ...others] = await readdir(directory);
    if (file === undefined || others.length > 0) throw new Error(`the artifact ${name} did not arrive as one file`);
    const found = await lstat(path.join(directory, file));
    if (!found.isFile()) throw new Error(`the artifact ${name} did not arrive as a file`);
    if (found.size > maxBytes) tooLarge(name, found.size, maxBytes);
    return await readFile(path.join(directory, file));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
