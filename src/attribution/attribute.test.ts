import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ExitState } from "../telemetry/recording/model.ts";
import { attributeGrowth } from "./attribute.ts";
import type { AttributionSubject, MeasuredOnce, RanOnce } from "./run/run-once.ts";

const STEPS = Float64Array.from({ length: 200 }, (_, i) => i + 1);
const RECORDING = {
  tables: [
    {
      rank: 0,
      device: "host",
      timeNs: null,
      steps: STEPS,
      columns: { host: STEPS.map((step) => 1e8 + step * 1e6) },
      highwater: new Set(),
    },
  ],
};
const SERIES = { rank: 0, device: "host", metric: "host", class: "leak", growth_bytes: 2e8 };

interface Made {
  readonly depth: string | undefined;
  readonly limitS: number | null | undefined;
}

/** What an attribution of a judged run of 100 s does when its own runs end as given, after as many seconds. */
async function attributing(ends: readonly { readonly exit: ExitState; readonly tookS: number }[]) {
  const directory = mkdtempSync(path.join(tmpdir(), "gate-attribute-test-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const made: Made[] = [];
  const notes: string[] = [];
  const reasons: string[] = [];
  const subject = {
    request: { attribute: "auto", env: {} },
    scenario: { name: "train", env: {}, cwd: directory, command: { kind: "argv", argv: ["python3", "train.py"] } },
    root: directory,
    judged: {
      recording: RECORDING,
      analysis: { series: [SERIES] },
      info: { clock: { duration_s: 100 } },
    } as unknown as MeasuredOnce,
    judgement: { verdict: "fail", checks: [{ ...SERIES, verdict: "fail", aspect: "growth", gating: true }] },
    stopReason: () => null,
    run: async ({ env, limitS }: { env?: Record<string, string>; limitS?: number | null }): Promise<RanOnce> => {
      const end = ends[made.length];
      if (end === undefined) throw new Error("one run too many");
      made.push({ depth: env?.STORMLOG_GATE_ATTRIBUTE, limitS });
      const ending =
        end.exit.kind === "exited" && end.exit.code === 0 ? { kind: "ok" } : { kind: "failed", message: "it failed" };
      const command = { argv: ["/usr/bin/python3", "train.py"] };
      const info = { command, lost: [], exit: end.exit, clock: { duration_s: end.tookS }, probe: undefined };
      return { kind: "whole", finished: { ending, info, directory, recording: null } as unknown as MeasuredOnce };
    },
    log: () => {},
    warn: (note: string) => notes.push(note),
    noLine: (reason: string) => reasons.push(reason),
  } as unknown as AttributionSubject;
  const { findings } = await attributeGrowth(subject);
  return { made, notes, reasons, findings };
}

const OK = { kind: "exited", code: 0 } as const;
const FAILED = { kind: "exited", code: 1 } as const;

describe("the runs of an attribution", () => {
  it("attribution runs take at most the judged run's length and a minute, and the report names what is missing", async () => {
    const { made, notes } = await attributing([{ exit: { kind: "timeout", after_s: 160 }, tookS: 160 }]);
    expect(made).toEqual([{ depth: "on", limitS: 160 }]);
    expect(notes[0]).toContain("its later moments are missing");
  });

  it("a program that fails under attribution is run once more with the lightest kind, in the time left", async () => {
    const { made, reasons } = await attributing([
      { exit: FAILED, tookS: 40 },
      { exit: OK, tookS: 100 },
    ]);
    expect(made).toEqual([
      { depth: "on", limitS: 160 },
      { depth: "light", limitS: 120 },
    ]);
    expect(reasons[0]).toBe("with attribution on, it failed");
  });

  it("an attribution run is not repeated when the time left is shorter than the judged run", async () => {
    const { made, notes } = await attributing([{ exit: FAILED, tookS: 90 }]);
    expect(made).toHaveLength(1);
    expect(notes.at(-1)).toBe("no lighter attribution run was made: the time for attribution runs is used up");
  });

  it("attribution runs leave the growth unattributed where no process reported its memory", async () => {
    const { findings } = await attributing([{ exit: OK, tookS: 100 }]);
    expect(findings).toMatchObject([
      { classification: "unattributed_growth", evidence: { share: 1, memory: "unknown" }, remediation: [] },
    ]);
  });
});
