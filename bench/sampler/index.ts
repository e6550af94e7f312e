/**
 * What sampling costs, as ratios inside one run: absolute numbers depend on the machine, ratios less so. Usage: npm run
 * bench:sampler [-- --json] [--publish] [--rounds N] [--seconds S] [--devices [--governed SECONDS]]. With --devices
 * what reading GPUs costs, instead. Exits 1 when a limit is missed.
 */
import { parseArgs } from "node:util";
import { conclude, PUBLISH_OPTIONS } from "../shared/publish.ts";
import { loadAddon } from "./addon.ts";
import { reportDevices } from "./devices-report.ts";
import { hostResults } from "./host.ts";

const { values } = parseArgs({
  options: {
    ...PUBLISH_OPTIONS,
    rounds: { type: "string", default: "8" },
    seconds: { type: "string", default: "1.5" },
    devices: { type: "boolean", default: false },
    governed: { type: "string", default: "30" },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);

const addon = loadAddon();
if (values.devices) {
  const options = { rounds, seconds, json: values.json, governedSeconds: Number(values.governed) };
  process.exitCode = (await reportDevices(addon, options)) ? 0 : 1;
} else {
  const results = await hostResults(addon, { rounds, seconds });
  process.exitCode = conclude({ bench: "sampler", title: "The sampler", results }, values);
}
