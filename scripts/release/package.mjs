// Packs the npm package of a release and checks its files: a missing or foreign file stops the release.
//
//   node scripts/release/package.mjs --commit SHA [--into DIR]      prints `tarball=` (the form of step outputs)
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { main, ReleaseError } from "./fail.mjs";
import { LINUX } from "./prebuilds.mjs";
import { packageVersion } from "./version.mjs";

/**
 * The commit of the release: `init` pins workflows to it. It cannot be in that commit, so it is in the package alone.
 */
const STAMP = path.join("dist", "release.json");

const REQUIRED = [
  "package.json",
  "README.md",
  "LICENSE",
  "dist/cli.js",
  "dist/licenses.txt",
  "dist/release.json",
  "dist/prebuilds/SHA256SUMS",
  ...LINUX.map((platform) => `dist/prebuilds/${platform}/sampler.node`),
  "leak-lab/demo/workload.mjs",
  "schema/config.schema.json",
];
const FOREIGN =
  /^(?!(?:dist|schema|leak-lab)\/|(?:package\.json|README\.md|LICENSE|CHANGELOG\.md|action\.yml)$)|\.(?:map|ts|tgz|log)$|(?:^|\/)(?:\.env|\.npmrc|\.git|node_modules|__pycache__)(?:\/|$)/;

/** Problems of a package's list of files. */
export function packageProblems(names) {
  const there = new Set(names);
  return [
    ...REQUIRED.filter((name) => !there.has(name)).map((name) => `${name} is missing`),
    ...names.filter((name) => FOREIGN.test(name)).map((name) => `${name} does not belong there`),
  ];
}

/** `npm pack` of the current directory into another; returns the tarball's path. */
export function pack(commit, into) {
  if (!/^[0-9a-f]{40}$/.test(commit)) throw new ReleaseError(`"${commit}" is not a commit`);
  const version = packageVersion();
  mkdirSync(into, { recursive: true });
  writeFileSync(STAMP, `${JSON.stringify({ version, commit })}\n`);
  try {
    const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", into];
    const { status, stdout, stderr } = spawnSync("npm", args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
    if (status !== 0) throw new ReleaseError(`npm pack failed:\n${stderr}`);
    const [{ filename, files }] = JSON.parse(stdout);
    const problems = packageProblems(files.map((file) => file.path));
    if (problems.length > 0) throw new ReleaseError(`the package is not complete:\n${problems.join("\n")}`);
    return path.join(into, filename);
  } finally {
    rmSync(STAMP, { force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(() => {
    const { values } = parseArgs({ options: { commit: { type: "string" }, into: { type: "string" } } });
    if (values.commit === undefined) throw new ReleaseError("of which commit? --commit SHA");
    console.log(`tarball=${pack(values.commit, values.into ?? ".")}`);
  });
}
