import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { RECORD_BYTES } from "../../src/sampler/record-layout.ts";
import { readRecordFile } from "../../src/telemetry/reading/record-file.ts";
import type { RecordingInfo } from "../../src/telemetry/recording/model.ts";
import { temporaryDirectory } from "./kit.ts";

const DRIVER = fileURLToPath(new URL("fixtures/gate-driver.ts", import.meta.url));
/** Of 512 bytes: no file may grow beyond 12 kB, as on a full disk. */
const BLOCKS = 24;
/** A rejected write leaves whole records, so a full file is larger than this. */
const FULL = BLOCKS * 512 - RECORD_BYTES;

describe("a disk that fills up during the run", () => {
  it("costs later samples and output, not the run", async () => {
    const runs = path.join(temporaryDirectory(), "runs");
    const directory = path.join(runs, "1");
    const samples = path.join(directory, "samples.rec");
    // Looks seldom, since its own processes are recorded too.
    const script = `while [ $(stat -c %s "$0") -le ${FULL} ]; do sleep 0.5; done; yes | head -c 500000; exit 3`;
    const { status, stderr } = spawnSync(
      "sh",
      [
        "-c",
        `ulimit -f ${BLOCKS}; exec "$@"`,
        "sh",
        process.execPath,
        "--import",
        "tsx",
        DRIVER,
        runs,
        "1",
        "off",
        "sh",
        "-c",
        script,
        samples,
      ],
      { encoding: "utf8" },
    );
    expect(stderr).toBe("");
    expect(status).toBe(0);
    const info = JSON.parse(readFileSync(path.join(directory, "recording.json"), "utf8")) as RecordingInfo;
    expect(info).toMatchObject({ complete: true, exit: { kind: "exited", code: 3 }, output: { bytes: 500_000 } });
    expect(info.output?.kept_bytes).toBeLessThanOrEqual(BLOCKS * 512);
    expect(info.lost.join("\n")).toMatch(/samples after a failed write are missing: .*EFBIG/);
    expect(info.lost.join("\n")).toMatch(/output after a failed write is missing from output.log: .*EFBIG/);
    expect(statSync(samples).size).toBeGreaterThan(FULL);
    expect((await readRecordFile(samples)).tree.timeNs.length).toBeGreaterThan(0);
    expect(info.peaks).toHaveLength(1);
  });
});
