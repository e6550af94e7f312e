import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { cli, freshDirectory } from "./cli.ts";

const directory = freshDirectory();
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Clears the screen and forges a line; the author of a pull request writes its records. */
const ATTACK = "\u001b[2J\r\n\u2713 PASS\u202e";

const RECORD = {
  schema: "stormlog.baseline/1",
  scenario: `train${ATTACK}`,
  fingerprint: { [`field${ATTACK}`]: `value${ATTACK}` },
  epochs: [
    {
      opened: ATTACK,
      reason: ATTACK,
      series: [[0, ATTACK, "host"]],
      runs: [{ session: ATTACK, commit: ATTACK, time: ATTACK, approved: true, values: [[1e6, 0, 0, null, "flat"]] }],
    },
  ],
  envelopes: [],
};

describe("an untrusted baseline record", () => {
  it("an untrusted baseline record cannot move the cursor, start a line or turn the text around", async () => {
    mkdirSync(path.join(directory, "baselines"));
    writeFileSync(path.join(directory, "baselines", "record.json"), JSON.stringify(RECORD));
    for (const action of ["list", "show", "verify"]) {
      const { stdout, stderr, code } = await cli(["baseline", action], { cwd: directory });
      expect(code, stderr).not.toBe(1);
      expect(stdout + stderr, action).toMatch(/record/);
      expect(stdout + stderr, action).not.toMatch(/[\u001b\r\u202e]|^\u2713 PASS/mu);
    }
  });
});
