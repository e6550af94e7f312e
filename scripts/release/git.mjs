import { spawnSync } from "node:child_process";
import { ReleaseError } from "./fail.mjs";

/** git's answer, trimmed, or null when it refuses. */
export function tryGit(args, options = {}) {
  const { status, stdout, error } = spawnSync("git", args, {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    ...options,
    env: { ...process.env, GIT_TERMINAL_PROMPT: "0", ...options.env },
  });
  if (error) throw new ReleaseError(`git cannot be run: ${error.message}`);
  return status === 0 ? stdout.trim() : null;
}

/** git's answer; a refusal is an error with git's message. */
export function git(args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync("git", args, {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    ...options,
    env: { ...process.env, GIT_TERMINAL_PROMPT: "0", ...options.env },
  });
  if (error) throw new ReleaseError(`git cannot be run: ${error.message}`);
  if (status !== 0) throw new ReleaseError(`git ${args[0]} refused: ${stderr.trim() || stdout.trim()}`);
  return stdout.trim();
}

/** Tags of the remote and the commits they lead to; an annotated tag leads to what it names. */
export function remoteTags(remote) {
  const tags = new Map();
  for (const line of git(["ls-remote", "--tags", remote]).split("\n")) {
    const [, id, name, peeled] = /^([0-9a-f]{40})\trefs\/tags\/(.+?)(\^\{\})?$/.exec(line) ?? [];
    if (id !== undefined && (peeled !== undefined || !tags.has(name))) tags.set(name, id);
  }
  return tags;
}
