import { type ChildProcess, spawn } from "node:child_process";
import {
  BlobSASPermissions,
  BlobServiceClient,
  generateBlobSASQueryParameters,
  StorageSharedKeyCredential,
} from "@azure/storage-blob";
import { freePort } from "../../testing/free-port.ts";
import { type Answer, HttpDouble, type Request } from "./http.ts";

/** The account every installation of the emulator has; its key is printed in Microsoft's documentation. */
const ACCOUNT = "devstoreaccount1";
const KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const CONTAINER = "artifacts";
const SERVICE = "/twirp/github.actions.results.api.v1.ArtifactService/";

export interface StoredArtifact {
  readonly id: number;
  readonly name: string;
  readonly mimeType: string;
  size: string | null;
  hash: string | null;
}

/** The artifact service of GitHub Actions: its five methods over a blob store that is Microsoft's own emulator. */
export class ResultsDouble extends HttpDouble {
  readonly artifacts: StoredArtifact[] = [];
  #emulator: ChildProcess | undefined;
  #blobs: BlobServiceClient | undefined;
  #credential = new StorageSharedKeyCredential(ACCOUNT, KEY);

  constructor() {
    super((request) => this.#route(request));
  }

  async startWithBlobs(node: string, azuriteBlobScript: string): Promise<void> {
    const port = await freePort();
    this.#emulator = spawn(
      node,
      [azuriteBlobScript, "--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--disableTelemetry"].concat([
        "--blobHost",
        "127.0.0.1",
        "--blobPort",
        String(port),
      ]),
      { stdio: "ignore" },
    );
    this.#blobs = new BlobServiceClient(`http://127.0.0.1:${port}/${ACCOUNT}`, this.#credential, {
      retryOptions: { maxTries: 1 },
    });
    const deadline = Date.now() + 60_000;
    for (;;) {
      try {
        await this.#blobs.getContainerClient(CONTAINER).createIfNotExists();
        break;
      } catch (error) {
        if (Date.now() > deadline) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
    await this.start();
  }

  override async stop(): Promise<void> {
    this.#emulator?.kill("SIGKILL");
    await super.stop();
  }

  /** The stored bytes, read with Azure's own client. */
  async read(name: string): Promise<Buffer> {
    return this.#blob(name).downloadToBuffer();
  }

  #blob(name: string) {
    if (this.#blobs === undefined) throw new Error("the blob emulator is not started");
    return this.#blobs.getContainerClient(CONTAINER).getBlockBlobClient(encodeURIComponent(name));
  }

  #signedUrl(name: string, permissions: string): string {
    const sas = generateBlobSASQueryParameters(
      {
        containerName: CONTAINER,
        blobName: encodeURIComponent(name),
        permissions: BlobSASPermissions.parse(permissions),
        expiresOn: new Date(Date.now() + 3_600_000),
      },
      this.#credential,
    );
    return `${this.#blob(name).url}?${sas}`;
  }

  /** Only what is complete is listed. */
  #listed(body: Readonly<Record<string, string>>): readonly StoredArtifact[] {
    return this.artifacts.filter(
      ({ id, name, size }) =>
        size !== null &&
        (body.id_filter === undefined || String(id) === String(body.id_filter)) &&
        (body.name_filter === undefined || name === body.name_filter),
    );
  }

  #describe({ id, name, size, hash }: StoredArtifact): object {
    const ids = { workflow_run_backend_id: "run-backend", workflow_job_run_backend_id: "job-backend" };
    return { ...ids, database_id: String(id), name, size, digest: hash };
  }

  #route(request: Request): Answer {
    if (!/^bearer ./i.test(request.authorization)) return { status: 401, body: { msg: "unauthenticated" } };
    const body = (request.body ?? {}) as Record<string, string>;
    const found = this.artifacts.find(({ name }) => name === body.name);
    switch (request.path.slice(SERVICE.length)) {
      case "CreateArtifact": {
        if (found !== undefined) {
          const msg = "an artifact with this name already exists on the workflow run";
          return { status: 409, body: { code: "already_exists", msg } };
        }
        const name = body.name ?? "";
        this.artifacts.push({
          id: 500 + this.artifacts.length,
          name,
          mimeType: body.mime_type ?? "",
          size: null,
          hash: null,
        });
        return { status: 200, body: { ok: true, signed_upload_url: this.#signedUrl(name, "cw") } };
      }
      case "FinalizeArtifact":
        if (found === undefined) return { status: 404, body: { msg: "no such artifact" } };
        found.size = body.size ?? null;
        found.hash = body.hash ?? null;
        return { status: 200, body: { ok: true, artifact_id: String(found.id) } };
      case "ListArtifacts":
        return { status: 200, body: { artifacts: this.#listed(body).map((artifact) => this.#describe(artifact)) } };
      case "GetSignedArtifactURL":
        if (found === undefined) return { status: 404, body: { msg: "no such artifact" } };
        return { status: 200, body: { name: found.name, signed_url: this.#signedUrl(found.name, "r") } };
      case "DeleteArtifact":
        if (found === undefined) return { status: 404, body: { msg: "no such artifact" } };
        this.artifacts.splice(this.artifacts.indexOf(found), 1);
        return { status: 200, body: { ok: true, artifact_id: String(found.id) } };
      default:
        return { status: 404, body: { msg: `unknown method ${request.path}` } };
    }
  }
}

/** A runtime token as the client reads it: a JWT whose signature is not checked, with the backend ids in one scope. */
export function runtimeToken(): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part({ scp: "Actions.Results:run-backend:job-backend" })}.signature`;
}
