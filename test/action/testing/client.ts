import { getOctokit } from "@actions/github";
import type { Octokit } from "../../../src/github/api/octokit.ts";
import type { GitHubDouble } from "./github-double.ts";

/**
 * A client without the step's pauses between two writes and without its retries. Both have their own tests,
 * and every other test would only wait for them.
 */
export function unpacedClient(github: GitHubDouble, token = "job"): Octokit {
  return getOctokit(token, { baseUrl: github.url });
}
