import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { accuracyTables, withAccuracy } from "./accuracy-page.ts";
import { chain } from "./parts/chain.ts";
import { constants } from "./parts/constants.ts";
import { early } from "./parts/early.ts";
import { efficiency } from "./parts/efficiency.ts";
import { firstRuns } from "./parts/first-runs.ts";
import { growth } from "./parts/growth.ts";
import { healthy } from "./parts/healthy.ts";
import { heldout } from "./parts/heldout.ts";
import { injected } from "./parts/injected.ts";
import { levels } from "./parts/levels.ts";
import { minimum } from "./parts/minimum.ts";
import { packages } from "./parts/packages.ts";
import type { BenchSettings, Part, Table } from "./parts/part.ts";
import { peaks } from "./parts/peaks.ts";
import { rates } from "./parts/rates.ts";
import { reruns } from "./parts/reruns.ts";
import { sessions } from "./parts/sessions.ts";
import { shapes } from "./parts/shapes.ts";
import { stability } from "./parts/stability.ts";
import { suspects } from "./parts/suspects.ts";
import { synthetic } from "./parts/synthetic.ts";
import { teeth } from "./parts/teeth.ts";
import { tradeOffs } from "./parts/trade-offs.ts";
import { uneven } from "./parts/uneven.ts";
import { warnings } from "./parts/warnings.ts";
import { markdown } from "./report.ts";
import { RULES } from "./rules/all.ts";
import { SEEDS } from "./seeds.ts";

/**
 * How good the verdict is, measured: `npm run bench:verdict -- --data DIR [--quick] [--json FILE] [--page FILE] [--only
 * PART,…] [--ours-only] [--seed N]`. `--page` is docs/evidence.md, whose section it replaces, with all tables in
 * evidence/verdicts.md beside it. `--data` is a directory with `megatron-lm/golden_mem_series.jsonl`; without it the
 * parts that need real series are left out.
 */
const PARTS: Readonly<Record<string, { readonly part: Part; readonly needsData: boolean }>> = {
  healthy: { part: healthy, needsData: true },
  injected: { part: injected, needsData: true },
  synthetic: { part: synthetic, needsData: false },
  heldout: { part: heldout, needsData: false },
  efficiency: { part: efficiency, needsData: false },
  minimum: { part: minimum, needsData: false },
  shapes: { part: shapes, needsData: false },
  teeth: { part: teeth, needsData: false },
  uneven: { part: uneven, needsData: false },
  stability: { part: stability, needsData: true },
  "trade-offs": { part: tradeOffs, needsData: true },
  peaks: { part: peaks, needsData: false },
  sessions: { part: sessions, needsData: false },
  "first-runs": { part: firstRuns, needsData: false },
  levels: { part: levels, needsData: false },
  growth: { part: growth, needsData: false },
  rates: { part: rates, needsData: false },
  early: { part: early, needsData: false },
  chain: { part: chain, needsData: false },
  reruns: { part: reruns, needsData: true },
  warnings: { part: warnings, needsData: true },
  suspects: { part: suspects, needsData: false },
  packages: { part: packages, needsData: false },
  constants: { part: constants, needsData: false },
};

const { values } = parseArgs({
  options: {
    data: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "string" },
    page: { type: "string" },
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
const chosen = values.only?.split(",") ?? Object.keys(PARTS);
const unknown = chosen.filter((name) => !(name in PARTS));
if (unknown.length > 0 || !Number.isSafeInteger(settings.seed)) {
  console.error(
    `unknown part or seed: ${[...unknown, values.seed].join(", ")}; parts: ${Object.keys(PARTS).join(", ")}`,
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
if (values.page !== undefined) {
  const command = [
    "npm run bench:verdict -- --data DIR",
    ...(values.quick ? ["--quick"] : []),
    `--page ${values.page}`,
  ];
  const run = { seed: settings.seed, command: command.join(" ") };
  writeFileSync(values.page, withAccuracy(readFileSync(values.page, "utf8"), results, run));
  writeFileSync(path.join(path.dirname(values.page), "evidence", "verdicts.md"), accuracyTables(results, run));
}
