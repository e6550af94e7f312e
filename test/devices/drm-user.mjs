// A measured program that uses a graphics card, as far as the kernel would show it: `node drm-user.mjs TREE MAKER STEPS
// MIB_A_STEP [what]`. VENDOR is amd or xe; `what`: "vanish" takes the card away halfway.
import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";

const [tree = "", vendor = "amd", steps = "10", growth = "8", what = ""] = process.argv.slice(2);
const MIB = 1024 ** 2;
const STEP_MS = 50;
const pci = "0000:03:00.0";
const device = path.join(tree, "sys/devices/pci0000:00", pci);
const own = path.join(tree, "proc", String(process.pid));

/** What another process uses of the card all the time. */
const OTHERS = 100 * MIB;

/**
 * Into the file that stands there, as a kernel's file stays the same one; always as long, so that it is never cut for a
 * moment.
 */
function overwrite(file, text) {
  mkdirSync(path.dirname(file), { recursive: true });
  const opened = openSync(file, constants.O_RDWR | constants.O_CREAT);
  writeSync(opened, text, 0);
  closeSync(opened);
}

const inPlace = (file, bytes) => overwrite(file, `${String(bytes).padStart(15, "0")}\n`);

function hold(bytes) {
  const kib = String(bytes / 1024).padStart(12, "0");
  if (vendor === "amd") inPlace(path.join(device, "mem_info_vram_used"), OTHERS + bytes);
  if (vendor === "amd") inPlace(path.join(tree, `sys/class/kfd/kfd/proc/${process.pid}/vram_998`), bytes);
  const lines =
    vendor === "amd"
      ? [`drm-driver:\tamdgpu`, `drm-memory-vram:\t${kib} KiB`, `drm-memory-gtt:\t64 KiB`]
      : [`drm-driver:\txe`, `drm-total-vram0:\t${kib} KiB`, `drm-resident-vram0:\t${kib} KiB`];
  overwrite(path.join(own, "fdinfo/9"), `pos:\t0\ndrm-client-id:\t17\ndrm-pdev:\t${pci}\n${lines.join("\n")}\n`);
}

mkdirSync(path.join(own, "fd"), { recursive: true });
symlinkSync("/dev/dri/renderD128", path.join(own, "fd/9"));
const last = Number(steps);
for (let step = 1; step <= last; step++) {
  hold(step * Number(growth) * MIB);
  if (what === "vanish" && step === Math.floor(last / 2)) {
    // A removed card: its directories disappear, and open files return nothing.
    truncateSync(path.join(device, "mem_info_vram_used"));
    for (const name of readdirSync(path.join(tree, "sys/class/drm"))) rmSync(path.join(tree, "sys/class/drm", name));
    await setTimeout((last - step) * STEP_MS);
    break;
  }
  await setTimeout(STEP_MS);
}
rmSync(own, { recursive: true, force: true });
rmSync(path.join(tree, `sys/class/kfd/kfd/proc/${process.pid}`), { recursive: true, force: true });
