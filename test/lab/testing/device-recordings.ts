import { mkdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { fakeNvml } from "../../devices/testing/fake-nvml.ts";
import { cli } from "../../e2e/cli.ts";
import { STAND_INS } from "../../probe/testing/probed.ts";

const PROGRAM = fileURLToPath(new URL("../fixtures/device_pattern.py", import.meta.url));
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

const GPU: readonly string[] = [
  "devices 1",
  "driver 580.65.06",
  "model 0 Stand-in GPU",
  "uuid 0 GPU-aaaaaaaa-0000-0000-0000-000000000001",
  `at 0 0 ${500 * MIB} ${300 * MIB} ${80 * GIB}`,
];

export interface DevicePattern {
  readonly name: string;
  readonly steps: number;
  readonly keptKib: number;
  /** What the fixed state holds beside its working memory of 16 MiB. */
  readonly modelMib: number;
  /** Memory of the device, where the pattern is to run out of it. */
  readonly totalMib?: number;
}

/**
 * Record both states of a pattern as on a CUDA device: the real sampler and the real probe, on the stand-in of PyTorch
 * and the fake NVIDIA library. No GPU is used: the test covers the path of a recording into the table, and nothing
 * of hardware.
 */
export async function recordDevicePattern(directory: string, pattern: DevicePattern): Promise<void> {
  const { name, steps, keptKib, modelMib, totalMib } = pattern;
  mkdirSync(path.join(directory, name), { recursive: true });
  for (const state of ["leaky", "fixed"]) {
    const fake = fakeNvml(GPU);
    const total = totalMib === undefined ? {} : { FAKE_CUDA_TOTAL: String(totalMib * MIB) };
    const command = ["python3", PROGRAM, state, String(steps), String(keptKib), String(modelMib)];
    const { stderr, stdout } = await cli(["record", "--output", path.join(name, state), "--", ...command], {
      cwd: directory,
      env: {
        PYTHONPATH: path.join(STAND_INS, "torch-cuda"),
        PYTHONDONTWRITEBYTECODE: "1",
        ...fake.env,
        ...total,
      },
    });
    if (!stdout.includes("leak-lab:") && totalMib === undefined) throw new Error(`not recorded: ${stderr}${stdout}`);
  }
}
