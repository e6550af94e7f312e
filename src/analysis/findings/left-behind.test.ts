import { expect, it } from "vitest";
import type { RecordingInfo } from "../../telemetry/recording/model.ts";
import { recordingOf } from "../testing/recordings.ts";
import { leftBehindFindings } from "./left-behind.ts";

const MIB = 2 ** 20;

it("files in RAM of an unknown origin are reported beside those of the command, and are not judged", () => {
  const files = (name: string) => ({ bytes: 32 * MIB, count: 1, files: [{ name, bytes: 32 * MIB }] });
  const left_behind = { ...files("/dev/shm/psm_1a2b3c4d"), unknown: files("/dev/shm/store-7") };
  const info = { identity: { rank: 0 }, left_behind } as unknown as RecordingInfo;
  const [own, unknown, ...more] = leftBehindFindings(recordingOf([], { info }));
  expect(more).toEqual([]);
  expect(own).toMatchObject({ severity: "critical" });
  expect(own?.description).toBe("32.00 MiB in 1 file of /dev/shm outlives the command: psm_1a2b3c4d (32.00 MiB).");
  expect(unknown).toMatchObject({ severity: "info", evidence: { bytes: 32 * MIB, files: 1 } });
  expect(unknown?.description).toContain("no process of the command was seen to have one open: store-7");
});
