/**
 * Reads the samples of every shard only, in a separate process: DIR. Prints its CPU seconds
 * and wall seconds.
 */
import { readdirSync } from "node:fs";
import path from "node:path";
import { readParquet } from "../../src/telemetry/formats/parquet.ts";

const directory = process.argv[2] ?? "";
const began = { cpu: process.cpuUsage(), at: process.hrtime.bigint() };
let rows = 0;
for (const name of readdirSync(directory)) {
  const { tables } = await readParquet(path.join(directory, name, "samples.parquet"));
  for (const { timeNs } of tables) rows += timeNs?.length ?? 0;
}
const { user, system } = process.cpuUsage(began.cpu);
const wallS = Number(process.hrtime.bigint() - began.at) / 1e9;
console.log(JSON.stringify({ rows, cpuS: (user + system) / 1e6, wallS }));
