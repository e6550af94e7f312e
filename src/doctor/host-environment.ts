import { accessSync, constants, existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import path from "node:path";
import type { Environment } from "../core/process/environment.ts";
import { FIRST_PID_NAMESPACE } from "../measure/launch/pid-namespace.ts";

/** Properties of the machine that limit what its GPU drivers report. */
export interface HostEnvironment {
  readonly wsl: boolean;
  readonly container: boolean;
  /** Whether pids differ from the host's, so that outer processes are hidden. Null = unknown. */
  readonly ownPids: boolean | null;
  /** Device files of NVIDIA's driver. */
  readonly nvidiaNodes: "none" | "refused" | "openable";
}

/** Roots of the file system; another tree in tests. */
export interface Roots {
  readonly proc: string;
  readonly dev: string;
  /** For `/.dockerenv` and the like. */
  readonly top: string;
}

/** The roots of the device backends: STORMLOG_GATE_PROC and STORMLOG_GATE_SYSFS replace /proc and /sys. */
export function rootsFrom(env: Environment): Roots {
  const root = (value: string | undefined, usual: string): string => (value?.startsWith("/") ? value : usual);
  const sys = root(env.STORMLOG_GATE_SYSFS, "/sys");
  return { proc: root(env.STORMLOG_GATE_PROC, "/proc"), dev: path.join(sys, "..", "dev"), top: path.join(sys, "..") };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}

function ownPids(proc: string): boolean | null {
  try {
    return readlinkSync(path.join(proc, "self/ns/pid")) !== FIRST_PID_NAMESPACE;
  } catch {
    return null;
  }
}

function nvidiaNodes(dev: string): HostEnvironment["nvidiaNodes"] {
  let names: string[] = [];
  try {
    names = readdirSync(dev).filter((name) => /^nvidia(\d+|ctl)$/.test(name));
  } catch {
    // Without /dev there are no device files either.
  }
  if (names.length === 0) return "none";
  const refused = names.some((name) => {
    try {
      accessSync(path.join(dev, name), constants.R_OK | constants.W_OK);
      return false;
    } catch {
      return true;
    }
  });
  return refused ? "refused" : "openable";
}

/** Read the properties of this machine, without changing it. */
export function detectEnvironment({ proc, dev, top }: Roots, env: Environment): HostEnvironment {
  const inContainer =
    ["/.dockerenv", "/run/.containerenv"].some((file) => existsSync(path.join(top, file))) ||
    env.KUBERNETES_SERVICE_HOST !== undefined ||
    env.container !== undefined ||
    /docker|kubepods|containerd|libpod|lxc/.test(textOf(path.join(proc, "self/cgroup")));
  return {
    wsl: /microsoft/i.test(textOf(path.join(proc, "version"))),
    container: inContainer,
    ownPids: ownPids(proc),
    nvidiaNodes: nvidiaNodes(dev),
  };
}
