import { describe, expect, it } from "vitest";
import { MIB } from "../../core/units.ts";
import { prng } from "../../stats/testing/prng.ts";
import type { ProbePhase, Recording, RecordingInfo } from "../../telemetry/recording/model.ts";
import { analyze } from "../analyze.ts";
import { recordingOf, tableOf } from "../testing/recordings.ts";
import { phaseGrowthFindings } from "./phase-growth.ts";

const S = 1e9;
/** MiB that a phase keeps and needs at a share of one of its occurrences. */
type Use = (occurrence: number, share: number) => { readonly kept?: number; readonly needed?: number };

/** A program whose phases take turns, each with 12 samples and one at either end, as the probe makes them. */
function programOf(uses: Readonly<Record<string, Use>>, { occurrences = 14, seed = 1, around = "" } = {}): Recording {
  const random = prng(seed);
  const phases: ProbePhase[] = [];
  const [bytes, time]: [number[], number[]] = [[], []];
  let now = 0.1;
  const add = (mib: number, seconds: number) => {
    bytes.push(Math.round(mib * MIB));
    time.push(now * S);
    now += seconds;
  };
  const began = now;
  for (let n = 0; n < occurrences; n++) {
    for (const [name, use] of Object.entries(uses)) {
      const level = (share: number) =>
        1024 + Object.values(uses).reduce((sum, each) => sum + (each(n, each === use ? share : 0).kept ?? 0), 0);
      const from = now;
      add(level(0), 0.001);
      for (let i = 0; i < 12; i++) add(level(i / 12) + (use(n, i / 12).needed ?? 0) + 3 * random.uniform(), 0.01);
      add(level(1), 0.001);
      phases.push({ name, began_ns: from * S, ended_ns: now * S - 0.001 * S });
    }
  }
  if (around !== "") phases.unshift({ name: around, began_ns: began * S, ended_ns: now * S });
  const info = {
    identity: { rank: 0, world_size: 1 },
    clock: { duration_s: now },
    exit: { kind: "exited", code: 0 },
    sources: [],
    probe: { processes: [{ pid: 1, rank: null, framework: null, python: null, devices: [], phases }] },
  } as unknown as RecordingInfo;
  return recordingOf([tableOf({ allocated: bytes }, { timeNs: Float64Array.from(time) })], { info });
}

const train: Use = () => ({ needed: 200 });
/** Kept by earlier occurrences, and evenly by this one. */
const keeping =
  (mib: number): Use =>
  (n, share) => ({ kept: mib * (n + share), needed: 20 });

const namesOf = (recording: Recording) =>
  phaseGrowthFindings(recording).map(({ evidence }) => [evidence.phase, evidence.kind]);

describe("growth of one phase", () => {
  it("growth of one phase is reported with its size and with the phases that did not grow", () => {
    const recording = programOf({ training: train, validation: keeping(4) });
    const [finding, ...more] = analyze(recording).findings.filter(
      ({ classification }) => classification === "phase_growth",
    );
    expect(more).toEqual([]);
    expect(finding).toMatchObject({ severity: "warning", rank: 0, device: "cuda:0", metric: "allocated" });
    expect(finding!.evidence).toMatchObject({ phase: "validation", kind: "kept", occurrences: 14 });
    expect(Math.abs(Number(finding!.evidence.growth_bytes) / (14 * 4 * MIB) - 1)).toBeLessThan(0.1);
    expect(finding!.description).toMatch(
      /^allocated memory of the phase validation grew by 5\d\.\d\d MiB over 14 occurrences \(.* MiB a time\); training did not\.$/,
    );
  });

  it("growth of one phase is found where the phase releases it each time and the whole series is a saw-tooth", () => {
    const recording = programOf({ training: train, validation: (n) => ({ needed: 20 + 6 * n }) });
    expect(namesOf(recording)).toEqual([["validation", "needed"]]);
    expect(analyze(recording).series.map(({ class: drift }) => drift)).toEqual(["sawtooth"]);
  });

  it("growth inside nested phases is reported for the innermost phase", () => {
    const recording = programOf({ training: train, validation: keeping(4) }, { around: "fit" });
    expect(namesOf(recording)).toEqual([["validation", "kept"]]);
  });

  it.each<[string, Readonly<Record<string, Use>>, number?]>([
    ["all phases grow alike", { training: keeping(4), validation: keeping(4) }],
    ["nothing grows", { training: train, validation: () => ({ needed: 20 }) }],
    [
      "one phase keeps what the other releases",
      { training: (_, share) => ({ kept: 50 * share }), validation: (_, share) => ({ kept: 50 * (1 - share) }) },
    ],
    ["the growth ended", { training: train, validation: (n, share) => ({ kept: 10 * Math.min(6, n + share) }) }],
    ["it occurs too seldom to tell", { training: train, validation: keeping(8) }, 7],
    ["the growth is too small", { training: train, validation: keeping(0.05) }],
  ])("growth of one phase is not a finding where %s", (_, uses, occurrences = 14) => {
    expect(namesOf(programOf(uses, { occurrences }))).toEqual([]);
  });
});
