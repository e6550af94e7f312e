import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import "./testing/from-sources.ts";
import { cli } from "../e2e/cli.ts";
import { DrmTree } from "./drm-tree.ts";
import { ownDirectory } from "./testing/directory.ts";
import { fakeNvml, noFakeNvml } from "./testing/fake-nvml.ts";
import { GIB, ONE_GPU, withDriver } from "./testing/measured.ts";
import { measuredAll } from "./testing/measured-all.ts";

/** A tree of /proc, /sys and /dev of one machine, which contains exactly the given files. */
function machine({
  version = "Linux version 6.8.0",
  pids = "host",
  container = false,
  nodes = true,
}: {
  readonly version?: string;
  readonly pids?: "host" | "own";
  readonly container?: boolean;
  readonly nodes?: boolean;
} = {}): Readonly<Record<string, string>> {
  const top = ownDirectory("machine");
  for (const directory of ["proc/self/ns", "sys", "dev"]) mkdirSync(path.join(top, directory), { recursive: true });
  writeFileSync(path.join(top, "proc/version"), version);
  writeFileSync(path.join(top, "proc/self/cgroup"), container ? "0::/kubepods/pod\n" : "0::/user.slice\n");
  symlinkSync(pids === "host" ? "pid:[4026531836]" : "pid:[4026532712]", path.join(top, "proc/self/ns/pid"));
  if (nodes) for (const node of ["nvidia0", "nvidiactl"]) writeFileSync(path.join(top, "dev", node), "");
  return { STORMLOG_GATE_PROC: path.join(top, "proc"), STORMLOG_GATE_SYSFS: path.join(top, "sys") };
}

interface Row {
  readonly name: string;
  readonly status: "ok" | "limited" | "missing";
  readonly detail: string;
  readonly hint: string | null;
}

/** Doctor's output on one machine: with `--json` the text goes to stderr. */
interface DoctorRun {
  readonly code: number | null;
  readonly text: string;
  readonly rows: readonly Row[];
}

async function doctor(env: Readonly<Record<string, string>>, under: readonly string[] = []): Promise<DoctorRun> {
  const { code, stdout, stderr } = await cli(["doctor", "--json"], { cwd: ownDirectory("doctor"), env, under });
  return { code, text: stderr, rows: JSON.parse(stdout).findings };
}

const nvidia = (scenario: readonly string[], where = machine(), under: readonly string[] = []): Promise<DoctorRun> =>
  doctor({ ...where, ...fakeNvml(scenario).env }, under);
const noLibrary = { STORMLOG_GATE_NVML: "/nowhere/libnvidia-ml.so.1" };

const MIG = [
  "devices 1",
  "driver 550.54.15",
  "model 0 NVIDIA A100-SXM4-40GB",
  "mig-only 0",
  `mig 0 0 1g.5gb MIG-11111111-0000-0000-0000-000000000000 ${5 * GIB}`,
  `mig 0 1 2g.10gb MIG-22222222-0000-0000-0000-000000000000 ${10 * GIB}`,
];
const UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc"];
const mayUnshare = spawnSync(UNSHARE[0]!, [...UNSHARE.slice(1), "true"]).status === 0;

const absent = noFakeNvml();
const doctorOf = measuredAll<DoctorRun>(
  absent !== null
    ? {}
    : {
        "no GPU": () => doctor({ ...fakeNvml([]).env, ...machine({ nodes: false }), ...noLibrary }),
        "no library": () => doctor({ ...fakeNvml([]).env, ...machine(), ...noLibrary }),
        healthy: () => nvidia([...ONE_GPU, "accounting 0 on"]),
        asleep: () => nvidia([...ONE_GPU, "persistence 0 off", "attach 200", "accounting 0 off"]),
        denied: () => nvidia([...ONE_GPU, "accounting 0 denied"]),
        mig: () => nvidia(MIG),
        wsl: () =>
          nvidia(
            [...ONE_GPU, "proc 0 0 4711 na"],
            machine({ version: "Linux version 5.15.153.1-microsoft-standard-WSL2" }),
          ),
        "container, 550": () => nvidia(withDriver("550.90.07"), machine({ pids: "own", container: true })),
        "container, 570": () => nvidia(withDriver("570.86.15"), machine({ pids: "own", container: true })),
        ...(mayUnshare && {
          "container, 535": () => nvidia(withDriver("535.54.03"), machine({ pids: "own", container: true }), UNSHARE),
        }),
        lost: () => nvidia([...ONE_GPU, "error 0 0 15", "error 0 0 15 processes"]),
        "one of two": () => nvidia([...ONE_GPU, "devices 2", `at 0 1 0 0 ${80 * GIB}`, "handle-code 1 15"]),
        mismatch: () => nvidia([...ONE_GPU, "init 18"]),
        "no permission": () => nvidia([...ONE_GPU, "init 4"]),
        stub: () => nvidia(["init 9"], machine({ nodes: false })),
        unified: () => nvidia([...ONE_GPU, "error 0 0 3"]),
        amd: () => {
          const tree = new DrmTree();
          tree.amd(0, "0000:03:00.0", 64 * GIB, 4660);
          return doctor({ ...fakeNvml([]).env, ...noLibrary, ...tree.env });
        },
        intel: () => {
          const tree = new DrmTree();
          tree.card(0, "0000:00:02.0", "i915");
          return doctor({ ...fakeNvml([]).env, ...noLibrary, ...tree.env });
        },
      },
);

function row(machineName: string, name: string): Row {
  const found = doctorOf(machineName).rows.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no row ${name}: ${JSON.stringify(doctorOf(machineName).rows)}`);
  return found;
}

describe.skipIf(absent !== null)(`doctor${absent === null ? "" : ` (${absent})`}`, () => {
  it("doctor exits with 0 on a machine without a GPU and lists its sources as limited", () => {
    expect(doctorOf("no GPU").code).toBe(0);
    expect(row("no GPU", "nvml")).toMatchObject({ status: "limited", detail: "no NVIDIA driver" });
    expect(row("no GPU", "drm")).toMatchObject({ status: "limited" });
  });

  it("doctor prints one row and no advice for a GPU that reports everything", () => {
    expect(doctorOf("healthy").code).toBe(0);
    expect(row("healthy", "nvml")).toMatchObject({
      status: "ok",
      hint: null,
      detail: expect.stringContaining("580.65.06"),
    });
    expect(row("healthy", "cuda:0")).toEqual({
      name: "cuda:0",
      status: "ok",
      detail:
        "NVIDIA H100 80GB HBM3, 80.00 GiB, GPU-aaaaaaaa-0000-0000-0000-000000000001, memory by process, exact peaks",
      hint: null,
    });
  });

  it("explains how to keep a GPU awake and how to get exact peaks", () => {
    expect(doctorOf("asleep").code).toBe(0);
    expect(row("asleep", "cuda:0")).toMatchObject({
      status: "ok",
      hint: expect.stringMatching(/nvidia-smi -am 1[\s\S]*nvidia-smi -pm 1/),
    });
    expect(row("denied", "cuda:0").hint).toContain("which this user may not read");
  });

  it("lists the MIG devices of a GPU that refuses", () => {
    expect(doctorOf("mig").code).toBe(0);
    expect(row("mig", "cuda:0")).toMatchObject({ status: "ok", detail: expect.stringContaining("divided by MIG") });
    expect(row("mig", "mig:0.0")).toMatchObject({
      status: "ok",
      detail: expect.stringMatching(/1g\.5gb, 5\.00 GiB, MIG-1/),
    });
    expect(row("mig", "mig:0.1")).toMatchObject({ status: "ok", detail: expect.stringContaining("memory by process") });
  });

  it("reports what WSL and containers hide, with a remedy", () => {
    expect(row("wsl", "cuda:0")).toMatchObject({ status: "limited", hint: expect.stringContaining("WSL") });
    expect(row("container, 550", "cuda:0")).toMatchObject({
      status: "limited",
      hint: expect.stringMatching(/one job at a time .*--pid=host/),
    });
    expect(row("container, 570", "cuda:0").status).toBe("ok");
  });

  it.skipIf(!mayUnshare)("reports that old drivers show the host's numbers in containers", () => {
    expect(row("container, 535", "cuda:0").detail).toContain("the one new process");
    expect(row("container, 535", "cuda:0").hint).toContain("--pid=host");
  });

  it.each([
    ["lost", "cuda:0", "the GPU is lost", "grep Xid"],
    ["one of two", "cuda:1", "the GPU is lost", "grep Xid"],
    ["mismatch", "nvml", "different versions", "reboot"],
    ["no permission", "nvml", "may not use the GPU", "/dev/nvidia"],
    ["no library", "nvml", "libnvidia-ml.so.1", "Install"],
  ])("doctor fails on a GPU that does not work and gives the remedy: %s", (name, where, detail, remedy) => {
    expect(doctorOf(name).code).toBe(1);
    expect(row(name, where).status).toBe("missing");
    expect(row(name, where).detail).toContain(detail);
    expect(row(name, where).hint).toContain(remedy);
    expect(doctorOf(name).rows.filter(({ status }) => status === "missing")).toHaveLength(1);
  });

  it("does not take a stub for a driver", () => {
    expect(doctorOf("stub").code).toBe(0);
    expect(row("stub", "nvml")).toMatchObject({
      status: "limited",
      hint: expect.stringContaining("without an NVIDIA GPU"),
    });
  });

  it("reports unknown, not 0, where GPU and CPU share their memory", () => {
    const { status, detail, hint } = row("unified", "cuda:0");
    expect(status).toBe("limited");
    expect(detail).toContain("size unknown, shared with the CPU");
    expect(hint).toContain("shares its memory with the CPU");
  });

  it("lists cards of AMD and Intel", () => {
    expect(doctorOf("amd").code).toBe(0);
    expect(row("amd", "amd:0")).toMatchObject({ detail: expect.stringMatching(/^AMD Instinct MI210, 64\.00 GiB/) });
    expect(row("intel", "xpu:0")).toMatchObject({ detail: expect.stringContaining("shared with the CPU") });
  });

  it("shows a row a device and a line a problem, within the width of the terminal", () => {
    for (const name of ["healthy", "asleep", "mig", "wsl", "lost", "mismatch", "no GPU"]) {
      const { text, rows } = doctorOf(name);
      const lines = text.trimEnd().split("\n");
      expect(lines.filter((line) => /^[✓–✗] /.test(line))).toHaveLength(rows.length);
      const problems = rows.flatMap(({ hint }) => hint?.split("\n") ?? []);
      expect(lines.filter((line) => /^ +→ /.test(line))).toHaveLength(problems.length);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(100);
    }
  });

  it("writes its diagnose directory with the devices in it", async () => {
    const cwd = ownDirectory("diagnose");
    const env = { ...machine(), ...fakeNvml([...ONE_GPU, "error 0 0 15", "error 0 0 15 processes"]).env };
    const { code, stdout } = await cli(["doctor", "--output", "out"], { cwd, env });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^✗ cuda:0 .*the GPU is lost/m);
    expect(stdout).toContain("Diagnose directory: out");
    const read = (name: string) => JSON.parse(readFileSync(path.join(cwd, "out", name), "utf8"));
    expect(read("environment.json").gpu).toMatchObject([{ name: "cuda:0", model: "NVIDIA H100 80GB HBM3" }]);
    expect(read("manifest.json")).toMatchObject({ version: 1, risk_detected: true });
    expect(read("diagnostic_summary.json").suggestions).toContainEqual(expect.stringMatching(/^cuda:0: .*Xid/));
  });
});
