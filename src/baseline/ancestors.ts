import { git } from "./git.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The branch a pull request goes into, where the environment names one. */
function namedBase(env: Environment): string | null {
  if (env.STORMLOG_GATE_BASE) return env.STORMLOG_GATE_BASE;
  return env.GITHUB_BASE_REF ? `origin/${env.GITHUB_BASE_REF}` : null;
}

/**
 * The commit where the measured code left the main branch; null outside a repository, or when a shallow clone does not
 * reach back that far. Without a named base the usual names of a main branch are tried.
 */
export async function mergeBase(cwd: string, env: Environment): Promise<string | null> {
  const named = namedBase(env);
  for (const ref of named === null ? ["origin/HEAD", "origin/main", "origin/master", "main", "master"] : [named]) {
    const { ok, stdout } = await git(cwd, ["merge-base", "HEAD", ref]);
    if (ok && stdout !== "") return stdout;
  }
  return null;
}

/** Commits of the list that this clone does not hold, as after a squash merge or a force push. */
export async function unknownCommits(cwd: string, commits: readonly string[]): Promise<ReadonlySet<string>> {
  const listed = [...new Set(commits)];
  if (listed.length === 0) return new Set();
  const { ok, stdout } = await git(cwd, ["cat-file", "--batch-check"], { input: `${listed.join("\n")}\n` });
  if (!ok) return new Set();
  return new Set(
    stdout.split("\n").flatMap((line) => (line.endsWith(" missing") ? [line.slice(0, -" missing".length)] : [])),
  );
}

/** Commits looked back over; a baseline older than this is not one. */
const MAX_ANCESTORS = 20_000;

/**
 * Commits whose baseline runs may be compared with: ancestors of the merge base on a pull request, of HEAD elsewhere. Null
 * (= do not filter) outside a repository and in a shallow clone, whose history is not known.
 */
export async function comparableCommits(cwd: string, env: Environment): Promise<ReadonlySet<string> | null> {
  const shallow = await git(cwd, ["rev-parse", "--is-shallow-repository"]);
  if (!shallow.ok || shallow.stdout === "true") return null;
  const from = namedBase(env) === null ? "HEAD" : await mergeBase(cwd, env);
  if (from === null) return null;
  const { ok, stdout } = await git(cwd, ["rev-list", `--max-count=${MAX_ANCESTORS}`, from]);
  return ok ? new Set(stdout.split("\n")) : null;
}
