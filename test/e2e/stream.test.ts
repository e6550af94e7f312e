import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { streamedRuns } from "../../src/gate/streamed-report.ts";
import { readStreamedRun } from "../../src/measure/stream/read-stream.ts";
import { temporary } from "../testing/temporary.ts";
import { CLI, cli } from "./cli.ts";

/** Keeps 10 KiB a request. */
const SERVICE = `
import { createServer } from "node:http";
const kept = [];
createServer((request, response) => {
  kept.push(Buffer.alloc(10240, 1));
  response.end("ok");
}).listen(Number(process.argv[2]), "127.0.0.1");
`;
const CONFIG = `
scenarios:
  - name: api
    service:
      start: node service.mjs {PORT}
      ready: http://127.0.0.1:{PORT}/
      load: {url: "http://127.0.0.1:{PORT}/"}
      requests: 400
      rest: 0.5s
      cycles: 50
`;

describe("run --stream", () => {
  it("a service's evidence outlives its killed gate, but for at most two seconds", { timeout: 60_000 }, async () => {
    const cwd = temporary("stream");
    writeFileSync(path.join(cwd, "service.mjs"), SERVICE);
    writeFileSync(path.join(cwd, "stormlog-gate.yml"), CONFIG);
    const gate = spawn(process.execPath, [CLI, "run", "--stream", "kept", "--baseline", "none"], {
      cwd,
      detached: true,
      stdio: "ignore",
    });
    const kept = path.join(cwd, "kept");
    while (streamedRuns(kept).flatMap((run) => readdirSync(run)).length < 4) await sleep(100);
    const killedMs = Date.now();
    process.kill(-(gate.pid ?? 0), "SIGKILL");
    await once(gate, "exit");

    const shown = await cli(["show", "--exit-code", "kept"], { cwd });
    expect(shown.code).toBe(1);
    expect(shown.stdout).toMatch(/the evidence ends [\d.]+ s after .*host memory went from/s);
    const [run = ""] = streamedRuns(kept);
    const { info, recording } = await readStreamedRun(run, path.join(cwd, "read"));
    const endMs = Number((recording.epochNs ?? 0n) / 1_000_000n) + (info.clock.duration_s ?? 0) * 1000;
    expect(killedMs - endMs).toBeLessThan(2000);
    expect(info.service?.port).toEqual(expect.any(Number));
  });
});
