import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { detectEnvironment, type Roots, rootsFrom } from "./host-environment.ts";

let top: string;
let roots: Roots;

beforeEach(() => {
  top = mkdtempSync(path.join(tmpdir(), "gate-surroundings-"));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  for (const directory of ["proc/self/ns", "dev", "sys"]) mkdirSync(path.join(top, directory), { recursive: true });
  roots = rootsFrom({ STORMLOG_GATE_SYSFS: path.join(top, "sys"), STORMLOG_GATE_PROC: path.join(top, "proc") });
});

const put = (file: string, text = ""): void => writeFileSync(path.join(top, file), text);

describe("detectEnvironment", () => {
  it("reports a plain machine by default, and an unknown namespace where it cannot be read", () => {
    expect(detectEnvironment(roots, {})).toEqual({ wsl: false, container: false, ownPids: null, nvidiaNodes: "none" });
  });

  it("detects a container by its files, its control groups or its environment", () => {
    put("proc/self/cgroup", "0::/kubepods/pod1\n");
    expect(detectEnvironment(roots, {}).container).toBe(true);
    put("proc/self/cgroup", "0::/user.slice\n");
    expect(detectEnvironment(roots, {}).container).toBe(false);
    expect(detectEnvironment(roots, { container: "podman" }).container).toBe(true);
    put(".dockerenv");
    expect(detectEnvironment(roots, {}).container).toBe(true);
  });

  it("detects a pid namespace", () => {
    symlinkSync("pid:[4026531836]", path.join(top, "proc/self/ns/pid"));
    expect(detectEnvironment(roots, {}).ownPids).toBe(false);
    rmSync(path.join(top, "proc/self/ns/pid"));
    symlinkSync("pid:[4026532712]", path.join(top, "proc/self/ns/pid"));
    expect(detectEnvironment(roots, {}).ownPids).toBe(true);
  });

  it("detects WSL by its kernel", () => {
    put("proc/version", "Linux version 5.15.153.1-microsoft-standard-WSL2 (root@x)");
    expect(detectEnvironment(roots, {}).wsl).toBe(true);
  });

  it("finds NVIDIA's device files and no others", () => {
    put("dev/nvidia-uvm");
    put("dev/nvme0");
    expect(detectEnvironment(roots, {}).nvidiaNodes).toBe("none");
    put("dev/nvidia0");
    put("dev/nvidiactl");
    expect(detectEnvironment(roots, {}).nvidiaNodes).toBe("openable");
  });

  it.skipIf(process.getuid?.() === 0)("reports NVIDIA's device files that may not be opened", () => {
    put("dev/nvidia0");
    chmodSync(path.join(top, "dev/nvidia0"), 0);
    expect(detectEnvironment(roots, {}).nvidiaNodes).toBe("refused");
  });
});
