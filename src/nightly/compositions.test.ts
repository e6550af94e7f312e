import { describe, expect, it } from "vitest";
import { readStoredPeak, storedPeak } from "../attribution/peak/stored-peak.ts";
import { addRuns, emptyRecord } from "../baseline/record-changes.ts";
import { type BaselineStore, unwritable } from "../baseline/store.ts";
import { gateRequest } from "../config/options.ts";
import type { GatePorts } from "../gate/ports/ports.ts";
import { sampleScenario } from "../report/testing/sample-report.ts";
import { keepCompositions, measureCompositions } from "./compositions.ts";
import type { NightlyScenario } from "./nightly-run.ts";

const NAME = "train-mlp";
const RECORD = `${NAME}/0123456789abcdef.json`;
const SERIES = { device: "host", metric: "allocated" } as const;
const peakOf = (opened: string) => storedPeak({ parts: [], unseen: null, inputs: {} }, { ...SERIES, opened });

const request = gateRequest({
  options: {},
  command: { kind: "argv", argv: ["true"] },
  config: null,
  root: "/repository",
  defaultBaselines: [],
  defaultUnjudged: "warn",
  argv: [],
  env: {},
});
const [first] = request.scenarios;
if (first === undefined) throw new Error("no scenario");
const scenario = { ...first, name: NAME };
const measured = {
  session: "night-1",
  commit: null,
  series: [{ rank: 0, ...SERIES, class: "flat" as const, peak_bytes: 1, growth_bytes: 0 }],
};
const record = addRuns(emptyRecord(NAME, {}), [{ measured, timeIso: "2026-11-26T02:00:00Z", approved: true }]);
const opened = record.epochs.at(-1)?.opened ?? "";
const night: NightlyScenario = {
  ...{ scenario, report: sampleScenario("pass"), sessionOutcome: { kind: "approved" }, older: null, envelopes: [] },
  ...{ night: { scenario: NAME, fingerprint: null, runs: [] }, entry: {} as never, change: null },
  stored: { name: RECORD, record },
};

/** A store that has this composition, and keeps what is written to it. */
function storeWith(peak: string, keepPeak: (text: string) => void): BaselineStore {
  return {
    ...{ name: "file:baselines", kind: "file" },
    list: async () => ({ exists: true, records: [], skipped: [], peaks: new Map([[RECORD, peak]]) }),
    update: async () => ({ name: RECORD, record }),
    keepPeak: async (name, text) => {
      expect(name).toBe(RECORD);
      keepPeak(text);
    },
  };
}
const ports = (log: string[]) =>
  ({ interrupt: new AbortController().signal, log: (line: string) => log.push(line) }) as unknown as GatePorts;

describe("what the peaks of a night consist of", () => {
  it("a peak composition is not measured again while the store has one of the level", async () => {
    const log: string[] = [];
    const known = storeWith(peakOf(opened), () => {});
    expect(await measureCompositions(request, [night], known, ports(log))).toEqual({
      compositions: new Map(),
      notes: [],
    });
    expect(log).toEqual([]);
  });

  it("a peak composition is stored under the epoch that the store opened, not under the measuring job's", async () => {
    const kept: string[] = [];
    const store = storeWith("", (text) => kept.push(text));
    const elsewhere = new Map([[NAME, peakOf("2026-11-26T01:00:00Z")]]);
    expect(await keepCompositions(elsewhere, [night], store)).toEqual([]);
    expect(readStoredPeak(kept[0] ?? "", { ...SERIES, opened })).not.toBeNull();
  });

  it("a peak composition is left out where it is damaged, and with a reason where the store cannot be written", async () => {
    const store = storeWith("", () => {
      throw unwritable("file:baselines", "no space");
    });
    const notes = await keepCompositions(new Map([[NAME, peakOf(opened)]]), [night], store);
    expect(notes).toEqual([expect.stringMatching(/^train-mlp: its peak composition .*no space$/)]);
    expect(await keepCompositions(new Map([[NAME, "{"]]), [night], store)).toEqual([]);
    expect(await keepCompositions(new Map([[NAME, peakOf(opened)]]), [{ ...night, stored: null }], store)).toEqual([]);
  });
});
