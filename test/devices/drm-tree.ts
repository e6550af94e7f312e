import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ownDirectory } from "./testing/directory.ts";

/** A program that holds memory of cards of a {@link DrmTree}; its arguments select what it does. */
export const DRM_USER = fileURLToPath(new URL("./drm-user.mjs", import.meta.url));

/**
 * A made-up /sys, /proc and /dev of a machine with cards of AMD and Intel, shaped as the kernel's own: real files, real
 * links.
 */
export class DrmTree {
  readonly directory = ownDirectory("drm");
  /** What makes the gate read this tree. */
  readonly env: Readonly<Record<string, string>>;

  constructor() {
    for (const each of ["sys/class/drm", "proc", "dev/dri"])
      mkdirSync(path.join(this.directory, each), { recursive: true });
    this.env = {
      STORMLOG_GATE_SYSFS: path.join(this.directory, "sys"),
      STORMLOG_GATE_PROC: path.join(this.directory, "proc"),
    };
  }

  write(name: string, text: string | number): void {
    const file = path.join(this.directory, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, `${text}\n`);
  }

  #link(name: string, target: string): void {
    const file = path.join(this.directory, name);
    mkdirSync(path.dirname(file), { recursive: true });
    rmSync(file, { force: true });
    symlinkSync(target, file);
  }

  /** A card with its render node; returns its directory in the tree. */
  card(number: number, pci: string, driver: string): string {
    const device = `sys/devices/pci0000:00/${pci}`;
    for (const node of [`card${number}`, `renderD${128 + number}`]) {
      this.#link(`${device}/drm/${node}/device`, `../../../${pci}`);
      this.#link(`sys/class/drm/${node}`, `../../devices/pci0000:00/${pci}/drm/${node}`);
      this.write(`dev/dri/${node}`, "");
    }
    this.#link(`${device}/driver`, `../../../bus/pci/drivers/${driver}`);
    return device;
  }

  amd(number: number, pci: string, totalBytes: number, gpuId: number): string {
    const device = this.card(number, pci, "amdgpu");
    // Of one width, so that a reader never sees it truncated.
    this.write(`${device}/mem_info_vram_used`, "0".repeat(15));
    this.write(`${device}/mem_info_vram_total`, totalBytes);
    this.write(`${device}/product_name`, "AMD Instinct MI210");
    this.write(`${device}/unique_id`, `a1b2c3d4e5f6070${number}`);
    const node = `sys/class/kfd/kfd/topology/nodes/${number + 1}`;
    this.write(`${node}/gpu_id`, gpuId);
    const location = Number.parseInt(pci.slice(5, 7), 16) * 256;
    this.write(
      `${node}/properties`,
      `cpu_cores_count 0\nlocation_id ${location}\ndomain 0\ndrm_render_minor ${128 + number}`,
    );
    mkdirSync(path.join(this.directory, "sys/class/kfd/kfd/proc"), { recursive: true });
    this.write("dev/kfd", "");
    return device;
  }

  /** Memory of some other process, as AMD's compute driver reports it. */
  compute(pid: number, gpuId: number, bytes: number): void {
    this.write(`sys/class/kfd/kfd/proc/${pid}/vram_${gpuId}`, bytes);
  }
}
