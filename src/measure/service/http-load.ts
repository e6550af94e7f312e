// The gate's own load generator, a program of its own: `node load.js REQUESTS LOAD`, where LOAD is an HttpLoad as JSON.
// Node's HTTP client with connections that are kept open sends more requests than a service under measurement answers.
import http from "node:http";
import https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import type { HttpLoad } from "../../telemetry/recording/service.ts";

/** A request without an answer for this long has failed. */
const MAX_ANSWER_MS = 30_000;
const PROGRESS_MS = 100;
const MAX_FAILURES = 3;
const MAX_BODY_CHARACTERS = 160;

/** What one request came to: null, or why it counts as a failure. */
function send(load: HttpLoad, agent: http.Agent): Promise<string | null> {
  const { request } = load.url.startsWith("https:") ? https : http;
  return new Promise((resolve) => {
    const headers = {
      ...load.headers,
      ...(load.body === null ? {} : { "content-length": Buffer.byteLength(load.body) }),
    };
    const sent = request(load.url, { agent, method: load.method, headers, timeout: MAX_ANSWER_MS }, (answer) => {
      const status = answer.statusCode ?? 0;
      let text = "";
      answer.on("data", (chunk: Buffer) => {
        if (status >= 400 && text.length < MAX_BODY_CHARACTERS) text += chunk.toString("utf8");
      });
      answer.once("error", (error) => resolve(error.message));
      answer.once("end", () => {
        const said = text.slice(0, MAX_BODY_CHARACTERS).trim();
        resolve(status < 400 ? null : `${status} ${answer.statusMessage ?? ""}${said && `: ${said}`}`);
      });
    });
    sent.once("timeout", () => sent.destroy(new Error(`no answer within ${MAX_ANSWER_MS / 1000} s`)));
    sent.once("error", (error) => resolve(error.message || String(error)));
    sent.end(load.body ?? undefined);
  });
}

/** Sends the requests, and prints what was done as lines of JSON. */
async function main(requests: number, load: HttpLoad): Promise<void> {
  const { concurrency, rate } = load;
  const options = { keepAlive: true, maxSockets: concurrency };
  const agent = load.url.startsWith("https:") ? new https.Agent(options) : new http.Agent(options);
  const failures: string[] = [];
  let [begun, done, failed] = [0, 0, 0];
  const startMs = performance.now();
  const print = () => {
    const seconds = (performance.now() - startMs) / 1000;
    process.stdout.write(`${JSON.stringify({ requests: done, failed, failures, seconds })}\n`);
  };
  const progress = setInterval(print, PROGRESS_MS);
  const sender = async (): Promise<void> => {
    while (begun < requests) {
      const number = begun++;
      const waitMs = rate === null ? 0 : startMs + (1000 * number) / rate - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      const failure = await send(load, agent);
      done++;
      if (failure === null) continue;
      failed++;
      if (failures.length < MAX_FAILURES && !failures.includes(failure)) failures.push(failure);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, requests) }, sender));
  clearInterval(progress);
  agent.destroy();
  print();
}

const [requests = "", load = ""] = process.argv.slice(2);
await main(Number(requests), JSON.parse(load));
