// Moves `vX` and `vX.Y` to a release, as the last step: they have no release of their own, so they may move. A patch of
// an older line moves that line's tag only, and nothing ever moves back.
//
//   node scripts/release/moving-tags.mjs vX.Y.Z [--dry-run]
import { fileURLToPath } from "node:url";
import { main, ReleaseError } from "./fail.mjs";
import { git, remoteTags } from "./git.mjs";
import { compareVersions, parseVersion, releasedVersions } from "./version.mjs";

/** The moving tags that lead to this version from now on: those of its lines in which it is the newest. */
export function movingTags(version, released) {
  const newest = (line) =>
    released.every(
      ([other]) => !line.every((part, index) => part === other[index]) || compareVersions(other, version) <= 0,
    );
  const [major, minor] = version;
  return [...(newest([major]) ? [`v${major}`] : []), ...(newest([major, minor]) ? [`v${major}.${minor}`] : [])];
}

export function moveTags(tag, { remote = "origin", dryRun = false } = {}) {
  const version = tag.startsWith("v") ? parseVersion(tag.slice(1)) : null;
  if (version === null) throw new ReleaseError(`"${tag}" is not a tag of a release (vX.Y.Z)`);
  const tags = remoteTags(remote);
  const commit = tags.get(tag);
  if (commit === undefined) throw new ReleaseError(`${tag} is not on ${remote}: a moving tag leads to a release only`);
  const moves = movingTags(version, releasedVersions(tags)).filter((name) => tags.get(name) !== commit);
  if (moves.length === 0 || dryRun) return moves;
  git(["fetch", "--quiet", "--no-tags", remote, `refs/tags/${tag}`]);
  // All or none, and only from where they were seen: two releases at once do not overwrite each other.
  const leases = moves.map((name) => `--force-with-lease=refs/tags/${name}:${rawTag(remote, name)}`);
  git(["push", "--quiet", "--atomic", ...leases, remote, ...moves.map((name) => `${commit}:refs/tags/${name}`)]);
  return moves;
}

/** What the ref itself holds, which for an annotated tag is not the commit; empty = it must not exist. */
function rawTag(remote, name) {
  return git(["ls-remote", remote, `refs/tags/${name}`]).split("\t")[0] ?? "";
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(() => {
    const [tag] = process.argv.slice(2);
    if (tag === undefined) throw new ReleaseError("which? node scripts/release/moving-tags.mjs vX.Y.Z [--dry-run]");
    const moved = moveTags(tag, { dryRun: process.argv.includes("--dry-run") });
    console.log(moved.length === 0 ? `no tag moves for ${tag}` : `${moved.join(" and ")} now lead to ${tag}`);
  });
}
