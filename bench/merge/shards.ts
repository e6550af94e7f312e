import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { writeFeatures } from "../../src/report/bundle/features-document.ts";
import type { Recording, SampleTable } from "../../src/telemetry/recording/model.ts";
import { writeRunFiles } from "../../src/telemetry/run-directory.ts";
import { recordingInfo } from "../../src/telemetry/testing/recordings.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const START_NS = 1_795_000_000_000_000_000n;
/** Ranks of one machine. */
const PER_NODE = 8;

/** A small fast generator (xorshift32): each rank's own noise, the same in every run of the bench. */
function uniform(seed: number): () => number {
  let state = (seed * 2_654_435_761) | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

const column = (rows: number, of: (row: number) => number): Float64Array =>
  Float64Array.from({ length: rows }, (_, row) => Math.round(of(row)));

/**
 * What one rank of a training job leaves in half a minute: the process tree 200 times a second, the driver's view of
 * its device 50 times, and the allocator's level five times a step, the last at the step's end. Ten thousand samples of
 * eleven counters.
 * @param leakPerStep bytes that are kept at every step
 */
function tablesOf(rank: number, samples: number, leakPerStep: number): readonly SampleTable[] {
  const random = uniform(rank + 1);
  const host = Math.round(samples * 0.6);
  const driver = Math.round(samples * 0.15);
  const allocator = samples - host - driver;
  const times = (rows: number, hz: number) => column(rows, (row) => (row * 1e9) / hz + random() * 2e5);
  const seconds = host / 200;
  const stepAt = (row: number, rows: number) => Math.floor((row / rows) * seconds * 16);
  const allocated = column(allocator, (row) => {
    const tooth = (row % 5) * 100 * MIB;
    return 12 * GIB + tooth + 512 * Math.floor(random() * 2e5) + leakPerStep * stepAt(row, allocator);
  });
  const reserved = column(allocator, (row) => 16 * GIB + leakPerStep * stepAt(row, allocator));
  return [
    {
      rank,
      device: "host",
      timeNs: times(host, 200),
      highwater: new Set(),
      steps: column(host, (row) => stepAt(row, host)),
      columns: {
        host: column(host, () => 900 * MIB + 4096 * Math.floor(random() * 300)),
        rss: column(host, () => 1200 * MIB + 4096 * Math.floor(random() * 300)),
        anon: column(host, () => 800 * MIB + 4096 * Math.floor(random() * 300)),
        shmem: column(host, () => 100 * MIB),
        processes: column(host, () => 3),
      },
    },
    {
      rank,
      device: "cuda:0",
      timeNs: times(driver, 50),
      steps: null,
      highwater: new Set(),
      columns: {
        used: column(driver, (row) => 18 * GIB + leakPerStep * stepAt(row, driver)),
        total: column(driver, () => 80 * GIB),
        free: column(driver, (row) => 62 * GIB - leakPerStep * stepAt(row, driver)),
        job: column(driver, (row) => 17 * GIB + leakPerStep * stepAt(row, driver)),
      },
    },
    {
      rank,
      device: "cuda:0",
      timeNs: times(allocator, 83),
      highwater: new Set(),
      steps: column(allocator, (row) => stepAt(row, allocator)),
      columns: { allocated, reserved },
      atStep: Uint8Array.from({ length: allocator }, (_, row) => Number(row % 5 === 4)),
    },
  ];
}

/** Write the shard of one rank as `record` leaves it, with everything that a run directory holds. */
export async function writeShard(parent: string, rank: number, ranks: number, samples: number): Promise<void> {
  const directory = path.join(parent, `rank-${String(rank).padStart(4, "0")}`);
  mkdirSync(directory, { recursive: true });
  const node = Math.floor(rank / PER_NODE);
  // Clocks of machines that keep time, and ranks that do not start at the same time.
  const epochNs = START_NS + BigInt((node % 7) * 300_000 + (rank % 11) * 40_000_000);
  const recording: Recording = {
    epochNs,
    tables: tablesOf(rank, samples, rank === ranks - 3 ? 6 * MIB : 0),
    peaks: [],
    marks: [],
    events: null,
    worldSize: ranks,
    missing: {},
    info: recordingInfo({
      scenario: "train",
      session: "slurm-4711.0",
      commit: "c".repeat(40),
      clock: { monotonic_start_ns: String(rank), epoch_ns: String(epochNs), duration_s: samples / 333 },
      identity: {
        rank,
        local_rank: rank % PER_NODE,
        world_size: ranks,
        job_id: "4711",
        host: `node${node}`,
        pid: 4000 + rank,
      },
      fingerprint: { backend: "cuda", device_model: "NVIDIA A100-SXM4-80GB", world_size: ranks, framework: "torch" },
    }),
  };
  await writeRunFiles(directory, recording);
  writeFileSync(path.join(directory, "output.log"), `rank ${rank} of ${ranks}\n`.repeat(50));
  await writeFeatures(directory);
}
