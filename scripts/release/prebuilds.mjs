// The native prebuilds and their SHA-256 sums, `dist/prebuilds/SHA256SUMS` (the format of sha256sum).
//
//   node scripts/release/prebuilds.mjs check [PLATFORM…]   every file has its sum and every sum its file; these
//   platforms are there
//   node scripts/release/prebuilds.mjs write               writes the sums of what is there
import { createHash } from "node:crypto";
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { main, ReleaseError } from "./fail.mjs";

const SUMS = "SHA256SUMS";
const DIRECTORY = path.join("dist", "prebuilds");

/** Platforms whose files are committed. */
export const LINUX = ["linux-x64", "linux-arm64", "linux-x64-musl", "linux-arm64-musl"];

/** Files a platform must have: macOS needs no launcher, and the libraries read the heap of glibc. */
function needed(platform) {
  if (!platform.startsWith("linux-")) return ["sampler.node"];
  const both = ["launcher", "sampler.node"];
  return platform.endsWith("-musl") ? both : [...both, "libstormlog_heap.so", "libstormlog_stacks.so"];
}

function filesBelow(directory) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => {
      const file = path.join(entry.parentPath, entry.name);
      const name = path.relative(directory, file).split(path.sep).join("/");
      if (!entry.isFile()) throw new ReleaseError(`${name} is not a plain file`);
      return name;
    })
    .filter((name) => name !== SUMS)
    .sort();
}

/** SHA-256 sums of the files that are there, by name below the directory. */
export function prebuildSums(directory = DIRECTORY) {
  const sum = (name) =>
    createHash("sha256")
      .update(readFileSync(path.join(directory, name)))
      .digest("hex");
  return new Map(filesBelow(directory).map((name) => [name, sum(name)]));
}

function recordedSums(directory) {
  const file = path.join(directory, SUMS);
  if (!existsSync(file)) throw new ReleaseError(`${SUMS} is missing`);
  const sums = new Map();
  for (const line of readFileSync(file, "utf8").split("\n")) {
    if (line === "") continue;
    const [, sum, name] = /^([0-9a-f]{64}) {2}(\S+)$/.exec(line) ?? [];
    if (sum === undefined || sums.has(name)) throw new ReleaseError(`${SUMS} has a line that is none: ${line}`);
    sums.set(name, sum);
  }
  return sums;
}

/** Problems of the prebuilds of a directory; empty when there are none. */
export function prebuildProblems(directory = DIRECTORY, platforms = []) {
  const recorded = recordedSums(directory);
  const actual = prebuildSums(directory);
  return [
    ...[...actual].flatMap(([name, sum]) => {
      if (!recorded.has(name)) return [`${name} has no recorded sum`];
      return recorded.get(name) === sum ? [] : [`${name} is not the file whose sum is recorded`];
    }),
    ...[...recorded.keys()].filter((name) => !actual.has(name)).map((name) => `${name} is missing`),
    ...platforms.flatMap((platform) =>
      needed(platform)
        .filter((name) => !actual.has(`${platform}/${name}`))
        .map((name) => `${platform}/${name} is missing`),
    ),
  ];
}

/** Record the sums of what is there; returns the number of files. What came through an artifact may be run again. */
export function writeSums(directory = DIRECTORY) {
  const sums = prebuildSums(directory);
  for (const name of sums.keys()) chmodSync(path.join(directory, name), 0o755);
  writeFileSync(path.join(directory, SUMS), [...sums].map(([name, sum]) => `${sum}  ${name}\n`).join(""));
  return sums.size;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(() => {
    const [action, ...platforms] = process.argv.slice(2);
    if (action === "write") return console.log(`${writeSums()} prebuilt files, sums in ${DIRECTORY}/${SUMS}`);
    if (action !== "check") throw new ReleaseError("what? node scripts/release/prebuilds.mjs check|write");
    const problems = prebuildProblems(DIRECTORY, platforms);
    if (problems.length > 0) throw new ReleaseError(`the prebuilds are not what was recorded:\n${problems.join("\n")}`);
    console.log(`the prebuilds are what was recorded${platforms.length > 0 ? `: ${platforms.join(", ")}` : ""}`);
  });
}
