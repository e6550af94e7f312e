import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What a double does instead of answering. */
export type Failure =
  | {
      readonly kind: "status";
      readonly status: number;
      readonly message?: string;
      readonly headers?: Record<string, string>;
    }
  /** Accept and never answer. */
  | { readonly kind: "hang" }
  /** Close the connection in the middle; `late` = when the reader has the head and the beginning of the body. */
  | { readonly kind: "cut"; readonly late?: true }
  /** Answer as usual, but late. */
  | { readonly kind: "late"; readonly ms: number }
  /** Begin an answer and go on with it, a byte a second. */
  | { readonly kind: "trickle" }
  /** An answer that does not end, as fast as it is taken. */
  | { readonly kind: "endless" }
  /** An answer with a wrong type or content. */
  | { readonly kind: "text"; readonly text: string; readonly status?: number; readonly type?: string };

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string;
  readonly body: unknown;
}

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  /** Sent as it is instead of `body`. */
  readonly raw?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

async function readRequest(message: IncomingMessage): Promise<Request> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  const url = new URL(message.url ?? "/", "http://double");
  return {
    method: message.method ?? "",
    path: decodeURIComponent(url.pathname),
    query: url.searchParams,
    authorization: message.headers.authorization ?? "",
    body: text === "" ? undefined : JSON.parse(text),
  };
}

const JSON_TYPE = { "content-type": "application/json" };

/** Effect of a failure on the connection; "answer" = nothing, an answer follows. */
async function misbehave(failure: Failure, response: ServerResponse): Promise<"done" | "answer"> {
  switch (failure.kind) {
    case "status":
      return "answer";
    case "late":
      await new Promise((resolve) => setTimeout(resolve, failure.ms));
      return "answer";
    case "hang":
      return "done";
    case "cut":
      response.writeHead(200, { ...JSON_TYPE, "content-length": "1000" });
      response.write('{"id": ');
      if (failure.late) await new Promise((resolve) => setTimeout(resolve, 200));
      response.socket?.destroy();
      return "done";
    case "text":
      response.writeHead(failure.status ?? 200, { "content-type": failure.type ?? "application/json" });
      response.end(failure.text);
      return "done";
    case "trickle": {
      response.writeHead(200, JSON_TYPE);
      const timer = setInterval(() => response.write(" "), 1000);
      response.on("close", () => clearInterval(timer));
      return "done";
    }
    case "endless": {
      response.writeHead(200, JSON_TYPE);
      const block = Buffer.alloc(1 << 20, " ");
      const more = (): void => {
        while (!response.destroyed && response.write(block));
      };
      response.on("drain", more);
      more();
      return "done";
    }
  }
}

/** A real HTTP server on a free port, because the tested step is another process. */
export class HttpDouble {
  readonly #server: Server;
  readonly #handle: (request: Request) => Answer | Promise<Answer>;
  /** Decides for each request whether it fails. */
  failure: (request: Request) => Failure | null = () => null;
  readonly requests: Request[] = [];
  /** Failures of the double; a test must find it empty. */
  readonly faults: string[] = [];

  constructor(handle: (request: Request) => Answer | Promise<Answer>) {
    this.#handle = handle;
    this.#server = createServer((message, response) => {
      this.#answer(message, response).catch((error: unknown) => {
        this.faults.push(String(error));
        response.destroy();
      });
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this.url;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(message);
    this.requests.push(request);
    const failure = this.failure(request);
    if (failure !== null && (await misbehave(failure, response)) === "done") return;
    const { status, body, raw, headers }: Answer =
      failure?.kind === "status"
        ? { status: failure.status, body: { message: failure.message ?? "" }, headers: failure.headers ?? {} }
        : await this.#handle(request);
    response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers });
    response.end(raw ?? (body === undefined ? "" : JSON.stringify(body)));
  }
}
