import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { efficiency } from "./parts/efficiency.ts";
import { healthy } from "./parts/healthy.ts";
import { injected } from "./parts/injected.ts";
import type { BenchSettings, Part, Table } from "./parts/part.ts";
import { stability } from "./parts/stability.ts";
import { synthetic } from "./parts/synthetic.ts";
import { markdown } from "./report.ts";
import { RULES } from "./rules/all.ts";
import { SEEDS } from "./seeds.ts";

/**
 * How good the verdict is, measured: `npm run bench:verdict -- --data DIR [--quick] [--json FILE] [--markdown FILE]
 * [--only PART,…] [--ours-only] [--seed N]`. `--data` is a folder with `megatron-lm/golden_mem_series.jsonl`; without it the parts that
 * need real series are left out.
 */
const PARTS: Readonly<Record<string, { readonly part: Part; readonly needsData: boolean }>> = {
  healthy: { part: healthy, needsData: true },
  injected: { part: injected, needsData: true },
  synthetic: { part: synthetic, needsData: false },
  efficiency: { part: efficiency, needsData: false },
  stability: { part: stability, needsData: true },
};
const PEAKS = "peaks";

const { values } = parseArgs({
  options: {
    data: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "string" },
    markdown: { type: "string" },
    only: { type: "string" },
    "ours-only": { type: "boolean", default: false },
    seed: { type: "string", default: String(SEEDS.report) },
  },
});
const settings: BenchSettings = {
  data: values.data ?? "",
  quick: values.quick,
  seed: Number(values.seed),
  rules: values["ours-only"] ? RULES.slice(0, 1) : RULES,
};
const chosen = values.only?.split(",") ?? [...Object.keys(PARTS), PEAKS];
const unknown = chosen.filter((name) => name !== PEAKS && !(name in PARTS));
if (unknown.length > 0 || !Number.isSafeInteger(settings.seed)) {
  console.error(
    `unknown part or seed: ${[...unknown, values.seed].join(", ")}; parts: ${Object.keys(PARTS).join(", ")}, ${PEAKS}`,
  );
  process.exit(2);
}

const results: Record<string, Table[]> = {};
for (const [name, { part, needsData }] of Object.entries(PARTS)) {
  if (!chosen.includes(name)) continue;
  if (needsData && values.data === undefined) {
    console.error(`${name}: left out, it needs --data DIR`);
    continue;
  }
  const start = performance.now();
  results[name] = part(settings);
  console.log(markdown(results[name]));
  console.error(`${name}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
}
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ seed: settings.seed, quick: settings.quick, results }, null, 1)}\n`);
if (values.markdown !== undefined) writeFileSync(values.markdown, markdown(Object.values(results).flat()));

if (chosen.includes(PEAKS)) {
  const worlds = fileURLToPath(new URL("worlds.ts", import.meta.url));
  const args = ["--import", "tsx", worlds, values.quick ? "300" : "3000"];
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
