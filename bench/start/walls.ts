import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { median } from "simple-statistics";
import { packageRoot } from "../../src/core/package-root.ts";
import { userDirectory, WAYS } from "../../test/testing/walls.ts";
import { type Result, shownNumber } from "../shared/figures.ts";
import { medianInterval } from "../shared/intervals.ts";

/** What a wall may add to the start of a command. */
const LIMIT_MS = { user: 5, sudo: 100 };
export const WALLS = "a command's start behind a wall";

/** How much later a command can start behind each wall of this machine than without one, in rounds of random order. */
export function wallFigures(rounds: number): readonly Result[] {
  if (WAYS.length === 0) return [{ name: WALLS, skipped: "this machine lets an ordinary user make no wall" }];
  const program = fileURLToPath(new URL("launch-times.ts", import.meta.url));
  return WAYS.map(({ got, under }) => {
    const directory = userDirectory("run");
    try {
      const job = [program, got, String(rounds), directory, packageRoot()];
      const [file = "", ...args] = [...under(directory), process.execPath, "--import", "tsx", ...job];
      const { status, stdout, stderr } = spawnSync(file, args, {
        encoding: "utf8",
        env: { ...process.env, HOME: directory },
      });
      if (status !== 0) throw new Error(`the launches behind a wall by ${got} failed: ${stderr.slice(-2000)}`);
      const times = JSON.parse(stdout) as readonly (readonly [number, number, number])[];
      const { median: value, ...interval } = medianInterval(times.map(([without, walled]) => walled - without));
      const trial = median(times.map(([, , one]) => one));
      const note = `its trial, once a gate: ${shownNumber(trial)} ms`;
      return { name: `${WALLS} by ${got}, against none`, value, interval, limit: LIMIT_MS[got], unit: "ms", note };
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
}
