import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { BadAnswerError, boundedFetch } from "./bounded-fetch.ts";

const ASKS_JSON = { headers: { accept: "application/vnd.github.v3+json" } };
const servers: ReturnType<typeof createServer>[] = [];

/** Address of a server that answers everything in one way. */
async function serving(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_request, response) => answer(response));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
}

const json = (text: string, status = 200) =>
  serving((response) => response.writeHead(status, { "content-type": "application/json" }).end(text));

afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

describe("boundedFetch", () => {
  const bounded = boundedFetch(fetch, 1000);

  it("hands on status, headers, address and body", async () => {
    const url = await json('{"a": 1}', 201);
    const response = await bounded(url, ASKS_JSON);
    expect([response.status, response.url]).toEqual([201, url]);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({ a: 1 });
  });

  it("hands on an answer without a body", async () => {
    const url = await serving((response) => response.writeHead(204).end());
    expect((await bounded(url, ASKS_JSON)).status).toBe(204);
  });

  it("stops reading at the limit, whatever length the answer announces", async () => {
    let written = 0;
    const url = await serving((response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const block = Buffer.alloc(65536, " ");
      const more = (): void => {
        do written += block.byteLength;
        while (!response.destroyed && response.write(block));
      };
      response.on("drain", more);
      more();
    });
    await expect(bounded(url, ASKS_JSON)).rejects.toThrow(/larger than/);
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  it("does not take a body that was cut for an empty one", async () => {
    const url = await serving((response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
      response.write('{"id": ');
      setTimeout(() => response.destroy(), 50);
    });
    await expect(bounded(url, ASKS_JSON)).rejects.toThrow();
  });

  it.each(["{", "[1,]", "<html>"])("refuses %j as JSON", async (text) => {
    await expect(bounded(await json(text), ASKS_JSON)).rejects.toThrow(BadAnswerError);
  });

  it("refuses a page where JSON was asked for, and takes it where not", async () => {
    const url = await serving((response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>Log in"));
    await expect(bounded(url, ASKS_JSON)).rejects.toThrow(/proxy/);
    expect(await (await bounded(url)).text()).toBe("<p>Log in");
  });

  it("leaves the body of an error response to the client, even if it is not JSON", async () => {
    expect((await bounded(await json("<oops", 502), ASKS_JSON)).status).toBe(502);
  });
});
