// Starts the service, sends it the same load every time, and ends: what the gate measures. Service and load share the
// process, so keep the load small in memory, or start the service as a child and let the gate measure both.
import { writeFileSync } from "node:fs";
import { serve } from "./server.mjs";

const requests = Number(process.argv[2] ?? 6_000);
const server = serve();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}/`;
// With steps, growth is reported per hundred requests, not per second of a busy machine.
const steps = process.env.STORMLOG_GATE_STEP_FILE;
for (let i = 0; i < requests; i++) {
  const response = await fetch(url, { method: "POST", body: `request ${i} ${"word ".repeat(2000)}` });
  await response.json();
  if (steps !== undefined && i % 100 === 0) writeFileSync(steps, String(i / 100));
}
server.closeAllConnections();
server.close();
