// Cuts the release: one commit on top of HEAD with the assembled prebuilds, and the tag vX.Y.Z on it, pushed. The
// branch does not move: what was reviewed stays what is on it, and the tag holds the same sources with more prebuilds.
//
//   node scripts/release/cut.mjs [--dry-run]     prints `version=`, `tag=` and `commit=` (the form of step outputs)
import { fileURLToPath } from "node:url";
import { main, ReleaseError } from "./fail.mjs";
import { git, remoteTags } from "./git.mjs";
import { prebuildProblems } from "./prebuilds.mjs";
import { checkRelease } from "./version.mjs";

/** Only this may differ from the reviewed commit. */
const ASSEMBLED = "dist/prebuilds";
const BOT = { name: "github-actions[bot]", email: "41898282+github-actions[bot]@users.noreply.github.com" };

/** Commit the assembled prebuilds; the same sources and files give the same commit, however often it is tried. */
function releaseCommit(version) {
  const head = git(["rev-parse", "HEAD"]);
  git(["add", "--force", "--", ASSEMBLED]);
  const others = ["--name-only", "HEAD", "--", ".", `:(exclude)${ASSEMBLED}`];
  const foreign = [...new Set([git(["diff", ...others]), git(["diff", "--cached", ...others])])].filter(Boolean);
  if (foreign.length > 0) throw new ReleaseError(`only ${ASSEMBLED} may change in a release:\n${foreign.join("\n")}`);
  const tree = git(["write-tree"]);
  if (tree === git(["rev-parse", `${head}^{tree}`])) return head;
  const when = git(["show", "--no-patch", "--format=%cI", head]);
  return git(["commit-tree", tree, "-p", head, "-m", `Release v${version}`], {
    env: {
      GIT_AUTHOR_NAME: BOT.name,
      GIT_AUTHOR_EMAIL: BOT.email,
      GIT_AUTHOR_DATE: when,
      GIT_COMMITTER_NAME: BOT.name,
      GIT_COMMITTER_EMAIL: BOT.email,
      GIT_COMMITTER_DATE: when,
    },
  });
}

/**
 * Cut the release of the current directory. An existing tag must point to the same commit: versions never move.
 */
export function cut({ remote = "origin", dryRun = false } = {}) {
  const { version, tag } = checkRelease({ remote });
  const problems = prebuildProblems();
  if (problems.length > 0) throw new ReleaseError(`the prebuilds are not what was recorded:\n${problems.join("\n")}`);
  const commit = releaseCommit(version);
  const there = remoteTags(remote).get(tag);
  if (there !== undefined && there !== commit) {
    throw new ReleaseError(
      `${tag} exists and holds ${there.slice(0, 10)}, not ${commit.slice(0, 10)}: raise the version`,
    );
  }
  // Nothing is overwritten: a tag made meanwhile makes this push fail.
  if (there === undefined && !dryRun) git(["push", "--quiet", remote, `${commit}:refs/tags/${tag}`]);
  return { version, tag, commit };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(() => {
    const result = cut({ dryRun: process.argv.includes("--dry-run") });
    for (const [name, value] of Object.entries(result)) console.log(`${name}=${value}`);
  });
}
