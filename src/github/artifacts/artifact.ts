import { closeSync, constants, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { readBounded } from "../../core/files.ts";
import { bundleFiles } from "../../report/bundle/bundle-files.ts";
import { type Deadline, withDeadline } from "../api/deadline.ts";
import { degradedWarning } from "../api/degrade.ts";
import { artifactUrl, type RunContext } from "../api/run-context.ts";
import { artifactNames } from "./artifact-name.ts";
import type { ListedArtifact } from "./artifact-read.ts";
import { explainUpload } from "./upload-failure.ts";

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
  | { readonly ok: true; readonly id: number; readonly name: string; readonly url: string | null }
  | { readonly ok: false; readonly warning: string };

/** The store of GitHub Actions. Loaded on first use: the client is larger than everything else together. */
export function actionsArtifactStore(): ArtifactStore {
  return {
    async list() {
      const { DefaultArtifactClient } = await import("@actions/artifact");
      // Without `findBy` it asks the service of the running job, for which no permission is needed.
      const { artifacts } = await new DefaultArtifactClient().listArtifacts();
      return artifacts.map(({ id, name, size, digest }) => ({ id, name, size, digest: digest || null }));
    },

    async read(artifact, maxBytes) {
      const { readArtifact } = await import("./artifact-read.ts");
      return readArtifact(artifact, maxBytes);
    },

    async upload(name, files, root, { retentionDays, raw }) {
      const { DefaultArtifactClient } = await import("@actions/artifact");
      const answer = await new DefaultArtifactClient().uploadArtifact(name, [...files], root, {
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
      return { ok: true, id, name, url: artifactUrl(job.context, id) };
    } catch (error) {
      if (!isNameTaken(error) || at === names.length - 1) throw error;
    }
  }
  throw new Error("no name was tried");
}

/** Upload the whole evidence bundle as one zipped artifact. */
export async function uploadBundle(job: ArtifactJob, bundleDir: string): Promise<Upload> {
  try {
    const files = bundleFiles(bundleDir).files.map((file) => path.join(bundleDir, file.path));
    if (files.length === 0) return { ok: false, warning: `No evidence to upload: ${bundleDir} is empty.` };
    return await withDeadline(job.deadline, () =>
      uploadUnderFreeName(job, (name) =>
        job.store.upload(name, files, bundleDir, { retentionDays: job.retentionDays, raw: false }),
      ),
    );
  } catch (error) {
    return {
      ok: false,
      warning: degradedWarning(
        { ...UPLOAD_ATTEMPT, instead: `It is on the runner in ${bundleDir}.` },
        explainUpload(error),
      ),
    };
  }
}

const UPLOAD_ATTEMPT = { what: "upload the evidence bundle", permission: null } as const;

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
const NEW_FILE = O_WRONLY | O_CREAT | O_EXCL | (O_NOFOLLOW ?? 0);

function writeNew(file: string, content: string | Uint8Array): void {
  const handle = openSync(file, NEW_FILE, 0o600);
  try {
    writeFileSync(handle, content);
  } finally {
    closeSync(handle);
  }
}

/** A page has at most a few megabytes. */
const MAX_PAGE_BYTES = 64 * 1024 * 1024;

/** Upload the interactive timeline as a separate artifact, so that one click opens it. */
export async function uploadTimeline(job: ArtifactJob, htmlFile: string, scratch: string): Promise<Upload> {
  try {
    return await uploadRaw(job, ".html", scratch, readBounded(htmlFile, MAX_PAGE_BYTES, "refuse"));
  } catch (error) {
    const attempt = { what: "upload the interactive timeline", permission: null, instead: "It is in the bundle." };
    return { ok: false, warning: degradedWarning(attempt, explainUpload(error)) };
  }
}
