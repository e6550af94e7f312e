import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { ROOT } from "./machine.ts";

const GIB = 2 ** 30;

/**
 * Environment of a fake NVML with one device: 12 µs a memory query, about what the real one takes, and 0.4 ms a process
 * list, so that there are several in a run in small. What processes hold is read from the files in `follow`. Needs gcc.
 */
export function fakeNvml(directory: string, follow: string): NodeJS.ProcessEnv {
  const library = path.join(directory, "libnvidia-ml.so.1");
  const scenario = path.join(directory, "scenario.txt");
  execFileSync("bash", [path.join(ROOT, "native", "fake-nvml", "build.sh"), library], { stdio: "pipe" });
  writeFileSync(scenario, `${[...SCENARIO, `follow ${follow}`].join("\n")}\n`);
  return { STORMLOG_GATE_NVML: library, FAKE_NVML_SCENARIO: scenario };
}

const SCENARIO = [
  "devices 1",
  "driver 580.00.00",
  "model 0 Fake GPU",
  "latency 12 memory",
  "latency 400 processes",
  "accounting 0 on",
  `at 0 0 ${GIB} ${GIB / 2} ${80 * GIB}`,
];
