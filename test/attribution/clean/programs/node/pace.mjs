// The pace of the programs: rounds of a fixed length, reported as steps on request. Holds nothing itself.

import { writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const stepFile = process.env.STORMLOG_GATE_STEP_FILE;

/** The numbers 0 to count - 1, each followed by a pause. */
export async function* rounds(count, { ms = 20, steps = false } = {}) {
  for (let number = 0; number < count; number += 1) {
    yield number;
    if (steps && stepFile) writeFileSync(stepFile, `${number + 1}\n`);
    await pause(ms);
  }
}
