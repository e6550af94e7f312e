import type { Surroundings } from "./host-environment.ts";

/** A driver's answer that keeps a GPU from being read: how bad that is, what it means, and what to do. */
export interface Trouble {
  readonly status: "limited" | "missing";
  readonly meaning: string;
  readonly remedy: string | null;
}

const START_AGAIN = "Start the container again with its GPUs (docker run --gpus all).";

/** What NVML's codes mean on this machine, by the names that the sampler gives them. */
const TROUBLES: Readonly<Record<string, (here: Surroundings) => Trouble>> = {
  DRIVER_NOT_LOADED: ({ nvidiaNodes }) => ({
    status: nvidiaNodes === "none" ? "limited" : "missing",
    meaning: "NVIDIA's library is here, but no driver is loaded",
    remedy:
      nvidiaNodes === "none"
        ? "Fine on a machine without an NVIDIA GPU; else load the driver (sudo modprobe nvidia)."
        : "Load the driver (sudo modprobe nvidia), or install it again after a new kernel.",
  }),
  LIB_RM_VERSION_MISMATCH: ({ container }) => ({
    status: "missing",
    meaning: "the loaded driver is of another version than its library",
    remedy: container
      ? `The driver of the host was updated. ${START_AGAIN} If that does not help, reboot the host.`
      : "The driver was updated while it was loaded: reboot, or unload it (sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia) and load it again.",
  }),
  NO_PERMISSION: ({ container }) => ({
    status: "missing",
    meaning: "this user may not use the GPU",
    remedy: container ? START_AGAIN : "Join the group that owns /dev/nvidia* (ls -l /dev/nvidia*), then log in again.",
  }),
  OPERATING_SYSTEM: () => ({
    status: "missing",
    meaning: "the operating system keeps the GPU from this process, as the device rules of a container do",
    remedy: START_AGAIN,
  }),
  UNKNOWN: ({ container }) => ({
    status: "missing",
    meaning: "the driver failed without a reason",
    remedy: container
      ? `A container loses its GPUs when the host runs systemctl daemon-reload. ${START_AGAIN}`
      : "Look for NVRM in the kernel's log (sudo dmesg | grep NVRM).",
  }),
  GPU_IS_LOST: () => ({
    status: "missing",
    meaning: "the GPU is lost: it does not answer on its bus any more",
    remedy:
      "Look for Xid in the kernel's log (sudo dmesg | grep Xid), and reboot; if it comes back, the hardware is at fault.",
  }),
  RESET_REQUIRED: () => ({
    status: "missing",
    meaning: "the GPU wants a reset",
    remedy: "End what uses it and reset it (sudo nvidia-smi --gpu-reset), or reboot.",
  }),
  GPU_NOT_FOUND: () => ({
    status: "missing",
    meaning: "the driver does not find the GPU any more",
    remedy: "Look for Xid in the kernel's log (sudo dmesg | grep Xid), and reboot.",
  }),
  TIMEOUT: () => ({
    status: "missing",
    meaning: "the driver did not answer in time",
    remedy: "See whether nvidia-smi answers; if not, reboot.",
  }),
  UNINITIALIZED: () => ({ status: "missing", meaning: "the driver's library could not be started", remedy: null }),
  LIBRARY_NOT_FOUND: () => ({
    status: "missing",
    meaning: "a part of the driver's libraries is missing",
    remedy: "Install the driver again.",
  }),
};

/** The trouble that a reason of the sampler names, or null. */
export function troubleIn(reason: string, here: Surroundings): Trouble | null {
  for (const [code, trouble] of Object.entries(TROUBLES)) {
    if (new RegExp(`\\b${code}\\b`).test(reason)) return trouble(here);
  }
  return null;
}

/** Why NVIDIA's library cannot be used at all. */
export function libraryTrouble(reason: string, here: Surroundings): Trouble | null {
  if (/cannot be loaded/.test(reason)) {
    if (here.nvidiaNodes === "none") {
      const remedy = here.wsl
        ? "For a GPU in WSL, install NVIDIA's driver on Windows."
        : "Nothing to do, unless this machine has an NVIDIA GPU: then install its driver, or pass the GPU into the container (docker run --gpus all).";
      return { status: "limited", meaning: "no NVIDIA driver", remedy };
    }
    return {
      status: "missing",
      meaning: "there is an NVIDIA GPU, but its library (libnvidia-ml.so.1) is not found",
      remedy: here.container
        ? "Let the container have the driver's tools (NVIDIA_DRIVER_CAPABILITIES=compute,utility with NVIDIA's container toolkit)."
        : "Install the rest of the driver (its package nvidia-utils or libnvidia-compute).",
    };
  }
  if (/has no initialiser|cannot list devices|cannot read memory/.test(reason)) {
    return {
      status: "limited",
      meaning: "the library found is no working NVIDIA library; developer packages bring one without a driver",
      remedy: "Install the driver, or take the stub out of LD_LIBRARY_PATH.",
    };
  }
  if (/not answered/.test(reason)) {
    return {
      status: "missing",
      meaning: "the NVIDIA driver has not answered yet",
      remedy:
        "See whether nvidia-smi answers. Without persistence the first answer takes seconds: sudo nvidia-smi -pm 1.",
    };
  }
  return null;
}
