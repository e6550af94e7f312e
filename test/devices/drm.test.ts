import { chmodSync, existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import "./testing/from-sources.ts";
import { readRunDirectory } from "../../src/telemetry/read-run-directory.ts";
import type { Recording, RecordingInfo } from "../../src/telemetry/recording/model.ts";
import { cli } from "../e2e/cli.ts";
import { DRM_USER, DrmTree } from "./drm-tree.ts";
import { nativeBuild } from "./testing/built.ts";
import { ownDirectory } from "./testing/directory.ts";
import { expectHostSampled, type Finding, GIB, healthMs, MIB, values } from "./testing/measured.ts";

const PCI = "0000:03:00.0";
const TIMEOUT_MS = 120_000;
// Built once for all tests of devices; what is shipped may be older than the sources.
const built = process.platform === "linux" ? nativeBuild() : null;

interface Seen {
  readonly info: RecordingInfo;
  readonly recording: Recording;
  readonly findings: readonly Finding[];
}

const environment = (tree: DrmTree): Record<string, string> => ({
  ...tree.env,
  // No NVIDIA library, whatever this machine has.
  STORMLOG_GATE_NVML: "/nonexistent/libnvidia-ml.so.1",
  ...(built === null ? {} : { STORMLOG_TEST_PREBUILDS: built }),
});

/**
 * Gate the program that uses a card of the tree. Without a budget: on a machine that is busy with other tests, lists
 * would otherwise be too seldom for a program of two seconds.
 */
async function gate(tree: DrmTree, ...what: readonly string[]): Promise<Seen> {
  const directory = ownDirectory("run");
  const bundle = path.join(directory, "bundle");
  const options = [
    "--bundle",
    bundle,
    "--baseline",
    "none",
    "--unjudged",
    "pass",
    "--base-run",
    "off",
    "--repeats",
    "1",
  ];
  const command = [process.execPath, DRM_USER, tree.directory, ...what];
  const { code, stderr } = await cli(
    ["run", ...options, "--attribute", "off", "--cpu-budget", "off", "--", ...command],
    {
      cwd: directory,
      env: environment(tree),
    },
  );
  const run = path.join(bundle, "runs", "default", "1");
  if (code !== 0 || !existsSync(path.join(run, "recording.json"))) throw new Error(`exit ${code}: ${stderr}`);
  return {
    info: JSON.parse(readFileSync(path.join(run, "recording.json"), "utf8")),
    recording: (await readRunDirectory(run)).recording,
    findings: JSON.parse(readFileSync(path.join(bundle, "report.json"), "utf8")).payload.scenarios[0].findings,
  };
}

const peakOf = (recording: Recording, device: string, column: "used" | "job" | "others"): number =>
  values(recording, device, column).reduce((peak, { bytes }) => Math.max(peak, bytes), Number.NEGATIVE_INFINITY);

describe.skipIf(built === null)(
  "cards of AMD and Intel (needs Linux, cmake and a C++ compiler)",
  { timeout: TIMEOUT_MS },
  () => {
    it("shows what an AMD card uses, what of it is the job's, and what others hold", async () => {
      const tree = new DrmTree();
      tree.amd(0, PCI, 64 * GIB, 998);
      tree.amd(1, "0000:0a:00.0", 64 * GIB, 999);
      tree.compute(process.pid, 998, 100 * MIB);
      const { info, recording } = await gate(tree, "amd", "40", "8");
      const [card, idle] = info.devices ?? [];
      expect(card).toMatchObject({
        name: "amd:0",
        backend: "amd",
        model: "AMD Instinct MI210",
        uuid: "GPU-a1b2c3d4e5f60700",
        pci_bus_id: PCI,
        total_bytes: 64 * GIB,
        driver: "amdgpu",
        unified: false,
        attribution: "pid",
        attribution_reason: null,
        others_first_bytes: 100 * MIB,
        others_peak_bytes: 100 * MIB,
      });
      expect(idle).toMatchObject({ name: "amd:1", attribution: "none", job_peak_bytes: null });
      expect(peakOf(recording, "amd:0", "used")).toBe(420 * MIB);
      // Lists come once a second, and four times as often while much moves.
      const job = peakOf(recording, "amd:0", "job");
      expect(job).toBeGreaterThan(80 * MIB);
      expect(job).toBeLessThanOrEqual(320 * MIB);
      expect(card?.job_peak_bytes).toBe(job);
    });

    it("shows the job's memory on an Intel card without further counters, at the rate of samples", async () => {
      const tree = new DrmTree();
      tree.card(0, PCI, "xe");
      const { info, recording } = await gate(tree, "xe", "40", "8");
      expect(info.devices?.[0]).toMatchObject({
        name: "xpu:0",
        backend: "intel",
        total_bytes: null,
        attribution: "pid",
        baseline_used_bytes: null,
        // They were not read.
        others_first_bytes: null,
        others_peak_bytes: null,
      });
      expect(info.devices?.[0]?.reason).toMatch(/only what each process holds/);
      expect(values(recording, "xpu:0", "used")).toEqual([]);
      const job = values(recording, "xpu:0", "job");
      // Process lists, which find the descriptor, are read four times a second at most.
      const seconds = ((job.at(-1)?.ms ?? 0) - (job[0]?.ms ?? 0)) / 1000;
      expect(seconds).toBeGreaterThan(0);
      expect(job.length).toBeGreaterThan(2 * (1 + 4 * seconds));
      expect(peakOf(recording, "xpu:0", "job")).toBeGreaterThan(280 * MIB);
    });

    it("reports a card that vanishes in mid-run as lost, and continues to measure the host", async () => {
      const tree = new DrmTree();
      tree.amd(0, PCI, 64 * GIB, 998);
      const { info, recording, findings } = await gate(tree, "amd", "80", "4", "vanish");
      expect(recording.health?.map(({ kind, device }) => `${kind} ${device}`)).toContain("lost amd:0");
      expect(findings.map(({ classification }) => classification)).toContain("device_lost");
      const used = values(recording, "amd:0", "used");
      expect(used.length).toBeGreaterThan(10);
      // The program runs on for two seconds after the card is gone.
      expect(used.at(-1)?.ms).toBeLessThan(healthMs(recording, "lost"));
      expectHostSampled(recording, used.at(-1)?.ms ?? Number.NaN);
      expect(info.complete).toBe(true);
    });

    it("doctor names each card, what is read of it, and what keeps a user from it", async () => {
      const tree = new DrmTree();
      tree.amd(0, PCI, 64 * GIB, 998);
      tree.card(1, "0000:00:02.0", "i915");
      const directory = ownDirectory("doctor");
      const healthy = await cli(["doctor"], { cwd: directory, env: environment(tree) });
      expect(healthy.stdout).toMatch(/amd:0.*AMD Instinct MI210, 64(\.0+)? GiB, GPU-a1b2c3d4e5f60700/);
      expect(healthy.stdout).toMatch(/xpu:0.*shared with the CPU/);
      expect(healthy.stdout).not.toMatch(/may not be opened/);
      if (process.getuid?.() !== 0) return;
      chmodSync(path.join(tree.directory, "dev/kfd"), 0o600);
      chmodSync(path.join(tree.directory, "dev/dri/renderD128"), 0o600);
      chmodSync(path.join(tree.directory, ".."), 0o755);
      chmodSync(directory, 0o777);
      const refused = await cli(["doctor"], {
        cwd: directory,
        env: environment(tree),
        under: ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
      });
      expect(refused.stdout).toMatch(/\/dev\/kfd may not be/);
      expect(refused.stdout).toMatch(/groups render and video/);
    });
  },
);
