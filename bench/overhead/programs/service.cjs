// A service that answers JSON requests of its own client, one after the other. Usage: node service.cjs REQUESTS
const http = require("node:http");

const rows = Array.from({ length: 200 }, (_, id) => ({ id, name: `row ${id}`, values: [id, id * 2, id * 3] }));
const server = http.createServer((request, response) => {
  const from = Number(new URL(request.url, "http://localhost").searchParams.get("from"));
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(rows.map((row) => ({ ...row, id: row.id + from }))));
});
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

const ask = (port, from) =>
  new Promise((resolve, reject) => {
    const request = http.get({ port, agent, path: `/?from=${from}` }, (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part));
      response.on("end", () => resolve(JSON.parse(Buffer.concat(parts))));
    });
    request.on("error", reject);
  });

server.listen(0, "127.0.0.1", async () => {
  const { port } = server.address();
  for (let i = 0; i < Number(process.argv[2]); i++) await ask(port, i);
  agent.destroy();
  server.close();
});
