import { describe, expect, it } from "vitest";
import type { DeviceReport } from "../../sampler/sampler.ts";
import { allocatorSettings, collectFingerprint, declaredCommand, definitionHash } from "./fingerprint.ts";

const device = (index: number, model: string): DeviceReport => ({
  index,
  name: `cuda:${index}`,
  model,
  uuid: `GPU-${index}`,
  total_bytes: 80 * 2 ** 30,
  driver: "595.45.04",
});

const inputs = {
  devices: [],
  env: {},
  worldSize: 1,
  scenarioDefinition: null,
  command: "python3 train.py",
};

describe("collectFingerprint", () => {
  it("the fingerprint of a machine without devices is that of a CPU, with null for unknown fields", async () => {
    const fingerprint = await collectFingerprint(inputs);
    expect(fingerprint).toMatchObject({
      backend: "cpu",
      device_model: null,
      device_memory_bytes: null,
      mig_profile: null,
      framework: null,
      driver: null,
      scenario_definition: null,
    });
    expect(fingerprint.kernel).toBeTruthy();
    for (const value of Object.values(fingerprint)) expect(value === null || value !== "").toBe(true);
  });

  it("the fingerprint has what decides how much the same program holds", async () => {
    const env = { LD_PRELOAD: "/x/libjemalloc.so.2:/y/libstormlog_heap.so", PYTHONMALLOC: "malloc" };
    expect((await collectFingerprint(inputs)).allocator).toBe("default");
    const { allocator, memory_limit_bytes: limit, swap_bytes: swap } = await collectFingerprint({ ...inputs, env });
    expect(allocator).toBe("libjemalloc.so.2; PYTHONMALLOC=malloc");
    if (process.platform === "linux") expect(swap).toBeGreaterThanOrEqual(0);
    expect(limit === null || limit === "none" || Number(limit) > 0).toBe(true);
  });

  it("the fingerprint of equal devices names them once", async () => {
    const devices = [device(0, "NVIDIA H200"), device(1, "NVIDIA H200")];
    expect(await collectFingerprint({ ...inputs, devices, worldSize: 2 })).toMatchObject({
      backend: "cuda",
      device_model: "NVIDIA H200",
      device_memory_bytes: 80 * 2 ** 30,
      world_size: 2,
      driver: "595.45.04",
    });
  });

  it("the fingerprint of mixed and partitioned devices names all of them", async () => {
    const devices = [device(0, "NVIDIA A100 MIG 1g.10gb"), device(1, "NVIDIA L4")];
    expect(await collectFingerprint({ ...inputs, devices })).toMatchObject({
      device_model: "NVIDIA A100 MIG 1g.10gb, NVIDIA L4",
      mig_profile: "1g.10gb",
    });
  });

  it("the backend is that of the vendor of the devices, and ignores integrated graphics", async () => {
    const made = (backend: DeviceReport["backend"], unified: boolean) =>
      collectFingerprint({ ...inputs, devices: [{ ...device(0, "card"), ...(backend ? { backend } : {}), unified }] });
    expect((await made("amd", false)).backend).toBe("rocm");
    expect((await made("intel", false)).backend).toBe("xpu");
    expect((await made("apple", true)).backend).toBe("mps");
    // GB10 and its like share memory with the processor, too, but are what jobs run on.
    expect((await made("nvml", true)).backend).toBe("cuda");
    expect(await made("intel", true)).toMatchObject({ backend: "cpu", device_model: null });
  });

  it("the fingerprint of a partitioned GPU is that of its instances", async () => {
    const instance = { ...device(256, "NVIDIA A100"), parent: 0, mig_profile: "1g.10gb", total_bytes: 10 * 2 ** 30 };
    expect(await collectFingerprint({ ...inputs, devices: [device(0, "NVIDIA A100"), instance] })).toMatchObject({
      device_model: "NVIDIA A100",
      device_memory_bytes: 10 * 2 ** 30,
      mig_profile: "1g.10gb",
    });
  });

  it("takes the image from the first source that has it", async () => {
    const hosted = { ImageOS: "ubuntu24", ImageVersion: "20260901.1" };
    expect((await collectFingerprint({ ...inputs, env: hosted })).container_image).toBe("ubuntu24 20260901.1");
    const named = { ...hosted, STORMLOG_GATE_IMAGE: "ghcr.io/x@sha256:1" };
    expect((await collectFingerprint({ ...inputs, env: named })).container_image).toBe("ghcr.io/x@sha256:1");
  });
});

describe("allocatorSettings", () => {
  it("lists the allocator's variables in one order, and nothing else", () => {
    const env = { PYTORCH_CUDA_ALLOC_CONF: "expandable_segments:True", MALLOC_ARENA_MAX: "2", PATH: "/bin" };
    expect(allocatorSettings(env)).toBe("MALLOC_ARENA_MAX=2; PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
  });

  it("allocatorSettings is default when no variable is set", () => {
    expect(allocatorSettings({ MALLOC_ARENA_MAX: "", PATH: "/bin" })).toBe("default");
  });
});

describe("definitionHash", () => {
  it("definitionHash is short, stable and different for different text", () => {
    expect(definitionHash("run: a")).toBe("637de711a7449112");
    expect(definitionHash("run: a")).not.toBe(definitionHash("run: b"));
    expect(definitionHash(null)).toBeNull();
  });
});

describe("declaredCommand", () => {
  const argv = (...words: string[]) => declaredCommand({ kind: "argv", argv: words }, "/home/me/repo");
  const shell = (script: string) => declaredCommand({ kind: "shell", script }, "/home/me/repo");

  it("declaredCommand is the command as written, the same with and without a shell", () => {
    expect(argv("python3", "train.py", "--steps", "200")).toBe("python3 train.py --steps 200");
    expect(shell("python3 train.py --steps 200")).toBe("python3 train.py --steps 200");
    expect(argv("./train", "--name", "two words")).toBe("./train --name 'two words'");
  });

  it.each([
    ["/usr/local/bin/python3", "train.py", "python3 train.py"],
    [".venv/bin/python", "/home/me/repo/train.py", "python train.py"],
    ["python3", "--out=/home/me/repo/out/x", "python3 --out=out/x"],
    ["python3", "--out=/tmp/tmp1a2b3c/x", "python3 --out=$TMPDIR/…/x"],
  ])("declaredCommand of %s %s omits what differs by machine: %s", (program, argument, text) => {
    expect(argv(program, argument)).toBe(text);
  });

  it("hides secrets and keeps long commands apart", () => {
    expect(argv("python3", "train.py", "--hf-token", "secret-value")).not.toContain("secret-value");
    const long = "x".repeat(1000);
    expect(argv("run", `${long}a`)).not.toBe(argv("run", `${long}b`));
    expect(argv("run", long).length).toBeLessThan(300);
  });
});
