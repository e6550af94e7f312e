import { closeSync, constants, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { lstat, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { invalidInput } from "../../core/errors.ts";
import { readBounded } from "../../core/files.ts";
import { bundleFiles } from "../../report/bundle/bundle-files.ts";
import { type Deadline, DeadlineError, withDeadline } from "../api/deadline.ts";
import { degradedWarning } from "../api/degrade.ts";
import type { RunContext } from "../api/run-context.ts";
import { artifactNames } from "./artifact-name.ts";

/** The artifact service of the running job, as little of it as the gate needs. */
export interface ArtifactStore {
  /** Store files zipped, or with `raw` one file as it is, to open in the browser. @returns the artifact's id */
  upload(name: string, files: readonly string[], root: string, options: UploadOptions): Promise<number>;
  /** Artifacts of this workflow run, of all its jobs and attempts. */
  list(): Promise<readonly ListedArtifact[]>;
  /** Stored bytes of one of them. @throws GateError ARTIFACT_TOO_LARGE, ARTIFACT_DIGEST */
  read(artifact: ListedArtifact, maxBytes: number): Promise<Uint8Array>;
}

interface UploadOptions {
  /** 1 to 90; null = the repository's setting. */
  readonly retentionDays: number | null;
  readonly raw: boolean;
}

/** An upload never decides the verdict: it worked, or there is one warning. */
export type Upload =
  | { readonly ok: true; readonly id: number; readonly name: string }
  | { readonly ok: false; readonly warning: string };

/**
 * The store of GitHub Actions. Its client is larger than everything else together: it is loaded when the store is
 * opened, before a deadline for the service's answer. One that cannot be loaded fails each use of the store.
 */
export async function actionsArtifactStore(): Promise<ArtifactStore> {
  const loading = import("@actions/artifact");
  await loading.catch(() => {});
  const client = async () => new (await loading).DefaultArtifactClient();
  return {
    async list() {
      // Without `findBy` it asks the service of the running job, for which no permission is needed.
      const { artifacts } = await (await client()).listArtifacts();
      return artifacts.map(({ id, name, size, digest }) => ({ id, name, size, digest: digest || null }));
    },

    async read(artifact, maxBytes) {
      return readArtifact(artifact, maxBytes);
    },

    async upload(name, files, root, { retentionDays, raw }) {
      const answer = await (await client()).uploadArtifact(name, [...files], root, {
        ...(retentionDays === null ? {} : { retentionDays }),
        ...(raw ? { skipArchive: true } : {}),
      });
      if (answer.id === undefined) throw new Error("the artifact service returned no id");
      return answer.id;
    },
  };
}

function isNameTaken(error: unknown): boolean {
  return error instanceof Error && /\b409\b|already exists/i.test(error.message);
}

export interface ArtifactJob {
  readonly store: ArtifactStore;
  readonly context: RunContext;
  readonly name: string;
  readonly retentionDays: number | null;
  readonly deadline: Deadline;
}

async function uploadUnderFreeName(job: ArtifactJob, put: (name: string) => Promise<number>): Promise<Upload> {
  const names = artifactNames(job.name, job.context.runAttempt);
  for (const [at, name] of names.entries()) {
    try {
      const id = await put(name);
      return { ok: true, id, name };
    } catch (error) {
      if (!isNameTaken(error) || at === names.length - 1) throw error;
    }
  }
  throw new Error("no name was tried");
}

/** An upload, or the warning about it. */
export async function tried(what: string, instead: string, upload: () => Promise<Upload>): Promise<Upload> {
  try {
    return await upload();
  } catch (error) {
    return { ok: false, warning: degradedWarning({ what, permission: null, instead }, explainUpload(error)) };
  }
}

/** Upload the whole evidence bundle as one zipped artifact. */
export function uploadBundle(job: ArtifactJob, bundleDir: string): Promise<Upload> {
  return tried("upload the evidence bundle", `It is on the runner in ${bundleDir}.`, async () => {
    const files = bundleFiles(bundleDir).files.map((file) => path.join(bundleDir, file.path));
    if (files.length === 0) return { ok: false, warning: `No evidence to upload: ${bundleDir} is empty.` };
    const options = { retentionDays: job.retentionDays, raw: false };
    const put = (name: string) => job.store.upload(name, files, bundleDir, options);
    return withDeadline(job.deadline, () => uploadUnderFreeName(job, put));
  });
}

/**
 * Upload one file as an artifact that is not zipped. The service names such an artifact after its file, which is
 * therefore written under a name of this gate's first. The directory for it is made only now and is private: the
 * measured command can have left links under any name that could be guessed.
 * @param scratch existing directory; what is made in it stays when the upload missed its deadline and may still read it
 * @throws what the file system and the artifact service's client throw, DeadlineError
 */
export async function uploadRaw(
  job: ArtifactJob,
  extension: `.${string}`,
  scratch: string,
  content: string | Uint8Array,
): Promise<Upload> {
  const own = mkdtempSync(path.join(scratch, "upload-"));
  const upload = await withDeadline(job.deadline, () =>
    uploadUnderFreeName(job, (name) => {
      const file = path.join(own, `${name}${extension}`);
      writeNew(file, content);
      return job.store.upload(path.basename(file), [file], own, { retentionDays: job.retentionDays, raw: true });
    }),
  );
  rmSync(own, { recursive: true, force: true });
  return upload;
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

function writeNew(file: string, content: string | Uint8Array): void {
  const handle = openSync(file, O_WRONLY | O_CREAT | O_EXCL | (O_NOFOLLOW ?? 0), 0o600);
  try {
    writeFileSync(handle, content);
  } finally {
    closeSync(handle);
  }
}

/** Upload the interactive timeline as a separate artifact, so that one click opens it. */
export function uploadTimeline(job: ArtifactJob, htmlFile: string, scratch: string): Promise<Upload> {
  return tried("upload the interactive timeline", "It is in the bundle.", async () =>
    // A page has at most a few megabytes.
    uploadRaw(job, ".html", scratch, readBounded(htmlFile, 64 * 1024 * 1024, "refuse")),
  );
}

/** Text of an upload's failure -> its remedy. The client throws plain errors without a code. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /not currently supported on GHES/i,
    "GitHub Enterprise Server has another artifact service. Upload the directory in the output bundle-path with " +
      "actions/upload-artifact@v3-node20 in a step of your own.",
  ],
  [
    /storage quota|insufficient usage/i,
    "the artifact storage of this account is full (insufficient usage). Delete old artifacts, shorten retention-days, or raise the limit.",
  ],
  [
    /\(409\)|already exists/i,
    "every name it tried is taken in this run (409). Give each job its own artifact-name, or the input matrix.",
  ],
];

/** Replace a failure with its remedy, for {@link degradedWarning}. @returns the given error when none is known */
export function explainUpload(error: unknown): unknown {
  if (error instanceof DeadlineError || !(error instanceof Error)) return error;
  const remedy = REMEDIES.find(([pattern]) => pattern.test(error.message))?.[1];
  if (remedy !== undefined) return new Error(remedy);
  // The store answers with a document of XML.
  const code = /<Code>(\w{1,60})<\/Code>/.exec(error.message)?.[1];
  return code === undefined ? error : new Error(`the artifact service's store refused it: ${code}`);
}

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
async function readArtifact(artifact: ListedArtifact, maxBytes: number): Promise<Uint8Array> {
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
