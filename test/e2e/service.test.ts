import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/load.ts";
import { gateRequest } from "../../src/config/options.ts";
import { ExitCode } from "../../src/core/exit-codes.ts";
import { runGate } from "../../src/gate/run-gate.ts";
import { answerSentence } from "../../src/report/headline/sentence.ts";
import { successfulRuns } from "../../src/report/model/decisive-run.ts";
import { silentPorts } from "../testing/silent-ports.ts";
import { temporary } from "../testing/temporary.ts";

/**
 * Keeps KEEP bytes a request; FAIL: answers with errors; DIE: ends at its hundredth request; LINK: the file that its
 * step file becomes a link to; BOOT: grows by itself after it has begun to listen.
 */
const SERVICE = `
import { symlinkSync, unlinkSync } from "node:fs";
import { createServer } from "node:http";
const { KEEP = "0", FAIL, DIE, LINK, BOOT, STORMLOG_GATE_STEP_FILE } = process.env;
if (LINK) {
  unlinkSync(STORMLOG_GATE_STEP_FILE);
  symlinkSync(LINK, STORMLOG_GATE_STEP_FILE);
}
const kept = [];
let requests = 0;
const boot = setInterval(() => {
  if (!BOOT || kept.length === 8) clearInterval(boot);
  else kept.push(Buffer.alloc(30 * 1024 * 1024, 1));
}, 25);
createServer((request, response) => {
  requests += 1;
  if (DIE && requests === 100) process.exit(3);
  if (Number(KEEP) > 0) kept.push(Buffer.alloc(Number(KEEP), 1));
  response.statusCode = FAIL ? 503 : 200;
  response.end(FAIL ? "no database" : "ok");
}).listen(Number(process.argv[2]), "127.0.0.1", () => console.log("listening"));
`;

/** Sends 50 requests, and reports them as wrk does. */
const LOAD = `
for (let i = 0; i < 50; i += 1) await (await fetch(process.argv[2])).text();
console.log("50 requests in 0.10s, 1 MB read");
if (process.env.ERRORS) console.log("  Non-2xx or 3xx responses: 5");
process.exit(process.env.BREAK ? 9 : 0);
`;

const KEPT_BYTES = 30 * 1024;

describe("a service", () => {
  const root = temporary("service");
  beforeAll(() => {
    writeFileSync(path.join(root, "service.mjs"), SERVICE);
    writeFileSync(path.join(root, "load.mjs"), LOAD);
  });

  const gate = async (name: string, service: string, env: Record<string, string> = {}, settings = "repeats: 1, ") => {
    const start = JSON.stringify([process.execPath, "service.mjs", "{PORT}"]);
    const text = `scenarios: [{name: ${name}, ${settings}service: {start: ${start}, ${service}}}]`;
    const { report } = await runGate(
      gateRequest({
        options: { bundle: path.join(root, name), "base-run": "off", baseline: ["none"], attribute: "off" },
        command: null,
        config: parseConfig(text, "stormlog-gate.yml"),
        root,
        defaultBaselines: [],
        defaultUnjudged: "warn",
        argv: [],
        env: { PATH: process.env.PATH, ...env },
      }),
      silentPorts(),
    );
    const [scenario] = report.scenarios;
    const [run] = scenario?.runs ?? [];
    if (scenario === undefined || run === undefined) throw new Error("one run of one scenario was asked for");
    const host = run.analysis?.series.find(({ metric }) => metric === "host");
    return { scenario, run, host, sentence: answerSentence(scenario), exitCode: report.exit_code };
  };

  const ready = 'ready: "http://127.0.0.1:{PORT}/"';
  const load = 'load: {url: "http://127.0.0.1:{PORT}/"}, requests: 400, rest: 0.5s';

  it("a service fails by what a request leaves, and is stopped when its cycles have shown it", async () => {
    const { scenario, run, host, sentence } = await gate(
      "leaky",
      `${ready}, ${load}`,
      { KEEP: String(KEPT_BYTES) },
      "",
    );
    expect([scenario.verdict, sentence]).toEqual(["fail", expect.stringMatching(/^Leak of .* KiB a request/)]);
    expect(host?.class).toBe("leak");
    expect(host?.growth_bytes_per_request).toBeGreaterThan(0.95 * KEPT_BYTES);
    expect(host?.growth_bytes_per_request).toBeLessThan(1.1 * KEPT_BYTES);
    expect(run.info.exit).toEqual({ kind: "stopped", signal: "SIGTERM" });
    const { cycles = [], per_cycle } = run.analysis ?? {};
    expect(cycles.length).toBe((run.info.service?.rests.length ?? 0) - 1);
    expect(cycles.every(({ requests, load_s }) => requests === 400 && (load_s ?? 0) > 0)).toBe(true);
    expect(per_cycle?.bytes?.left).toBeCloseTo(400 * (host?.growth_bytes_per_request ?? 0), 0);
    expect(per_cycle?.descriptors?.interval[0]).toBeLessThanOrEqual(0);
  });

  it("a service is measured in small cycles where few requests would fill the machine", async () => {
    const { run, host } = await gate("heavy", `${ready}, ${load}`, { KEEP: String(3 * 1024 * 1024) });
    expect(host?.class).toBe("leak");
    // Two blocks of ten, and at most twelve cycles of as many.
    expect(run.info.service?.requests).toBeLessThanOrEqual(140);
  });

  it("a service has no growth where a request leaves nothing", async () => {
    // A service may not make the gate write elsewhere.
    const victim = path.join(root, "victim");
    writeFileSync(victim, "untouched");
    const { scenario, host, run } = await gate("clean", `${ready}, ${load}, cycles: 6`, { LINK: victim, BOOT: "1" });
    expect(readFileSync(victim, "utf8")).toBe("untouched");
    expect(scenario.verdict).not.toBe("fail");
    expect(["flat", "plateau", "shrink"]).toContain(host?.class);
    const sent = run.info.service?.rests.map(({ requests }) => requests ?? 0) ?? [];
    // Workers that still start do not make the cycles smaller.
    expect(sent.slice(1).map((until, i) => until - (sent[i] ?? 0))).toEqual([400, 400, 400, 400, 400, 400]);
    // What a baseline is made of.
    expect(successfulRuns(scenario)).toHaveLength(1);
    expect(run.info.service?.requests).toBe(run.info.service?.rests.at(-1)?.requests);
  });

  it("a service is not judged where its answers are errors, which the report shows", async () => {
    const { scenario, run, exitCode } = await gate("errors", `ready: listening, ${load}`, { FAIL: "1" });
    expect(scenario).toMatchObject({ kind: "failed", verdict: "unjudged", error: { code: "SERVICE_ERRORS" } });
    expect(scenario.error?.message).toBe("10 of 10 requests failed: 503 Service Unavailable: no database");
    // Unjudged by the change itself, which no setting lets pass.
    expect(exitCode).toBe(ExitCode.unjudged);
    expect(run.info.service).toMatchObject({ requests: 10, failed: 10 });
    expect(successfulRuns(scenario)).toEqual([]);
  });

  it("a service that dies under load has failed by its own end, not by that of the load", async () => {
    const { scenario, run } = await gate("dies", `ready: "{PORT}", ${load}`, { DIE: "1" });
    expect(run.info.exit).toEqual({ kind: "exited", code: 3 });
    expect(JSON.stringify(scenario)).toContain("exited with status 3");
  });

  it("a service takes its load from a command, whose report has the number of requests", async () => {
    const command = JSON.stringify([process.execPath, "load.mjs", "http://127.0.0.1:{PORT}/"]);
    const { run } = await gate("command", `${ready}, load: ${command}, rest: 0.2, cycles: 6`);
    expect(run.info.service?.rests.map(({ requests }) => requests)).toEqual([50, 100, 150, 200, 250, 300, 350]);
    const broken = await gate("broken", `${ready}, load: ${command}, rest: 0.2, cycles: 6`, { BREAK: "1" });
    expect(broken.run.info.service?.problem).toMatchObject({
      code: "SERVICE_LOAD_FAILED",
      message: expect.stringContaining("exited with status 9: 50 requests in"),
    });
    const errors = await gate("command-errors", `${ready}, load: ${command}, rest: 0.2, cycles: 6`, { ERRORS: "1" });
    expect(errors.scenario.error).toMatchObject({
      code: "SERVICE_ERRORS",
      message: "5 of 50 requests failed: 50 requests in 0.10s, 1 MB read / Non-2xx or 3xx responses: 5",
    });
  });
});
