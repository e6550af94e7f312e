import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readRecordFile } from "../../src/telemetry/reading/record-file.ts";
import type { RecordingInfo } from "../../src/telemetry/recording/model.ts";
import { temporaryDirectory } from "./kit.ts";

const DRIVER = fileURLToPath(new URL("fixtures/gate-driver.ts", import.meta.url));
/** Of 512 bytes: no file may grow beyond 12 kB, as on a full disk. */
const BLOCKS = 24;

describe("a disk that fills up during the run", () => {
  it("costs later samples and output, not the run", async () => {
    const directory = path.join(temporaryDirectory(), "run");
    const script = "sleep 2; yes | head -c 500000; exit 3";
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
        directory,
        "sh",
        "-c",
        script,
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
    const file = await readRecordFile(path.join(directory, "samples.rec"));
    expect(file.tree.timeNs.length).toBeGreaterThan(100);
    expect(info.peaks).toHaveLength(1);
  });
});
