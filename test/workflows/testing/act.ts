import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { freePort } from "../../testing/free-port.ts";
import { workflowTool } from "./tools.ts";

/**
 * act runs workflow files on this machine (host mode: no container), with its own reading of workflow, expressions,
 * commands and the artifact service. What it cannot do, and how the tests get round it:
 * - its artifact service refuses requests with an unknown field (`mime_type`, which the toolkit has sent
 *   since un-zipped artifacts came), silently drops what is uploaded in one piece, and signs its addresses with a "="
 *   at the end that Azure's client cuts off: a relay in front of it takes the field out, asks for such a piece to be
 *   appended, and mends the signature;
 * - it fetches actions of others from GitHub: the checkout of the measured commit, for which it copies the clone
 *   instead, is the only one used;
 * - it has no GitHub, so the API's address is the double's;
 * - it keeps every artifact, un-zipped ones too, as `<name>.zip`;
 * - jobs that check out another ref than the event's (the report by the base's Action) cannot run.
 */

/** 32 bytes in base64. */
const SIGNATURE_CHARS = 44;

export interface ActRun {
  readonly code: number | null;
  readonly log: string;
  /** Artifacts of the run by name, as act's own service keeps them. */
  readonly artifacts: ReadonlyMap<string, Buffer>;
}

export interface ActOptions {
  readonly cwd: string;
  readonly workflow: string;
  readonly job: string;
  readonly event: object;
  /** Name of the event (default pull_request). */
  readonly eventName?: string;
  /** Directory of the `node` that actions run with. */
  readonly nodeDirectory: string;
  readonly apiUrl: string;
  readonly arguments?: readonly string[];
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Passes everything on to act's artifact service, in the form that it understands. */
async function startRelay(targetPort: number): Promise<{ readonly server: Server; readonly url: string }> {
  const target = `127.0.0.1:${targetPort}`;
  const server = createServer(async (incoming, answer) => {
    const address = new URL(incoming.url ?? "/", `http://${target}`);
    const creates = address.pathname.endsWith("/CreateArtifact");
    let body = await bodyOf(incoming);
    if (creates) {
      const { mime_type: _, ...known } = JSON.parse(body.toString("utf8"));
      body = Buffer.from(JSON.stringify(known));
    }
    if (incoming.method === "PUT") {
      if (!address.searchParams.has("comp")) address.searchParams.set("comp", "appendBlock");
      address.searchParams.set("sig", (address.searchParams.get("sig") ?? "").padEnd(SIGNATURE_CHARS, "="));
    }
    const headers = { ...incoming.headers, host: target, "content-length": String(body.length) };
    const outgoing = request(address, { method: incoming.method ?? "GET", headers });
    outgoing.on("response", async (response) => {
      const { "content-length": _, ...rest } = response.headers;
      let text = await bodyOf(response);
      // The upload has to come this way too.
      if (creates) text = Buffer.from(text.toString("utf8").replaceAll(target, `127.0.0.1:${portOf(server)}`));
      answer.writeHead(response.statusCode ?? 502, rest).end(text);
    });
    outgoing.on("error", () => answer.writeHead(502).end());
    outgoing.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${portOf(server)}/` };
}

function storedArtifacts(directory: string): ReadonlyMap<string, Buffer> {
  const run = path.join(directory, "1");
  if (!existsSync(run)) return new Map();
  return new Map(readdirSync(run).map((name) => [name, readFileSync(path.join(run, name, `${name}.zip`))]));
}

/** Run one job of a workflow file to its end. */
export async function runAct(options: ActOptions): Promise<ActRun> {
  const binary = workflowTool("act");
  if (binary === null) throw new Error("act is not there");
  const work = mkdtempSync(path.join(tmpdir(), "stormlog-act-"));
  const port = await freePort();
  const relay = await startRelay(port);
  const eventFile = path.join(work, "event.json");
  writeFileSync(eventFile, JSON.stringify(options.event));
  const args = [
    options.eventName ?? "pull_request",
    "--workflows",
    options.workflow,
    "--job",
    options.job,
    "--platform",
    "ubuntu-24.04=-self-hosted",
    "--eventpath",
    eventFile,
    "--artifact-server-path",
    path.join(work, "artifacts"),
    "--artifact-server-addr",
    "127.0.0.1",
    "--artifact-server-port",
    String(port),
    "--no-cache-server",
    "--secret",
    "GITHUB_TOKEN=job",
    "--env",
    `GITHUB_API_URL=${options.apiUrl}`,
    "--env",
    "GITHUB_REPOSITORY=octo/model",
    ...(options.arguments ?? []),
  ];
  const child = spawn(binary, args, {
    cwd: options.cwd,
    env: {
      PATH: `${options.nodeDirectory}:${process.env.PATH ?? ""}`,
      HOME: work,
      XDG_CACHE_HOME: path.join(work, "cache"),
      ACTIONS_RUNTIME_URL: relay.url,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      log += text;
    });
  }
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
    return { code, log, artifacts: storedArtifacts(path.join(work, "artifacts")) };
  } finally {
    relay.server.close();
    rmSync(work, { recursive: true, force: true });
  }
}
