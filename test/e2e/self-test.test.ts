import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openFileStore } from "../../src/baseline/file-store.ts";
import { recordToMeasurements } from "../../src/baseline/record.ts";
import { gateRequest } from "../../src/config/options.ts";
import type { GatePorts } from "../../src/gate/ports/ports.ts";
import { refreshScenario } from "../../src/gate/refresh.ts";
import { demoWorkload } from "../../src/lab/demo.ts";
import { selfTest } from "../../src/nightly/self-test.ts";
import { silentPorts } from "../testing/silent-ports.ts";

/** Trials of each direction; more than one only on request, and then with base runs as in a real job. */
const TRIES = Number(process.env.STORMLOG_TEST_SELF_TEST_TRIES ?? "1");

/** The demo's loop, really measured: what the self-test claims is worth what it is on a real program. */
describe("the self-test of the gate on the demo's loop", () => {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-self-test-"));
  const log: string[] = [];
  const ports: GatePorts = { ...silentPorts(), log: (line) => log.push(line) };
  const request = gateRequest({
    options: { scenario: "demo", bundle: path.join(directory, "bundle"), "base-run": TRIES > 1 ? "auto" : "off" },
    command: { kind: "argv", argv: [process.execPath, demoWorkload(), "clean"] },
    config: null,
    root: directory,
    defaultBaselines: ["file:baseline"],
    defaultUnjudged: "warn",
    argv: [],
    env: { PATH: process.env.PATH, STORMLOG_GATE_SESSION: "night" },
  });
  const scenario = request.scenarios[0]!;

  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it(
    "finds what was injected, in peak and in growth, and nothing in the unchanged program",
    async () => {
      const store = openFileStore("file:baseline", path.join(directory, "baseline"));
      const { record } = await refreshScenario(request, scenario, { runs: 5, store }, ports);
      const baseline = recordToMeasurements(record, "record");
      for (let number = 1; number <= TRIES; number += 1) {
        const input = { baseline, session: `night-${number}`, commit: null };
        const { trials, notes } = await selfTest(request, scenario, input, ports);
        expect(notes).toEqual([]);
        expect(
          trials.map(({ kind, failed }) => [kind, failed]),
          `try ${number}`,
        ).toEqual([
          ["canary", false],
          ["peak", true],
          ["growth", true],
        ]);
        for (const { kind, injected_bytes } of trials) {
          if (kind !== "canary") expect(injected_bytes, kind).toBeLessThan(40 * 1024 ** 2);
        }
      }
    },
    180_000 * TRIES,
  );

  it("does not run without enough baseline runs", async () => {
    const none = { scenario: "demo", fingerprint: {}, runs: [] };
    const { trials, notes } = await selfTest(request, scenario, { baseline: none, session: "n", commit: null }, ports);
    expect(trials).toEqual([]);
    expect(notes).toEqual(["demo: no self-test, its baseline has 0 of 5 runs"]);
  });
});
