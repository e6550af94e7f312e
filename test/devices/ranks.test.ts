import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { noFakeNvml } from "./testing/fake-nvml.ts";
import { DRIVER_USED, GIB, highest, MIB, type Seen, seen } from "./testing/measured.ts";
import { measuredAll } from "./testing/measured-all.ts";

const TRAIN = path.join(fileURLToPath(new URL("fixtures", import.meta.url)), "train.py");
const UUIDS = [0, 1, 2].map((gpu) => `aaaaaaaa-0000-0000-0000-00000000000${gpu}`);
/** Three GPUs of two kinds, as the driver numbers them. */
const MACHINE = [
  "devices 3",
  "driver 580.65.06",
  ...[0, 1, 2].flatMap((gpu) => [
    `model ${gpu} ${gpu === 0 ? "NVIDIA L4" : "NVIDIA H100 80GB HBM3"}`,
    `uuid ${gpu} GPU-${UUIDS[gpu]}`,
    `at 0 ${gpu} ${DRIVER_USED} ${300 * MIB} ${80 * GIB}`,
  ]),
];
/** CUDA counts the fastest first: its 0 is the driver's 2. */
const FASTEST_FIRST = [2, 1, 0].map((gpu) => `${gpu}=${UUIDS[gpu]}=GPU ${gpu}`).join(",");
/** Communicators end at the third step: 600 ms in which a reading must come. */
const STEPS = "15 200";
/** A shell that starts one rank for each choice of devices, each some time after the one before, and waits for all. */
const ranks = (choices: readonly string[], apartS = 0): string[] => {
  const started = choices.map(
    (devices, rank) =>
      `RANK=${rank} WORLD_SIZE=${choices.length} LOCAL_RANK=${rank} CUDA_VISIBLE_DEVICES=${devices} python3 ${TRAIN} ${STEPS} 0 & sleep ${apartS};`,
  );
  return ["sh", "-c", `${started.join(" ")} wait`];
};
const settings = { env: { FAKE_CUDA_DEVICES: FASTEST_FIRST } };
const absent = noFakeNvml();
const run = measuredAll(
  absent !== null
    ? {}
    : {
        apart: () => seen(MACHINE, ranks(["0", "1"]), settings),
        together: () => seen(MACHINE, ranks(["0", "0"]), settings),
        staggered: () => seen(MACHINE, ranks(["0", "0"], 1.2), settings),
      },
);

const devices = ({ info }: Seen) =>
  info.devices?.map(({ index, rank, name, attribution }) => [index, rank, name, attribution]);
const peaksOf = ({ recording }: Seen, column: "job" | "reserved") =>
  recording.tables
    .filter(({ columns }) => columns[column] !== undefined)
    .filter(({ device }) => device !== "host")
    .map(({ rank, device, columns }) => [rank, device, Math.max(...columns[column]!.filter((value) => value > 0))]);

describe.skipIf(absent !== null)(`ranks${absent === null ? "" : ` (${absent})`}`, () => {
  it("ranks each have the device that they use, in any order of driver and CUDA, and an unused one belongs to none", () => {
    const apart = run("apart");
    expect(devices(apart)).toEqual([
      [0, 0, "nvml:0", "none"],
      [1, 1, "cuda:0", "pid"],
      [2, 0, "cuda:0", "pid"],
    ]);
    expect(peaksOf(apart, "job")).toEqual([
      [1, "cuda:0", (300 + 100 + 150 + 80) * MIB],
      [0, "cuda:0", (300 + 100 + 150 + 80) * MIB],
    ]);
    expect(highest(apart.recording, "nvml:0", "used")).toBe(DRIVER_USED);
    expect(apart.info.fingerprint).toMatchObject({ device_model: "NVIDIA H100 80GB HBM3", world_size: 2 });
  });

  it.each(["together", "staggered"] as const)(
    "ranks that share a device have their own memory each, and the gap is what neither allocator holds (%s)",
    (name) => {
      const together = run(name);
      expect(devices(together)?.filter(([, , , attribution]) => attribution === "pid")).toHaveLength(1);
      expect(new Set(peaksOf(together, "job").map(([rank, device]) => `${rank} ${device}`))).toEqual(
        new Set(["0 cuda:0", "1 cuda:0"]),
      );
      const shared = together.info.devices?.find(({ attribution }) => attribution === "pid");
      expect(shared).toMatchObject({ index: 2, name: "cuda:0" });
      // Two contexts, two times libraries and communicators.
      expect(shared?.gap).toMatchObject({ peak_bytes: 2 * 550 * MIB, later_bytes: 0 });
      expect(together.findings.map(({ classification }) => classification)).not.toContain("hidden_gap");
    },
  );
});
