import fc from "fast-check";
import type { Recording } from "../../telemetry/recording/model.ts";
import { recordingInfo } from "../../telemetry/testing/recordings.ts";

const MIB = 2 ** 20;
const EPOCH_NS = 1_700_000_000_000_000_000n;

interface RankModel {
  /** Samples. */
  readonly length: number;
  /** Sample at which device memory jumps; null = never. */
  readonly jump: number | null;
  readonly jumpMib: number;
  readonly leakKib: number;
  /** Error of the host's clock, and start of the rank, ms. */
  readonly clockMs: number;
  readonly beganMs: number;
  readonly steps: boolean;
  readonly levelMib: number;
}

const rankModel: fc.Arbitrary<RankModel> = fc.record({
  length: fc.integer({ min: 2, max: 160 }),
  jump: fc.option(fc.integer({ min: 1, max: 150 })),
  jumpMib: fc.integer({ min: 10, max: 900 }),
  leakKib: fc.oneof(fc.constant(0), fc.integer({ min: 200, max: 4000 })),
  clockMs: fc.oneof(fc.constant(0), fc.integer({ min: -7_200_000, max: 7_200_000 })),
  beganMs: fc.nat({ max: 900 }),
  steps: fc.boolean(),
  levelMib: fc.integer({ min: 100, max: 4000 }),
});

/** The recording of one rank. The steps of all ranks end at the same time, independent of their clocks. */
export function recordingOf(one: RankModel, rank: number, world: number): Recording {
  const { length, jump, jumpMib, leakKib, clockMs, beganMs, steps, levelMib } = one;
  const rows = Float64Array.from({ length }, (_, i) => i);
  const used = rows.map((i) => (levelMib + (jump !== null && i >= jump ? jumpMib : 0)) * MIB + i * leakKib * 1024);
  const epochNs = EPOCH_NS + BigInt(clockMs + beganMs) * 1_000_000n;
  return {
    epochNs,
    tables: [
      {
        rank,
        device: "cuda:0",
        timeNs: rows.map((i) => i * 50e6 + ((i * 7919 + rank) % 13) * 1000),
        highwater: new Set(),
        steps: steps ? rows.map((i) => i + Math.floor(beganMs / 50)) : null,
        columns: { allocated: used, used, total: rows.map(() => 16 * 1024 * MIB) },
      },
    ],
    peaks: [],
    marks: [],
    events: null,
    worldSize: world,
    missing: {},
    info: recordingInfo({
      session: "slurm-7.0",
      clock: { monotonic_start_ns: String(rank), epoch_ns: String(epochNs), duration_s: 2 },
      identity: { rank, local_rank: 0, world_size: world, job_id: "7", host: `node${rank % 3}`, pid: 40 + rank },
    }),
  };
}

/** The recordings of a job with up to six ranks, of which some may be missing. */
export const job = fc
  .tuple(fc.array(rankModel, { minLength: 2, maxLength: 6 }), fc.nat({ max: 2 }))
  .map(([ranks, missing]) => ranks.map((one, rank) => recordingOf(one, rank, ranks.length + missing)));
