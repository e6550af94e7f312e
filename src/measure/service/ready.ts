import http from "node:http";
import https from "node:https";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Ready } from "../../telemetry/recording/service.ts";

const POLL_MS = 50;
const MAX_TRY_MS = 2000;

/** Any answer but an error of the server's: some services have no page at their root. */
function answers(url: string, until: AbortSignal): Promise<boolean> {
  const { get } = url.startsWith("https:") ? https : http;
  return new Promise((resolve) => {
    // Its body may never end.
    const signal = AbortSignal.any([until, AbortSignal.timeout(MAX_TRY_MS)]);
    const sent = get(url, { signal, agent: false }, (answer) => {
      resolve((answer.statusCode ?? 500) < 500);
      answer.destroy();
    });
    sent.on("error", () => resolve(false));
    sent.once("close", () => resolve(false));
  });
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host: "localhost", timeout: MAX_TRY_MS });
    const answer = (is: boolean): void => {
      socket.destroy();
      resolve(is);
    };
    socket.once("connect", () => answer(true));
    socket.once("timeout", () => answer(false));
    socket.once("error", () => answer(false));
  });
}

/** Waits until the service takes requests. @returns false when the signal came first */
export async function becomesReady(ready: Ready, printed: () => string, signal: AbortSignal): Promise<boolean> {
  const isReady = (): boolean | Promise<boolean> => {
    switch (ready.kind) {
      case "url":
        return answers(ready.url, signal);
      case "port":
        return accepts(Number(ready.port));
      case "line":
        return printed().includes(ready.text);
    }
  };
  while (!signal.aborted) {
    if (await isReady()) return true;
    await sleep(POLL_MS, null, { signal }).catch(() => null);
  }
  return false;
}

/** A port that nothing listens at, with both families of addresses. @throws the system's error */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once("error", reject);
    server.listen(0, () => {
      const address = server.address();
      server.close(() =>
        typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
}
