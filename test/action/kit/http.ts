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
  /** Close the connection in the middle. */
  | { readonly kind: "cut" };

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

/** A real HTTP server on a free port: what is tested is a process of its own, which nothing in this one can intercept. */
export class HttpDouble {
  readonly #server: Server;
  readonly #handle: (request: Request) => Answer | Promise<Answer>;
  /** Decides for each request whether it fails. */
  failure: (request: Request) => Failure | null = () => null;
  readonly requests: Request[] = [];
  /** Failures of the double itself; a test must find it empty. */
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
    if (failure?.kind === "hang") return;
    if (failure?.kind === "cut") {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write('{"id": ');
      response.socket?.destroy();
      return;
    }
    const { status, body, headers }: Answer =
      failure === null
        ? await this.#handle(request)
        : { status: failure.status, body: { message: failure.message ?? "" }, headers: failure.headers ?? {} };
    response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers });
    response.end(body === undefined ? "" : JSON.stringify(body));
  }
}
