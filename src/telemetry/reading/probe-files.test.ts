import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { draws } from "../../core/testing/draws.ts";
import { clearProbeFiles, probeSummary, readProbeInfos } from "./probe-files.ts";
import { parseProbeInfo } from "./probe-info.ts";

const INFO = `pid=77
ppid=70
argv=python train.py --name=a%3Db%25
python=3.11.2
rank=2
local_rank=1
world_size=4
role=1
framework=torch
torch=2.13.0+cu128
cuda=12.8
allocator_conf=expandable_segments:True
cuda_visible_devices=2,3
device.cuda:0.name=NVIDIA H200
device.cuda:0.uuid=6f2a0c1e-0000-1111-2222-333344445555
device.cuda:0.total=151000000000
steps_from=optimizer-hook
heap=mallinfo2
python_heap=pymalloc
peaks_reset=1
`;

describe("the info file of a probe", () => {
  it("contains process, framework, devices and ranks", () => {
    const info = parseProbeInfo(INFO);
    expect(info).toMatchObject({ visible: { cuda: "2,3" }, traceml: false, peaksReset: true });
    expect(info?.process).toEqual({
      pid: 77,
      parent: 70,
      rank: 2,
      local_rank: 1,
      world_size: 4,
      role: "rank",
      framework: "torch",
      versions: { torch: "2.13.0+cu128", cuda: "12.8" },
      python: "3.11.2",
      heap: "mallinfo2",
      python_heap: "pymalloc",
      allocator_conf: "expandable_segments:True",
      steps_from: "optimizer-hook",
      devices: [
        {
          own_name: "cuda:0",
          name: "cuda:0",
          model: "NVIDIA H200",
          uuid: "6f2a0c1e-0000-1111-2222-333344445555",
          total_bytes: 151_000_000_000,
          driver_index: null,
        },
      ],
      error: null,
    });
  });

  it.each([
    ["framework=jax\njax=0.5\ndevice.jax:0.name=NVIDIA A100-SXM4-80GB", "cuda:0"],
    ["framework=jax\njax=0.5\ndevice.jax:1.name=TPU v5 lite", "jax:1"],
    ["framework=tensorflow\ntensorflow=2.16\ndevice.tensorflow:0.name=/physical_device:GPU:0", "cuda:0"],
    ["framework=tensorflow\ntensorflow=2.16\ncuda=12.3\ndevice.tensorflow:0.name=x", "cuda:0"],
    ["framework=tensorflow\ntensorflow=2.16\ndevice.tensorflow:0.name=/physical_device:CPU:0", "tf:0"],
  ])("names the device of %j %s", (lines, name) => {
    expect(parseProbeInfo(`pid=5\n${lines}\n`)?.process.devices[0]?.name).toBe(name);
  });

  it("accepts the role as a name, and ignores unknown roles", () => {
    expect(parseProbeInfo("pid=5\nrole=agent")?.process.role).toBe("agent");
    expect(parseProbeInfo("pid=5\nrole=7\nrank=-1\nframework=caffe\n")?.process).toMatchObject({
      role: "plain",
      rank: null,
      framework: null,
    });
    expect(parseProbeInfo("pid=\nrank=1")).toBeNull();
  });

  it("parses any text, and keeps no long value", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 400 }), (text) => {
        const info = parseProbeInfo(`pid=5\n${text}\ntorch=${"9".repeat(5000)}`);
        expect(JSON.stringify(info).length).toBeLessThan(10_000);
      }),
      { numRuns: draws(300) },
    );
  });
});

describe("the directory of a probe", () => {
  let run: string;
  let directory: string;
  beforeEach(() => {
    run = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
    directory = path.join(run, "probe");
    mkdirSync(directory);
  });
  afterEach(() => rmSync(run, { recursive: true }));
  const put = (...names: string[]) => {
    for (const name of names) writeFileSync(path.join(directory, name), `pid=${name.split(".")[0]}\n`);
  };

  it("readProbeInfos reads a directory by pid and number, from regular files only", () => {
    put("12.0.info", "9.0.info", "9.1.info", "9.0.probe", "9.0.oom.0", "x.info");
    symlinkSync("/etc/hostname", path.join(directory, "1.0.info"));
    expect(readProbeInfos(run).map(({ process }) => process.pid)).toEqual([9, 9, 12]);
    expect(readProbeInfos(path.join(run, "none"))).toEqual([]);
  });

  it("a probe's directory is removed with its rings when it contains only them and their info", () => {
    put("9.0.info", "9.0.probe", "9.0.info.part", "9.1.info.new", "step");
    clearProbeFiles(run);
    expect(existsSync(directory)).toBe(false);
    clearProbeFiles(run);
  });

  it("keeps evidence for other readers and the info about its processes", () => {
    put("9.0.info", "9.0.probe", "step", "9.0.oom.0", "9.0.lines.0.json", "9.0.snapshot.0.pickle");
    mkdirSync(path.join(directory, "8.0.probe"));
    clearProbeFiles(run);
    expect(readdirSync(directory).sort()).toEqual([
      "8.0.probe",
      "9.0.info",
      "9.0.lines.0.json",
      "9.0.oom.0",
      "9.0.snapshot.0.pickle",
    ]);
  });

  it("probeSummary keeps 256 of many processes, the most informative one among them", () => {
    const of = (lines: string) => parseProbeInfo(lines)!.process;
    const many = Array.from({ length: 300 }, (_, i) => of(`pid=${i + 1}`));
    const main = of("pid=1000\nrank=0\nrole=rank\nframework=torch\nsteps_from=api");
    const { processes, processes_total } = probeSummary([...many, main]);
    expect(processes_total).toBe(301);
    expect(processes).toHaveLength(256);
    expect(processes.at(-1)).toBe(main);
  });
});
