import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { becomesReady } from "./ready.ts";

it("a service is ready by the status of its answer, and an answer that never ends is not read", async () => {
  const closed: Promise<unknown>[] = [];
  const server = createServer((request, response) => {
    closed.push(once(response, "close"));
    response.statusCode = request.url === "/broken" ? 503 : 200;
    const timer = setInterval(() => response.write("x".repeat(1024)), 1);
    response.once("close", () => clearInterval(timer));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const over = new AbortController();
    const broken = becomesReady({ kind: "url", url: `${url}/broken` }, () => "", over.signal);
    expect(await becomesReady({ kind: "url", url }, () => "", new AbortController().signal)).toBe(true);
    over.abort();
    expect(await broken).toBe(false);
    await Promise.all(closed);
    expect(closed.length).toBeGreaterThanOrEqual(2);
  } finally {
    server.close();
  }
});
