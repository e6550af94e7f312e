import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Failure, Request } from "./http.ts";

/** How a blob store treats an upload; the first part of the address selects it. */
export type BlobMode = "ok" | "refused" | "failing" | "hang" | "cut" | "down";

const xml = (code: string): string => `<?xml version="1.0" encoding="utf-8"?><Error><Code>${code}</Code></Error>`;

/** A blob store that fails in the middle of an upload, which Microsoft's emulator does not do at will. */
export class BrokenBlobs {
  readonly #server: Server;
  /** A second store, which stops after its first bytes. */
  readonly #mortal: Server;

  private constructor() {
    this.#server = createServer((message, response) => this.#answer(message, response));
    this.#mortal = createServer((message) => {
      message.once("data", () => {
        this.#mortal.close();
        this.#mortal.closeAllConnections();
      });
    });
  }

  static async start(): Promise<BrokenBlobs> {
    const blobs = new BrokenBlobs();
    for (const server of [blobs.#server, blobs.#mortal]) {
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    }
    blobs.#mortalPort = (blobs.#mortal.address() as AddressInfo).port;
    return blobs;
  }

  #mortalPort = 0;

  /** Where a client may put an artifact. */
  signedUrl(mode: BlobMode, name: string): string {
    const port = mode === "down" ? this.#mortalPort : (this.#server.address() as AddressInfo).port;
    return `http://127.0.0.1:${port}/${mode}/${encodeURIComponent(name)}?sig=canary-signature`;
  }

  #answer(message: IncomingMessage, response: ServerResponse): void {
    switch (message.url?.split("/")[1] as BlobMode) {
      case "refused":
        message.resume();
        response.writeHead(403, { "content-type": "application/xml" }).end(xml("AuthenticationFailed"));
        return;
      case "failing":
        message.resume();
        response.writeHead(500, { "content-type": "application/xml" }).end(xml("InternalError"));
        return;
      case "hang":
        message.resume();
        return;
      case "cut":
        message.once("data", () => message.socket.destroy());
        return;
      default:
        message.resume().on("end", () => response.writeHead(201, { etag: '"1"' }).end());
    }
  }

  stop(): void {
    for (const server of [this.#server, this.#mortal]) {
      server.close();
      server.closeAllConnections();
    }
  }
}

const json = (value: unknown): Failure => ({ kind: "text", text: JSON.stringify(value) });

/**
 * What the artifact service answers to an upload that goes to such a store; null = none of an upload's two requests.
 */
export function uploadAnswer(request: Request, blobs: BrokenBlobs, mode: BlobMode): Failure | null {
  const { name = "" } = (request.body ?? {}) as { name?: string };
  if (request.path.endsWith("/CreateArtifact"))
    return json({ ok: true, signed_upload_url: blobs.signedUrl(mode, name) });
  return request.path.endsWith("/FinalizeArtifact") ? json({ ok: true, artifact_id: "501" }) : null;
}
