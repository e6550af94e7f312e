/**
 * Reads and parses the features of every shard only, in a separate process: DIR. Prints its CPU seconds and wall
 * seconds.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { FEATURES_FILE } from "../../src/report/bundle/features-document.ts";

const directory = process.argv[2] ?? "";
const began = { cpu: process.cpuUsage(), at: process.hrtime.bigint() };
let bytes = 0;
for (const name of readdirSync(directory)) {
  const text = readFileSync(path.join(directory, name, FEATURES_FILE), "utf8");
  bytes += text.length;
  JSON.parse(text);
}
const { user, system } = process.cpuUsage(began.cpu);
const wallS = Number(process.hrtime.bigint() - began.at) / 1e9;
console.log(JSON.stringify({ bytes, cpuS: (user + system) / 1e6, wallS }));
