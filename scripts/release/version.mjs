// What is released: the version of package.json, with which every other file has to agree.
//
//   node scripts/release/version.mjs          checks, prints `version=X.Y.Z` and `tag=vX.Y.Z` (the form of step
//   outputs)
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { main, ReleaseError } from "./fail.mjs";
import { git, remoteTags, tryGit } from "./git.mjs";
import { releaseNotes } from "./notes.mjs";

/** [major, minor, patch] of a released version; pre-releases are not accepted. */
export function parseVersion(text) {
  const match = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.exec(text);
  return match === null ? null : match.slice(1).map(Number);
}

/** Negative, zero or positive as the first version is older, the same or newer. */
export function compareVersions(a, b) {
  for (let part = 0; part < 3; part += 1) if (a[part] !== b[part]) return a[part] - b[part];
  return 0;
}

/** Versions among tags, as [version, commit]; `v1`, `v1.2` and anything else are not versions. */
export function releasedVersions(tags) {
  return [...tags].flatMap(([name, commit]) => {
    const version = name.startsWith("v") ? parseVersion(name.slice(1)) : null;
    return version === null ? [] : [[version, commit]];
  });
}

const readJson = (file) => JSON.parse(readFileSync(file, "utf8"));

/** The version to release from the current directory; throws when the files that contain it disagree. */
export function packageVersion() {
  const { version } = readJson("package.json");
  if (parseVersion(version) === null) throw new ReleaseError(`package.json has version "${version}", not X.Y.Z`);
  const lock = readJson("package-lock.json");
  for (const [where, other] of [
    ["package-lock.json", lock.version],
    ['package-lock.json, packages[""]', lock.packages?.[""]?.version],
  ]) {
    if (other !== version) throw new ReleaseError(`${where} has version "${other}", package.json has "${version}"`);
  }
  return version;
}

/** Everything that has to hold before a release is cut; `remote` is the remote with the tags. */
export function checkRelease({ remote = "origin", branch = "main" } = {}) {
  const version = packageVersion();
  releaseNotes(readFileSync("CHANGELOG.md", "utf8"), version);
  const head = git(["rev-parse", "HEAD"]);
  const onBranch = tryGit(["merge-base", "--is-ancestor", head, `refs/remotes/${remote}/${branch}`]);
  if (onBranch === null) throw new ReleaseError(`HEAD (${head.slice(0, 10)}) is not on ${remote}/${branch}`);
  const parsed = parseVersion(version);
  for (const [other] of releasedVersions(remoteTags(remote))) {
    // The tag may exist from an interrupted run; `cut` compares what it holds.
    if (compareVersions(other, parsed) > 0 && other[0] === parsed[0] && other[1] === parsed[1]) {
      throw new ReleaseError(`v${other.join(".")} is released already, and newer than ${version}`);
    }
  }
  return { version, tag: `v${version}` };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(() => {
    const { version, tag } = checkRelease();
    console.log(`version=${version}\ntag=${tag}`);
  });
}
