import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { ProbeRing } from "./testing/probe-ring.ts";
import { PYTHON } from "./testing/pythons.ts";

/** `npm run soak` asks for millions. The native reader: `native/test/probe/probe_stress_test.cc`. */
const DRAINS = Number(process.env.STORMLOG_TEST_RING_DRAINS ?? 30_000);
const WRITER = path.join(import.meta.dirname, "stand-ins", "ring_writer.py");
const INJECT = path.join(import.meta.dirname, "..", "..", "probe", "inject");
const MAX_BATCH = 4096;
/** On a busy machine the writer may not run while the reader does: drains go on until it did. */
const MIN_RECORDS = 5000;

async function ringIn(directory: string): Promise<ProbeRing> {
  for (;;) {
    const name = readdirSync(directory).find((entry) => entry.endsWith(".probe"));
    const ring = name === undefined ? null : ProbeRing.open(path.join(directory, name), 0);
    if (ring !== null) return ring;
    await sleep(10);
  }
}

it.skipIf(PYTHON === null)(
  "drains of the ring of a real Python process find no torn header and no torn record",
  { timeout: 30_000 + DRAINS },
  async () => {
    const directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
    const writer = spawn(PYTHON!.executable, ["-S", WRITER, INJECT, directory], { stdio: "inherit" });
    try {
      const ring = await ringIn(directory);
      const counts = { dropped: 0, doubtful: 0, fallen: 0, unsound: 0, read: 0 };
      let last = -1;
      let step = 0;
      const enough = (i: number) => i >= DRAINS && (counts.read >= MIN_RECORDS || i >= 100 * DRAINS);
      for (let i = 0; !enough(i) && counts.dropped === 0; i++) {
        const answer = ring.drain(0, MAX_BATCH, ({ values: [allocated, reserved, , , , , , at] }) => {
          const sound = allocated! > last && reserved === (allocated! ^ 0x5555) && at === allocated;
          if (!sound) counts.unsound += 1;
          last = allocated!;
          counts.read += 1;
        });
        if (answer === "foreign" || answer === "truncated") counts.dropped += 1;
        if (ring.inDoubt) counts.doubtful += 1;
        const now = ring.header?.step ?? 0;
        if (now < step) counts.fallen += 1;
        step = now;
      }
      console.log(`${DRAINS} drains, ${counts.read} records`);
      expect(counts).toMatchObject({ dropped: 0, doubtful: 0, fallen: 0, unsound: 0 });
      expect(counts.read).toBeGreaterThanOrEqual(MIN_RECORDS);
      expect(counts.read + ring.lost).toBe(last + 1);
      ring.close();
    } finally {
      writer.kill("SIGKILL");
      rmSync(directory, { recursive: true, force: true });
    }
  },
);
