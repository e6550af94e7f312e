/**
 * What sampling costs, as ratios inside one run: absolute numbers depend on the machine, ratios less so. Usage: npm run
 * bench:sampler [-- --json] [--rounds N] [--seconds S] [--devices [--governed SECONDS]]. With --devices what reading
 * GPUs costs, instead. Exits 1 when a limit is missed.
 */
import { parseArgs } from "node:util";
import { loadAddon } from "./addon.ts";
import { reportDevices } from "./devices-report.ts";
import { reportHost } from "./host.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "1.5" },
    devices: { type: "boolean", default: false },
    governed: { type: "string", default: "30" },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const { json } = values;

const addon = loadAddon();
const ok = values.devices
  ? await reportDevices(addon, { rounds, seconds, json, governedSeconds: Number(values.governed) })
  : await reportHost(addon, { rounds, seconds, json });
process.exitCode = ok ? 0 : 1;
