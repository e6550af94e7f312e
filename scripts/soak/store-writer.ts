// A process that adds runs to a file store and acknowledges each, until it is killed. Bundled and started by stores.ts.
import { writeSync } from "node:fs";
import { openFileStore } from "../../src/baseline/file-store.ts";
import { addRuns, emptyRecord } from "../../src/baseline/record-changes.ts";

const FINGERPRINT = { backend: "cpu", world_size: 1 };

interface Order {
  readonly directory: string;
  readonly scenario: string;
  /** Runs to add, a list for each writer of this process. */
  readonly sessions: readonly (readonly string[])[];
  readonly staleMs: number;
}

async function write({ directory, scenario, sessions, staleMs }: Order): Promise<void> {
  const write = async (own: readonly string[]): Promise<void> => {
    const store = openFileStore("file:soak", directory, staleMs);
    for (const session of own) {
      const series = [{ rank: 0, device: "host", metric: "host", peak_bytes: 1 }] as const;
      const run = { measured: { session, commit: null, series }, timeIso: "2026-09-21T03:00:00Z", approved: true };
      await store.update(scenario, FINGERPRINT, (current) =>
        addRuns(current ?? emptyRecord(scenario, FINGERPRINT), [run]),
      );
      // Into the pipe before the next instruction: a kill cannot lose what was acknowledged.
      writeSync(1, `${session}\n`);
    }
  };
  await Promise.all(sessions.map(write));
}

process.on("message", (order: Order) => {
  write(order).then(
    () => writeSync(1, "done\n"),
    (error: unknown) => writeSync(1, `error ${String(error)}\n`),
  );
});
process.on("disconnect", () => process.exit());
process.send?.("ready");
