import type { HostEnvironment } from "./host-environment.ts";

/** An error of a driver that keeps a GPU from being read: its severity, its meaning and a remedy. */
export interface Trouble {
  readonly status: "limited" | "missing";
  readonly meaning: string;
  readonly remedy: string | null;
}

const missing = (meaning: string, remedy: string | null): Trouble => ({ status: "missing", meaning, remedy });
const limited = (meaning: string, remedy: string | null): Trouble => ({ status: "limited", meaning, remedy });

const START_AGAIN = "Start the container again with its GPUs (docker run --gpus all).";

/** Meaning of NVML's codes on this machine, by the sampler's names. */
const TROUBLES: Readonly<Record<string, (here: HostEnvironment) => Trouble>> = {
  DRIVER_NOT_LOADED: ({ nvidiaNodes }) => ({
    status: nvidiaNodes === "none" ? "limited" : "missing",
    meaning: "NVIDIA's library is here, but no driver is loaded",
    remedy:
      nvidiaNodes === "none"
        ? "Fine on a machine without an NVIDIA GPU. Otherwise load the driver (sudo modprobe nvidia)."
        : "Load the driver (sudo modprobe nvidia), or install it again after a new kernel.",
  }),
  LIB_RM_VERSION_MISMATCH: ({ container }) =>
    missing(
      "the loaded driver and its library have different versions",
      container
        ? `The driver of the host was updated. ${START_AGAIN} If that does not help, reboot the host.`
        : "The driver was updated while it was loaded: reboot, or unload it (sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia) and load it again.",
    ),
  NO_PERMISSION: ({ container }) =>
    missing(
      "this user may not use the GPU",
      container ? START_AGAIN : "Join the group that owns /dev/nvidia* (ls -l /dev/nvidia*), then log in again.",
    ),
  OPERATING_SYSTEM: () =>
    missing("the operating system denies this process the GPU, as the device rules of a container do", START_AGAIN),
  UNKNOWN: ({ container }) =>
    missing(
      "the driver failed without giving a reason",
      container
        ? `A container loses its GPUs when the host runs systemctl daemon-reload. ${START_AGAIN}`
        : "Look for NVRM in the kernel's log (sudo dmesg | grep NVRM).",
    ),
  GPU_IS_LOST: () =>
    missing(
      "the GPU is lost: it no longer answers on its bus",
      "Look for Xid in the kernel's log (sudo dmesg | grep Xid), and reboot. If the error returns, the hardware is faulty.",
    ),
  RESET_REQUIRED: () =>
    missing(
      "the GPU needs a reset",
      "Stop the processes that use it and reset it (sudo nvidia-smi --gpu-reset), or reboot.",
    ),
  GPU_NOT_FOUND: () =>
    missing(
      "the driver no longer finds the GPU",
      "Look for Xid in the kernel's log (sudo dmesg | grep Xid), and reboot.",
    ),
  TIMEOUT: () => missing("the driver did not answer in time", "Check that nvidia-smi answers. If not, reboot."),
  UNINITIALIZED: () => missing("the driver's library could not be started", null),
  LIBRARY_NOT_FOUND: () => missing("a part of the driver's libraries is missing", "Install the driver again."),
};

/** The trouble in a reason of the sampler, or null. */
export function troubleIn(reason: string, here: HostEnvironment): Trouble | null {
  for (const [code, trouble] of Object.entries(TROUBLES)) {
    if (new RegExp(`\\b${code}\\b`).test(reason)) return trouble(here);
  }
  return null;
}

/** Why NVIDIA's library cannot be used at all. */
export function libraryTrouble(reason: string, here: HostEnvironment): Trouble | null {
  if (/cannot be loaded/.test(reason)) {
    if (here.nvidiaNodes === "none") {
      const remedy = here.wsl
        ? "For a GPU in WSL, install NVIDIA's driver on Windows."
        : "Nothing to do without an NVIDIA GPU. Otherwise install its driver, or pass the GPU into the container (docker run --gpus all).";
      return limited("no NVIDIA driver", remedy);
    }
    return missing(
      "there is an NVIDIA GPU, but its library (libnvidia-ml.so.1) is not found",
      here.container
        ? "Pass the driver's tools into the container (NVIDIA_DRIVER_CAPABILITIES=compute,utility with NVIDIA's container toolkit)."
        : "Install the driver's libraries (package nvidia-utils or libnvidia-compute).",
    );
  }
  if (/has no initialiser|cannot list devices|cannot read memory/.test(reason)) {
    return limited(
      "the library is a stub without a driver, as developer packages install it",
      "Install the driver, or remove the stub from LD_LIBRARY_PATH.",
    );
  }
  if (/not answered/.test(reason)) {
    return missing(
      "the NVIDIA driver has not answered yet",
      "Check that nvidia-smi answers. Without persistence (sudo nvidia-smi -pm 1) the first answer takes seconds.",
    );
  }
  return null;
}
