import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fakeNvmlLibrary, nativeBuild } from "./built.ts";
import { ownDirectory } from "./directory.ts";

/** Why tests with the fake library cannot run here, or null. */
export function noFakeNvml(): string | null {
  if (process.platform !== "linux") return "the fake NVIDIA library is built on Linux";
  return fakeNvmlLibrary() === null ? "no C compiler" : null;
}

export interface FakeNvml {
  /** What the gate's environment must hold. */
  readonly env: Readonly<Record<string, string>>;
  /** Directory of the scenario, deleted with the process; files that it names by a relative path lie here. */
  readonly directory: string;
  /** Directory in which processes with the stand-in of PyTorch report their memory. */
  readonly follow: string;
}

/** Symbols that drivers of a version lack, by the version's name in a scenario's `api`. */
const LACKING: Readonly<Record<string, readonly string[]>> = {
  "470": ["nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetRunningProcessDetailList"],
};

/** The three process lists of a version: "" or "_v2". */
export function processLists(version: "" | "_v2"): string[] {
  return ["Compute", "Graphics", "MPSCompute"].map((kind) => `nvmlDeviceGet${kind}RunningProcesses${version}`);
}

/** Values of a line about one GPU. */
const said = (lines: readonly string[], word: string, gpu: number): string | undefined =>
  lines.findLast((line) => line.startsWith(`${word} ${gpu} `))?.slice(`${word} ${gpu} `.length);

/** The scenario's devices as the stand-in of PyTorch has them: CUDA's uuids are without NVML's prefix. */
function cudaDevices(lines: readonly string[]): string {
  const count = Number(lines.findLast((line) => line.startsWith("devices "))?.slice("devices ".length) ?? "0");
  return Array.from({ length: count }, (_, gpu) => {
    const model = said(lines, "model", gpu) ?? `Fake GPU ${gpu}`;
    const parts = lines.filter((line) => line.startsWith(`mig ${gpu} `)).map((line) => line.split(" "));
    if (parts.length > 0)
      return parts.map(([, , index, profile, uuid]) => `${gpu}.${index}=${uuid}=${model} MIG ${profile}`);
    return [`${gpu}=${(said(lines, "uuid", gpu) ?? `GPU-fake-${gpu}`).replace(/^GPU-/, "")}=${model}`];
  })
    .flat()
    .join(",");
}

/**
 * A machine with NVIDIA GPUs as a scenario describes it (`native/fake-nvml/README.md`), for programs started with the
 * environment that is returned. The scenario follows the stand-in of PyTorch.
 */
export function fakeNvml(
  scenario: string | readonly string[],
  { without = [] }: { readonly without?: readonly string[] } = {},
): FakeNvml {
  const lines = typeof scenario === "string" ? scenario.split("\n") : scenario;
  const api = lines.find((line) => line.startsWith("api "))?.slice("api ".length) ?? "";
  const library = fakeNvmlLibrary([...without, ...(LACKING[api] ?? [])]);
  if (library === null) throw new Error("no C compiler");
  const directory = ownDirectory("nvml");
  const follow = path.join(directory, "follow");
  mkdirSync(follow);
  const file = path.join(directory, "scenario");
  writeFileSync(file, `${[...lines, "follow follow", "calls calls"].join("\n")}\n`);
  const build = nativeBuild();
  return {
    env: {
      STORMLOG_GATE_NVML: library,
      FAKE_NVML_SCENARIO: file,
      FAKE_NVML_FOLLOW: follow,
      FAKE_CUDA_DEVICES: cudaDevices(lines),
      FAKE_CUDA_TOTAL: String(80 * 1024 ** 3),
      ...(build === null ? {} : { STORMLOG_TEST_PREBUILDS: build }),
    },
    directory,
    follow,
  };
}
