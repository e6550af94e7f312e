// Holds the connections and the last 50 responses of an HTTP service, with its client in the same program. Bounded: the
// client's agent keeps four connections alive, and the responses are in a Map of at most 50 entries. A request that
// fails ends the program with 1.

import http from "node:http";
import { rounds } from "./pace.mjs";

const cache = new Map();

function answer(path) {
  const known = cache.get(path);
  if (known !== undefined) return known;
  const body = JSON.stringify({ path, items: Array.from({ length: 40 }, (_, at) => ({ at, path })) });
  cache.set(path, body);
  if (cache.size > 50) cache.delete(cache.keys().next().value);
  return body;
}

const server = http.createServer((request, response) => {
  response.setHeader("content-type", "application/json");
  response.end(answer(request.url ?? "/"));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address();
const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });

function get(path) {
  return new Promise((resolve, reject) => {
    const request = http.get({ host: "127.0.0.1", port, path, agent }, (response) => {
      let length = 0;
      response.on("data", (chunk) => {
        length += chunk.length;
      });
      response.on("end", () => resolve(length));
      response.on("error", reject);
    });
    request.on("error", reject);
  });
}

let received = 0;
for await (const number of rounds(130)) {
  const lengths = await Promise.all([0, 1].map((part) => get(`/page/${(2 * number + part) % 240}`)));
  received += lengths.reduce((sum, length) => sum + length, 0);
}
agent.destroy();
server.close();
console.log(received > 0);
